"""Calls of the functions of a stream, whose errors and results are those of its author."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orfit_bench.errors import UnavailableError, with_place
from orfit_bench.spec.stream import Stream

EXPECTED = (ValueError, TypeError, OSError, UnavailableError)
"""Errors about settings, which name them."""


def configure(stream: Stream, settings: Mapping[str, Any]) -> Stream:
    """The stream that its `configure` returns; the stream itself if it has none.

    Raises TypeError if `configure` returns something else, ValueError if it fails, and its errors about settings.
    """
    if stream.configure is None:
        return stream
    place = f"stream {stream.name!r}: {with_place(stream.configure)}"
    try:
        found = stream.configure(settings)
    except EXPECTED:
        raise
    except Exception as error:
        raise ValueError(f"{place} raised {type(error).__name__}: {error}") from error
    if not isinstance(found, Stream):
        raise TypeError(f"{place} returned {type(found).__name__}, want a Stream")
    return found


def existing_files(stream: Stream) -> list[Path]:
    """The files that its `files` returns, except for those that do not exist.

    Raises TypeError if `files` returns something else than paths of files, and ValueError if it fails, unless a library
    is missing.
    """
    place = f"stream {stream.name!r}: {with_place(stream.files)}"
    try:
        found = stream.files()
    except UnavailableError:
        raise
    except Exception as error:
        raise ValueError(f"{place} raised {type(error).__name__}: {error}") from error
    if not isinstance(found, (list, tuple)) or not all(isinstance(path, Path) and not path.is_dir() for path in found):
        raise TypeError(f"{place} returned {found!r}, want a list with a Path for each file")
    return [path for path in found if path.exists()]

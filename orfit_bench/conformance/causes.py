"""Errors of the code under test in one line, with the line of the author's code that raised them."""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import Path

import numpy as np

import orfit_bench
from orfit_bench.errors import DivergedError, UnavailableError
from orfit_bench.jobs.notes import one_line

MAX_MESSAGE = 200
"""Largest number of characters of an error message in a result."""
_NUMPY = Path(np.__file__).parent
_OTHERS = (_NUMPY.parent / name for name in ("scipy", "numba", "xarray"))
LIBRARIES = tuple(map(str, (Path(orfit_bench.__file__).parent, _NUMPY, *_OTHERS)))
"""Folders whose code is not by the author."""
HINT = "; a kernel refuses a row by returning fewer rows than it was given: len(X) says that all were learned"
"""A hint for the author of a kernel that refuses ordinary rows: it may have returned a wrong count."""
STANDARD = sysconfig.get_paths()["stdlib"]


def describe(error: BaseException) -> str:
    """An error in one line, with the line of the author's code that raised it."""
    message = one_line(error)
    if len(message) > MAX_MESSAGE and not isinstance(error, UnavailableError):  # this ends with the author's line
        message = f"{message[:MAX_MESSAGE]} ..."  # e.g. of a compiler; repeating the check shows all of it
    hint = HINT if isinstance(error, DivergedError) else _known_fields(error)
    return f"{type(error).__name__}: {message}".removesuffix(": ") + place(error) + hint


def _known_fields(error: BaseException) -> str:
    """The entries of the state or of the parameters, if a missing one was read."""
    known = getattr(error.obj, "_fields", ()) if isinstance(error, AttributeError) else ()
    return f"; it has {', '.join(known)}" if known else ""


def place(error: BaseException) -> str:
    """The innermost line outside of libraries, such as " (kernel.py:26)", or the innermost line if there is none.

    Empty if a library raises the error on purpose, since the message then explains the problem.
    """
    frames = traceback.extract_tb(error.__traceback__)
    authors = [frame for frame in frames if not _is_library(frame.filename)]
    last = (authors or [frame for frame in frames[-1:] if not (frame.line or "").startswith("raise ")])[-1:]
    return "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in last)


def is_raised_on_purpose(error: BaseException) -> bool:
    """Whether a `raise` in the author's code or in this package caused an error, not a failed operation on arrays."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    own = last.filename.startswith(LIBRARIES[0]) or not _is_library(last.filename)
    return own and re.search(r"\braise\b", last.line or "") is not None


def _is_library(path: str) -> bool:
    inside = path.startswith(STANDARD) and "-packages" not in path
    return path.startswith(("<", *LIBRARIES)) or inside

"""Marks of the plugins that a process is loading. If the process ends meanwhile, its marks name these plugins."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SECONDS = 60.0
"""Time that loading plugins takes at most, on systems that do not tell whether a process runs."""


@contextmanager
def marked(folder: Path, keys: Iterable[str]) -> Iterator[None]:
    """Keep a file with these keys in the folder while plugins are loaded; it remains if the process ends meanwhile."""
    file = folder / str(os.getpid())
    with suppress(OSError):  # without the file, the end of this process is not noticed
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(list(keys)))
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def take_left(folder: Path) -> set[str]:
    """The keys in the files of processes that ended while loading plugins; removes the files."""
    found: set[str] = set()
    with suppress(OSError):
        for file in folder.iterdir():
            if file.name.isdecimal() and not _is_loading(file):
                with suppress(OSError, ValueError):
                    found |= set(map(str, json.loads(file.read_text())))
                with suppress(OSError):
                    file.unlink()
    return found


def _is_loading(file: Path) -> bool:
    """Whether the process with the number of a mark may still load plugins."""
    if os.name == "nt":  # os.kill would send it Ctrl-C
        return time.time() - file.stat().st_mtime < SECONDS
    return _runs(int(file.name))


def _runs(process: int) -> bool:
    """Whether another process with this number is running."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True

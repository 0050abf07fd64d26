"""Marks of the plugins that a process is loading. If the process ends meanwhile, its marks name these plugins."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
            if file.name.isdecimal() and not _runs(int(file.name)):
                with suppress(OSError, ValueError):
                    found |= set(map(str, json.loads(file.read_text())))
                with suppress(OSError):
                    file.unlink()
    return found


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

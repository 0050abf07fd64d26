"""Marks of the plugins that a process is loading: those of a process that has ended meanwhile name what it loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def marked(folder: Path, keys: Iterable[str]) -> Iterator[None]:
    """Keep a file with these keys in the folder until the plugins are loaded; a process that ends leaves it behind."""
    file = folder / str(os.getpid())
    with suppress(OSError):  # then nobody notices that this process has ended
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(list(keys)))
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def take_left(folder: Path) -> set[str]:
    """The keys in the files of processes that have ended while they loaded plugins; the files are removed."""
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
    """Whether another process of this number is running."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True

"""Files that are whole at every moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def replace(target: Path, write: Callable[[Path], object]) -> None:
    """Let write(path) make a file, then put it in target's place whole, on the disk, in one step."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

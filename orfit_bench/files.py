"""Files that are whole at every moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def replace(target: Path, write: Callable[[Path], object]) -> None:
    """Let write(path) make a file, then put it in target's place whole, on the disk, in one step.

    OSError where that cannot be; see `refuse`. Where target is a link, the file that it points to is replaced.
    """
    refuse(target)
    whole = Path(os.path.realpath(target))
    temporary = whole.with_name(f".{whole.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(whole)
    except BaseException as error:
        with suppress(OSError):  # the error that is under way tells more
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and str(temporary) in str(error):  # a name that the user never gave
            raise type(error)(f"{target}: cannot be written ({error.strerror or type(error).__name__})") from error
        raise


def writable(target: Path) -> None:
    """OSError where no file can be put in target's place, its folder's rights included: said before long work."""
    import tempfile  # of the standard library, but slow to import

    refuse(target)
    for folder in {target.parent, Path(os.path.realpath(target)).parent}:
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:  # its own text has a random name
            said = error.strerror or type(error).__name__
            raise type(error)(f"{target}: the folder {folder} cannot be written to ({said})") from error


def refuse(target: Path) -> None:
    """OSError, saying why, where no plain file can be put in target's place or it would replace something else."""
    if not target.name:
        raise IsADirectoryError("the output has no name: want a file in a folder that exists")
    if target.is_dir():
        raise IsADirectoryError(f"{target}: it is a folder, want a file in a folder that exists")
    if target.exists() and not target.is_file():
        raise OSError(f"{target}: it is no plain file but a device, pipe or the like, want a file to be replaced")
    for folder in (target.parent, Path(os.path.realpath(target)).parent):
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{target}: {folder} is no folder, want a file in a folder that exists")
        if not folder.exists():
            raise FileNotFoundError(f"{target}: there is no folder {folder}, want a file in a folder that exists")

"""Files that are whole at every moment, and what tells them apart."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path


def replace(target: Path, write: Callable[[Path], object]) -> None:
    """Let write(path) make a file, then put it in target's place whole, on the disk, in one step.

    OSError where that cannot be; see `ensure_replaceable`. Where target is a link, the file that it points to is replaced.
    """
    ensure_replaceable(target)
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


def ensure_writable(target: Path) -> None:
    """OSError where no file can be put in target's place, its folder's rights included: said before long work."""
    import tempfile  # of the standard library, but slow to import

    ensure_replaceable(target)
    for folder in {target.parent, Path(os.path.realpath(target)).parent}:
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:  # its own text has a random name
            said = error.strerror or type(error).__name__
            raise type(error)(f"{target}: the folder {folder} cannot be written to ({said})") from error


def ensure_replaceable(target: Path) -> None:
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


def ensure_distinct(source: Path, target: Path) -> None:
    """ValueError where writing target would replace source, which it is made of."""
    if os.path.realpath(source) == os.path.realpath(target):
        raise ValueError(f"{target}: it is the file of the results, which would be lost: want another name")


def make_folder(target: Path) -> None:
    """Make the folder, where only it is missing; OSError, saying why, where there is none and none can be made."""
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{target}: there is a file of that name, want a folder")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}, want a new folder in one that exists")
    target.mkdir(exist_ok=True)


def new_folder(target: Path, contents: Mapping[str, str]) -> None:
    """Make a folder of these texts by their paths within it, whole or not at all, in the place of none or an empty one.

    OSError, saying why, where that cannot be.
    """
    whole = Path(os.path.realpath(target))
    if whole.exists() and not whole.is_dir():
        raise FileExistsError(f"{target}: there is a file of that name, want a new folder")
    if whole.exists() and any(whole.iterdir()):
        raise FileExistsError(f"{target}: the folder holds something already, want a new or an empty one")
    if not whole.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}, want a new folder in one that exists")
    temporary = whole.with_name(f".{whole.name}.{os.getpid()}.tmp")
    try:
        for name, text in contents.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        if whole.exists():
            whole.rmdir()  # where a folder cannot take the place of another, even an empty one
        temporary.rename(whole)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) and str(temporary) in str(error):
            raise type(error)(f"{target}: cannot be written ({error.strerror or type(error).__name__})") from error
        raise


def digest(paths: Iterable[Path]) -> str:
    """A hash of the files' names and of all that they hold."""
    held = [f"{path.name} {_hash(path, path.stat().st_size, path.stat().st_mtime_ns)}" for path in paths]
    return hashlib.sha256("\n".join(held).encode()).hexdigest()


@cache
def _hash(path: Path, size: int, changed: int) -> str:
    """Of one file's contents, which are read again where its size or its time of change is another."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

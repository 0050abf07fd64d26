"""Atomic writing of files and folders, digests of their contents, and the user's cache folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Any, BinaryIO

from orfit_bench.jobs import locks, system

NOWHERE = Path(os.devnull, "orfit_bench")
"""A folder that cannot be created: files in it do not exist, and writing them raises OSError."""


def cache_folder() -> Path:
    """Return the user's cache folder of this package, which may not exist; `NOWHERE` for users without a home."""
    import pooch  # slow to import

    try:
        folder = Path(pooch.os_cache("orfit_bench"))
    except RuntimeError:
        return NOWHERE
    return folder if folder.is_absolute() else NOWHERE  # some versions return "~/.cache/orfit_bench"


def replace(target: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file atomically: at any time, `target` is either the old file or the complete new one.

    Several threads and processes may write the same target; the last one to finish wins.

    Parameters
    ----------
    target : Path
        The file to write. If it is a link, the file that it points to is replaced.
    write : callable
        Called with a temporary file, to which it writes.

    Raises
    ------
    OSError
        If the file cannot be written; see `ensure_replaceable`. The old file is unchanged.
    """
    ensure_replaceable(target)
    resolved = system.follow(target)
    with _explained(target):
        temporary, descriptor = locks.create_temporary(resolved)
        output = BufferedWriter(_Output(descriptor, "wb"))
        try:
            system.copy_mode(resolved, temporary)  # while it is still empty, since the old file may be private
            write(output)
            output.flush()
            system.sync(descriptor)
            if not system.RENAMES_OPEN_FILES:
                output.close()
            system.rename(temporary, resolved)  # if possible still locked: no process removes it as abandoned
        except BaseException:
            with suppress(OSError):  # the original error is more informative
                system.remove(temporary)
            raise
        finally:
            with suppress(OSError):  # closing tries again to write the rest
                output.close()
        system.sync_folder(resolved.parent)


def replace_text(target: Path, text: str) -> None:
    """Write a text file atomically, see `replace`."""
    replace(target, lambda file: file.write(text.encode()))


class _Output(FileIO):
    """An open file whose bytes are written by `orfit_bench.jobs.system`."""

    def write(self, data: Any) -> int:
        """Write bytes, perhaps not all."""
        return system.write(self.fileno(), data)


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    """Turn errors of the system into one sentence that names the target instead of a temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not an error of the system
            raise
        found = type(error)(f"{target}: cannot be written ({error.strerror or type(error).__name__})")
        found.errno = error.errno
        raise found from error


def ensure_writable(target: Path) -> None:
    """Raise OSError if the file cannot be written, e.g. for lack of permission. Called before long computations.

    Removes temporary files of the target that were left by killed processes.
    """
    ensure_replaceable(target)
    file = system.follow(target)
    locks.remove_temporaries(file)
    try:
        temporary, descriptor = locks.create_temporary(file)
        system.close(descriptor)
        system.remove(temporary)
    except OSError as error:  # its message has the name of the temporary file
        reason = error.strerror or type(error).__name__
        raise type(error)(f"{target}: the folder {file.parent} cannot be written to ({reason})") from error


def ensure_replaceable(target: Path) -> None:
    """Raise OSError if `target` is not a regular file, or its folder does not exist."""
    if not target.name:
        raise IsADirectoryError("the output has no name: want a file in an existing folder")
    if os.path.isdir(target):  # the methods of Path raise errors for folders that the user must not enter
        raise IsADirectoryError(f"{target}: this is a folder, want a file in an existing folder")
    ensure_regular(target)
    for folder in (target.parent, system.follow(target).parent):
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise NotADirectoryError(f"{target}: {folder} is not a folder, want a file in an existing folder")
        if not os.path.exists(folder):
            _refuse_hidden(target, folder)
            raise FileNotFoundError(f"{target}: there is no folder {folder}, want a file in an existing folder")


def _refuse_hidden(target: Path, folder: Path) -> None:
    """Raise PermissionError if it is unknown whether a folder exists, since the user must not enter another one."""
    try:
        folder.stat()
    except PermissionError as error:
        raise PermissionError(f"{target}: {folder} cannot be entered ({error.strerror})") from error
    except OSError:
        pass


def ensure_regular(path: Path) -> None:
    """Raise OSError if the path is a device, pipe or similar."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise OSError(f"{path}: not a regular file (a device, pipe or similar)")


def ensure_distinct(source: Path, target: Path, content: str = "results") -> None:
    """Raise ValueError if both are the same file, so that writing `target` would destroy the `content` of `source`."""
    if system.follow(source) == system.follow(target):
        raise ValueError(f"{target}: this is the file of the {content}, which would be lost: use another name")


def make_folder(target: Path) -> None:
    """Create the folder if it does not exist. Raises OSError if its parent does not exist or a file has its name."""
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{target}: this is a file, want a folder")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}, want a new folder in an existing one")
    try:
        system.make_folder(target)
    except OSError as error:
        raise type(error)(f"{target}: this folder cannot be created ({error.strerror})") from error


def new_folder(target: Path, contents: Mapping[str, str]) -> None:
    """Create a folder with text files atomically: `contents` maps relative paths to their contents.

    Raises OSError if the folder exists and is not empty, or if it cannot be created.
    """
    resolved = system.follow(target)
    if resolved.exists() and not resolved.is_dir():
        raise FileExistsError(f"{target}: this is a file, want a new folder")
    if resolved.exists() and any(resolved.iterdir()):
        raise FileExistsError(f"{target}: the folder is not empty, want a new or an empty one")
    if not resolved.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}, want a new folder in an existing one")
    temporary = resolved.with_name(f".{resolved.name}.{os.getpid()}.tmp")
    try:
        for name, text in contents.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        if resolved.exists():
            resolved.rmdir()  # some systems cannot rename onto an empty folder
        temporary.rename(resolved)
    except BaseException as error:
        import shutil  # slow to import

        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise type(error)(f"{target}: cannot be written ({error.strerror or type(error).__name__})") from error
        raise


def digest(files: Mapping[str, Path]) -> str:
    """Return a hash of the contents of the files and of the names under which they are given."""
    import hashlib  # slow to import

    hashes = [f"{name} {_hash(path, path.stat().st_size, path.stat().st_mtime_ns)}" for name, path in files.items()]
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


@cache
def _hash(path: Path, size: int, changed: int) -> str:
    """Hash of the contents of a file, which is read again only if its size or modification time changes."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

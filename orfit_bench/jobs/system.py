"""Operations on files, in one place: `orfit_bench.jobs.files` and `locks` call the system only through this module.

A test can therefore replace each operation by one that fails (tests/jobs/test_injected_failures.py).
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE, S_IRUSR, S_IWUSR

FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""Flags for opening files that this process writes. Links are never followed."""
RENAMES_OPEN_FILES = os.name != "nt"
"""Whether the system can rename a file that is open in this process."""
NOT_SUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EBADF}
"""Error numbers of systems on which a folder cannot be synchronized."""
OPERATIONS = (
    "create",
    "open_or_create",
    "lock",
    "write",
    "sync",
    "rename",
    "sync_folder",
    "remove",
    "read",
    "make_folder",
)
"""The functions that change or read files, which tests replace by failing ones; `close` only releases a descriptor."""


def follow(path: Path) -> Path:
    """The path after following links; the file need not exist."""
    return Path(os.path.realpath(path))


def create(path: Path) -> int:
    """Create a file that does not exist, and return its descriptor. Raises FileExistsError otherwise."""
    return os.open(path, FLAGS | os.O_CREAT | os.O_EXCL, 0o666)


def open_or_create(path: Path) -> int:
    """Open a file, which is created if it does not exist, and return its descriptor."""
    return os.open(path, FLAGS | os.O_CREAT, 0o666)


def lock(descriptor: int) -> None:
    """Lock an open file until it is closed or the process ends. Raises BlockingIOError if it is locked already.

    Raises another OSError if the system has no locks.
    """
    try:
        import fcntl
    except ImportError:
        raise OSError(errno.ENOTSUP, "no file locks") from None
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write(descriptor: int, data: bytes | bytearray | memoryview) -> int:
    """Write to an open file, and return how many bytes were written, which may be less than all."""
    return os.write(descriptor, data)


def sync(descriptor: int) -> None:
    """Wait until the content of an open file is on the disk."""
    os.fsync(descriptor)


def rename(source: Path, target: Path) -> None:
    """Rename a file, which replaces the target."""
    os.replace(source, target)


def copy_mode(source: Path, target: Path) -> None:
    """Give a file the permissions of another one, if it exists and the system can do so.

    The owner can always read and write it, as `orfit_bench.jobs.locks` requires for temporary files.
    """
    with suppress(OSError):
        target.chmod(S_IMODE(source.stat().st_mode) | S_IRUSR | S_IWUSR)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, if the system supports this."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        if error.errno in NOT_SUPPORTED:
            return
        raise
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
    finally:
        close(descriptor)


def remove(path: Path) -> None:
    """Remove a file. Raises FileNotFoundError if there is none."""
    path.unlink()


def read(path: Path) -> bytes:
    """Return the content of a file."""
    return path.read_bytes()


def make_folder(path: Path) -> None:
    """Create a folder if it does not exist."""
    path.mkdir(exist_ok=True)


def close(descriptor: int) -> None:
    """Close an open file, which also unlocks it."""
    os.close(descriptor)

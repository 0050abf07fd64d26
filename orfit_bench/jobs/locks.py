"""Locks: each temporary file has one writer, and each output is written by one run at a time.

The system releases a lock when its process ends for any reason. A temporary file without a lock was therefore left by a
killed process and can be removed. If the system has no locks (`fcntl`), such files remain, and runs are not kept from
writing the same output.
"""

from __future__ import annotations

import errno
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from orfit_bench.jobs import system

NO_LOCKS = {*system.NOT_SUPPORTED, errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}
"""Error numbers of systems and file systems that have no locks."""


def create_temporary(target: Path) -> tuple[Path, int]:
    """Create a new, locked file next to the target, and return its path and descriptor."""
    numbers = count()
    path = _temporary(target, next(numbers))
    while True:
        try:
            descriptor = system.create(path)
        except FileExistsError:
            if not remove_abandoned(path):
                path = _temporary(target, next(numbers))
            continue
        try:
            with suppress(BlockingIOError):  # another process removed it as abandoned before it was locked
                _lock_if_possible(descriptor)
                if _is_at(descriptor, path):
                    return path, descriptor
        except BaseException:
            system.close(descriptor)
            with suppress(OSError):
                system.remove(path)
            raise
        system.close(descriptor)


@contextmanager
def temporary_folder(target: Path) -> Iterator[tuple[Path, int]]:
    """Yield a new, empty folder next to the target, which is removed at the end, and the descriptor of its lock.

    `remove_matching` removes it if this process and all that inherited the descriptor were killed.
    """
    path, descriptor = create_temporary(target)
    folder = _folder_of(path)
    try:
        system.make_folder(folder)
        yield folder, descriptor
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                system.remove(path)
        finally:
            system.close(descriptor)


def remove_temporaries(target: Path) -> None:
    """Remove temporary files of a target that were left by killed processes."""
    remove_matching(target.parent, f".{glob.escape(target.name)}.*.tmp")


def remove_matching(folder: Path, pattern: str) -> None:
    """Remove temporary files with this pattern that were left by killed processes."""
    for path in folder.glob(pattern):
        remove_abandoned(path)


def remove_abandoned(path: Path) -> bool:
    """Remove a file that is not locked by any process, with its folder, and return whether it is gone."""
    try:
        descriptor = os.open(path, system.FLAGS)
    except FileNotFoundError:
        return True
    except OSError:  # a folder, a link, or a file of another user
        return False
    try:
        system.lock(descriptor)
        if _is_at(descriptor, path):
            shutil.rmtree(_folder_of(path), ignore_errors=True)
            system.remove(path)
    except OSError:
        return False
    finally:
        system.close(descriptor)
    return True


@contextmanager
def lock(output: Path) -> Iterator[None]:
    """Keep other runs from writing the same output, even through a link.

    Raises BlockingIOError that names the other process if another run is writing it.
    """
    file = system.follow(output)
    path = file.with_name(f".{file.name}.lock")
    while True:
        descriptor = system.open_or_create(path)
        try:
            _lock_if_possible(descriptor)
            if _is_at(descriptor, path):
                break
        except BlockingIOError:
            other = os.read(descriptor, 20).decode(errors="replace") or "unknown"
            system.close(descriptor)
            raise BlockingIOError(
                f"{output}: another run (process {other}) writes this file: wait until it has ended, or choose another "
                "output"
            ) from None
        except BaseException:
            system.close(descriptor)
            raise
        system.close(descriptor)  # the owner removed the file when it ended
    try:
        with suppress(OSError):  # the number is for messages only
            os.ftruncate(descriptor, 0)
            system.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        try:
            with suppress(OSError):
                system.remove(path)
        finally:  # an interruption must not leave the output locked
            system.close(descriptor)


def _temporary(target: Path, number: int) -> Path:
    return target.with_name(f".{target.name}.{number}.tmp")


def _folder_of(temporary: Path) -> Path:
    """The folder that belongs to a temporary file, see `temporary_folder`."""
    return temporary.with_name(f"{temporary.stem}.folder.tmp")


def _lock_if_possible(descriptor: int) -> None:
    try:
        system.lock(descriptor)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file still has this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False

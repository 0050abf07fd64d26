"""Forked processes that report lines of JSON, with limits on their memory and time."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from orfit_bench.jobs import locks

MAX_BYTES = 8 * 2**30
"""Memory limit of a child, if the system supports limits."""
LINES = "lines.jsonl"


class Child(NamedTuple):
    """A forked process and its temporary folder, with a file of the lines that it reports."""

    pid: int
    folder: tempfile.TemporaryDirectory[str]

    def ended(self) -> tuple[str, int] | None:
        """The lines that it reported and its status; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return self._read(status) if pid else None

    def wait(self) -> tuple[str, int]:
        """Wait until the child ends."""
        return self._read(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        """End the child."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def _read(self, status: int) -> tuple[str, int]:
        lines = Path(self.folder.name, LINES)
        text = lines.read_text(encoding="utf-8") if lines.exists() else ""
        self.folder.cleanup()
        return text, status


Say = Callable[[Any], None]


def fork(work: Callable[[Say, Path], None]) -> Child:
    """Start a child that calls work(say, folder); say(value) sends a value as a line of JSON."""
    if not hasattr(os, "fork"):
        raise OSError("mutants are judged in forked processes, which this system does not have")
    folder = tempfile.TemporaryDirectory(prefix="orfit-bench-mutant-")
    path = Path(folder.name)
    if pid := os.fork():
        return Child(pid, folder)
    with (path / LINES).open("a", encoding="utf-8") as file:

        def say(value: Any) -> None:
            file.write(json.dumps(value) + "\n")
            file.flush()

        try:
            _confine(path)
            work(say, path)
        except BaseException as error:
            say({"error": f"{type(error).__name__}: {error}"})
        finally:
            os._exit(0)


def _confine(folder: Path) -> None:
    """Silence the process, limit its memory, and keep its files and the machine code of mutants in its folder."""
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    os.environ |= {"NUMBA_CACHE_DIR": str(folder / "numba"), "TMPDIR": str(folder)}
    tempfile.tempdir = str(folder)
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))


@contextmanager
def temporary_files() -> Iterator[None]:
    """Keep the temporary files of all children in one folder; files of killed runs are removed."""
    target = Path(tempfile.gettempdir(), "orfit-bench-mutants")
    locks.remove_temporaries(target)
    with locks.temporary_folder(target) as (folder, _):
        before, tempfile.tempdir = tempfile.tempdir, str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = before


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End the process, even during compiled code, unless the block ends in time."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

"""Child processes: each imports the plugins with one module replaced, and runs checks until one fails.

The children are forked from a process that has imported the host and no plugin. A child that hangs, crashes or takes
too much memory ends alone.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from orfit_bench.conformance.plan import plan_checks
from orfit_bench.conformance.result import FAILED, PASSED, UNPROVEN, PlannedCheck
from orfit_bench.conformance.runner import run_check
from orfit_bench.mutation.mutants import Mutant
from orfit_bench.mutation.sources import Source, find_sources

MAX_BYTES = 8 * 2**30
"""Limit on the memory of a child, where the system has one."""
LINES = "lines.jsonl"
START_SECONDS = 60.0
"""Time limit for importing the plugins."""


class Question(NamedTuple):
    """The kernels to judge: names of methods, backends or plugins; backends; dtypes; modules; the seed."""

    names: Sequence[str]
    backends: Sequence[str]
    dtypes: Sequence[str]
    modules: Sequence[str]
    seed: int


class Timed(NamedTuple):
    """A check that the unchanged kernel passes, and the seconds that it takes."""

    check: PlannedCheck
    seconds: float


class Child(NamedTuple):
    """A forked process and its temporary folder, which has a file with the lines that it reports."""

    pid: int
    folder: tempfile.TemporaryDirectory[str]

    def ended(self) -> tuple[str, int] | None:
        """The lines that it reported and its status; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return self._read(status) if pid else None

    def wait(self) -> tuple[str, int]:
        """Wait for its end."""
        return self._read(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        """End it."""
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
    """Silence the process, limit its memory, and keep machine code of mutants out of the user's cache."""
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "numba")
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End the process, compiled code included, unless the block ends in time."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def find(question: Question) -> list[Source]:
    """The files to mutate, found in a child."""

    def work(say: Say, folder: Path) -> None:
        checks = _plan(question)
        for source in find_sources({(c.backend, c.method) for c in checks}, question.modules):
            say(asdict(source))

    return [
        Source(s["module"], s["path"], [(a, b) for a, b in s["lines"]], [(b, m) for b, m in s["pairs"]])
        for s in _answers(fork(work))
    ]


def measure(question: Question) -> list[Timed]:
    """The checks that the unchanged kernels pass, with their seconds. Raises ValueError if they fail one."""

    def work(say: Say, folder: Path) -> None:
        for check in _plan(question):
            began = time.perf_counter()
            result = run_check(check)
            say([asdict(check), time.perf_counter() - began, result.status, result.reason])

    found = []
    for fields, seconds, status, reason in _answers(fork(work)):
        check = PlannedCheck(**fields)
        if status in (FAILED, UNPROVEN):
            raise ValueError(
                f"the unchanged kernel fails {check.label}: {reason}. Mutants can be judged only if all checks pass; "
                f"repeat: {check.repeat}"
            )
        found += [Timed(check, seconds)] if status == PASSED else []
    return found


def judge(mutant: Mutant, checks: Sequence[Timed]) -> Child:
    """Start a child that runs the checks on a mutant until one fails.

    Raises RuntimeError if this process has imported the module, which children could then not replace.
    """
    if mutant.module in sys.modules:
        raise RuntimeError(
            f"{mutant.module} was imported in this process before: judge mutants in a new process, before anything "
            "that loads the plugins"
        )

    def work(say: Say, folder: Path) -> None:
        with time_limit(START_SECONDS):
            _replace(mutant.module, mutant.code, folder)
            importlib.import_module(mutant.module)
        for check, seconds in checks:
            say({"running": check.label})
            with time_limit(10 + 10 * seconds):
                result = run_check(check)
            if result.status != PASSED:
                say({"killed": check.label, "reason": result.reason})
                return
        say({"survived": len(checks)})

    return fork(work)


def verdict(text: str, status: int) -> tuple[bool, str, str]:
    """Whether the mutant was killed, by which check, and why."""
    lines = [json.loads(line) for line in text.splitlines()]
    last = lines[-1] if lines else {}
    running = next((line["running"] for line in reversed(lines) if "running" in line), "the import")
    if "survived" in last:
        return False, "", ""
    if "killed" in last:
        return True, last["killed"], last["reason"]
    if "error" in last:
        return True, running, last["error"]
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return True, running, "time limit" if ended == signal.SIGALRM else f"the process died (status {status})"


def _plan(question: Question) -> list[PlannedCheck]:
    names, backends, dtypes, _, seed = question
    return plan_checks(names, backends=backends, dtypes=dtypes, seed=seed)


def _answers(child: Child) -> list[Any]:
    try:
        text, status = child.wait()
    except KeyboardInterrupt:
        child.kill()
        raise
    lines = [json.loads(line) for line in text.splitlines()]
    if lines and isinstance(lines[-1], dict) and "error" in lines[-1]:
        raise ValueError(lines[-1]["error"])
    if status:
        raise ValueError(f"the process that checks the unchanged kernel died (status {status})")
    return lines


def _replace(module: str, code: str, folder: Path) -> None:
    """From now on importing the module runs this code instead of its file."""
    path = folder / f"{module.rpartition('.')[2]}.py"
    path.write_text(code, encoding="utf-8")
    sys.meta_path.insert(0, _Replacement(module, path))


class _Replacement:
    """A finder of one module, whose code is in another file."""

    def __init__(self, module: str, path: Path) -> None:
        self._module, self._path = module, path

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        """The specification of the replaced module; None for every other."""
        if name != self._module:
            return None
        original = importlib.machinery.PathFinder.find_spec(name, path)
        places = original.submodule_search_locations if original else None
        return importlib.util.spec_from_file_location(name, self._path, submodule_search_locations=places)

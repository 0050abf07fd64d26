"""Every operation on files fails in turn, in every way, and the remaining files are examined.

`python3 dev.py failures` runs all actions and prints the counts. Each point is a forked process in which one operation
of `orfit_bench.jobs.system` fails: no space, a device error, an interruption, half of the bytes written, or the process
ends before or after it. Afterwards the action is repeated without a failure.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from helpers import gate_files

import orfit_bench as ob
from orfit_bench import bench
from orfit_bench.jobs import system
from orfit_bench_papers import running

ERRORS = {"no space": errno.ENOSPC, "device error": errno.EIO, "interruption": errno.EINTR}
CRASHES = ("end before", "end after")
SHORT = "half written"
CRASHED, REPORTED, OTHER = 9, 3, 4
"""How a process ended: killed by the injection, with OSError or ValueError, with another exception."""


class Point(NamedTuple):
    """A failure: the number of the call, the operation, and the kind of failure."""

    number: int
    operation: str
    failure: str


@dataclass(frozen=True)
class Action:
    """An action in a folder, and what must hold afterwards.

    `prepare(folder)` creates the initial files, `act(folder)` runs the action, and `value(folder)` reads the result, or
    raises if it cannot be read.
    """

    prepare: Callable[[Path], None]
    act: Callable[[Path], None]
    value: Callable[[Path], Any]
    changes: bool = True
    """Whether the action changes the value."""


class Found(NamedTuple):
    """The effect of a failure: "fine", "lost" or "silent", and why."""

    verdict: str
    reason: str = ""


def fail_at(point: Point | None, say: Callable[[str], None] = lambda operation: None) -> None:
    """Make the operation of this point fail; `say` is called with each operation."""
    count = -1

    def replaced(name: str, original: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal count
        count += 1
        say(name)
        if point is None or count != point.number:
            return original(*arguments)
        if point.failure == "end before":
            os._exit(CRASHED)
        if point.failure in ERRORS:
            code = ERRORS[point.failure]
            raise OSError(code, os.strerror(code))
        if point.failure == SHORT:
            descriptor, data = arguments
            return original(descriptor, bytes(data)[: max(1, len(data) // 2)])
        original(*arguments)
        os._exit(CRASHED)

    for name in system.OPERATIONS:
        setattr(system, name, partial(replaced, name, getattr(system, name)))


def in_child(work: Callable[[], None]) -> int:
    """The exit status of a forked process that calls this."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = OTHER
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 2)
        os.dup2(silent, 1)
        work()
        status = 0
    except (OSError, ValueError):
        status = REPORTED
    finally:
        os._exit(status)


def operations(action: Action, work: Path) -> list[str]:
    """The operations of an undisturbed action in a prepared folder."""
    log = work.parent / "operations"

    def act() -> None:
        with log.open("a", buffering=1) as file:
            fail_at(None, lambda name: print(name, file=file) and None)
            action.act(work)

    assert in_child(act) == 0
    return log.read_text().split()


def points(called: list[str]) -> Iterator[Point]:
    """Every failure of every operation."""
    for number, operation in enumerate(called):
        for failure in (*ERRORS, *CRASHES, *([SHORT] if operation == "write" else [])):
            yield Point(number, operation, failure)


def examine(action: Action, point: Point, work: Path) -> Found:
    """Inject a failure in a prepared folder, examine the remaining files, and repeat the action without it."""
    before = action.value(work)

    def fail() -> None:
        fail_at(point)
        action.act(work)

    status = in_child(fail)
    try:
        after = action.value(work)
    except Exception as error:
        return Found("lost", f"what is left cannot be read: {type(error).__name__}: {error}")
    if status == OTHER:
        return Found("silent", "another exception than OSError or ValueError")
    kept = after == before
    if not kept and status not in (0, CRASHED, REPORTED):
        return Found("lost", f"the process ended with status {status}")
    if in_child(lambda: action.act(work)):
        return Found("lost", "the same action fails afterwards")
    final = action.value(work)
    if action.changes and (final == before or (not kept and after != final)):
        return Found("silent", "what was left is neither the old nor the new value")
    if status == 0 and action.changes and kept:
        return Found("silent", "it reported success and did nothing")
    if left := [path.name for path in work.rglob("*") if path.name.endswith(".tmp")]:
        return Found("lost", f"temporary files are left: {left}")
    return Found("fine")


def inject(action: Action) -> list[tuple[Point, Found]]:
    """The verdict for every failure of an action."""
    with tempfile.TemporaryDirectory(prefix="orfit-bench-failures-") as folder:
        prepared, work = Path(folder, "prepared"), Path(folder, "work")
        prepared.mkdir()
        action.prepare(prepared)

        def fresh() -> Path:
            shutil.rmtree(work, ignore_errors=True)
            return Path(shutil.copytree(prepared, work))

        return [(point, examine(action, point, fresh())) for point in points(operations(action, fresh()))]


# ---------------------------------------------------------------------- the actions


def _learner(rows: int) -> Any:
    X = np.random.default_rng(0).standard_normal((rows, 3))
    return ob.create("rls", backend="numpy").partial_fit(X, X.sum(axis=1))


def _save(rows: int, folder: Path) -> None:
    _learner(rows).save(folder / "state.npz")


def _state(folder: Path) -> Any:
    return ob.load(folder / "state.npz").to_bytes()


SUITE = bench.Suite(methods=["lms", "nlms"], backends=["numpy"], streams=["regression"], rows=[20], seeds=[0, 1])
SMALL = bench.Suite(methods=["lms"], backends=["numpy"], streams=["regression"], rows=[20], seeds=[0, 1])


def _run(suite: bench.Suite, folder: Path) -> None:
    bench.run(suite, folder / "results.nc", isolate=False, progress=None)


def _results(folder: Path) -> Any:
    """The errors of all cells, by their keys; a cell twice is an error."""
    table = bench.load(folder / "results.nc")
    found = dict(zip(table["key"].values.tolist(), table["test_error"].values.tolist(), strict=True))
    assert len(found) == table.sizes["cell"]
    assert set(table["status"].values.tolist()) == {"ok"}
    return found


class _Stop(BaseException):
    """Raised to end a run that will be resumed."""


def _begin(folder: Path) -> None:
    """Create earlier results, and the journal of a run that was stopped after two cells."""
    _run(SMALL, folder)

    def stop(done: int, total: int, record: Any) -> None:
        if done == 2:
            raise _Stop

    try:
        bench.run(SUITE, folder / "results.nc", isolate=False, progress=stop)
    except _Stop:
        return


def _resume(folder: Path) -> None:
    """Resume the run; cells in the journal are not run again, except those that a warning names."""
    stored = len(list((folder / "results.nc.journal").glob("*.json")))
    resumed: list[int] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        bench.run(SUITE, folder / "results.nc", isolate=False, progress=lambda done, total, _: resumed.append(done))
    named = sum("its job is run again" in str(warning.message) for warning in caught)
    if resumed[0] + named < min(stored, 2):
        raise RuntimeError(f"{stored} cells were finished, {resumed[0]} were resumed, warnings name {named}")


def _load(folder: Path) -> None:
    assert len(_results(folder)) == 2


def _reproduce(runs: int, folder: Path) -> None:
    """Run an experiment with two cells, which writes results and a page."""
    procedure = running.find("survey-figure-2")
    setup = running.make_setup(procedure, None, runs=runs)
    running.run(procedure, setup, folder, isolate=False)


def _reproduced(folder: Path) -> Any:
    """All numbers of the results; the page must be complete."""
    assert (folder / "survey-figure-2.html").read_text().rstrip().endswith("</html>")
    results = xr.load_dataset(folder / "survey-figure-2.nc")
    return {name: values.to_numpy().tobytes() for name, values in results.items()}


ACTIONS = {
    "save": Action(partial(_save, 5), partial(_save, 9), _state),
    "load": Action(partial(_run, SMALL), _load, _results, changes=False),
    "run": Action(partial(_run, SMALL), partial(_run, SUITE), _results),
    "resume": Action(_begin, _resume, _results),
    "reproduce": Action(partial(_reproduce, 1), partial(_reproduce, 2), _reproduced),
    "gate": Action(gate_files.prepare, gate_files.act, gate_files.value),
}


def main(names: list[str]) -> int:
    """Inject failures into these actions, or all, and print the counts."""
    total: Counter[str] = Counter()
    for name in names or list(ACTIONS):
        found = inject(ACTIONS[name])
        for point, (verdict, reason) in found:
            total[verdict] += 1
            if verdict != "fine":
                print(f"{name}, call {point.number}, {point.operation}, {point.failure}: {verdict}, {reason}")
        print(f"{name}: {len(found)} points injected", flush=True)
    print(f"{total.total()} points injected, {total['lost']} lost, {total['silent']} silently changed")
    return int(bool(total["lost"] or total["silent"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

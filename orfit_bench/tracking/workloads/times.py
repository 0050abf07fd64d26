"""Clocks: of a kernel's functions, of new interpreters, of the machine itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from .names import Missing
from .rows import rows

KERNEL = ("learn", "update", "step", "store", "ahead", "predict_step", "transit")
"""Functions of a kernel; `predict_step` was `transit` in earlier versions."""
STARTS = {
    "import_seconds": ["-c", "import orfit_bench"],
    "start_seconds": ["-m", "orfit_bench", "list", "--help"],
}
"""What new interpreters do whose time is taken."""


class Clock:
    """Seconds spent in the functions of a module, whichever of them called the others."""

    def __init__(self) -> None:
        self.seconds, self.depth = 0.0, 0

    def watch(self, function: Callable[..., Any], wait: Callable[[], None]) -> Callable[..., Any]:
        """The function, with its time added up."""

        def watched(*arguments: Any, **more: Any) -> Any:
            self.depth += 1
            begin = perf_counter()
            try:
                return function(*arguments, **more)
            finally:
                self.depth -= 1
                if not self.depth:
                    wait()
                    self.seconds += perf_counter() - begin

        return watched


@contextmanager
def clocked(method: str, backend: str) -> Iterator[Clock]:
    """A clock on the kernel's functions, for learners that are made meanwhile."""
    from orfit_bench.plugins.registry import registry

    kernel, clock = registry().kernel(backend, method), Clock()
    functions = {name: getattr(kernel, name) for name in KERNEL if hasattr(kernel, name)}
    try:
        for name, function in functions.items():
            setattr(kernel, name, clock.watch(function, registry().backends[backend].synchronize))
        yield clock
    finally:
        for name, function in functions.items():
            setattr(kernel, name, function)


def reference_seconds(spend: float = 0.01) -> float:
    """Seconds of a workload that no commit changes, products of matrices and steps of the interpreter: the machine's
    speed at this moment."""
    A = rows(96, 96)

    def timed() -> float:
        begin = perf_counter()
        for _ in range(4):
            A @ A
        sum(i * i for i in range(4000))
        return perf_counter() - begin

    return least(timed, spend)


def start_seconds(measure: str) -> float:
    """Seconds of a new interpreter that does what STARTS says, the least of three."""
    command = [sys.executable, *STARTS[measure]]

    def timed() -> float:
        begin = perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        taken = perf_counter() - begin
        if "No module named orfit_bench" in done.stderr:
            raise Missing(f"{' '.join(STARTS[measure])}: not in this commit")
        if done.returncode:
            raise RuntimeError(f"{' '.join(STARTS[measure])} ended with {done.returncode}: {done.stderr[-300:]}")
        return taken

    return min(timed() for _ in range(3))


def least(timed: Callable[[], float], spend: float) -> float:
    """The least of at least two times, as many as `spend` seconds allow."""
    begin, best, runs = perf_counter(), float("inf"), 0
    while runs < 2 or perf_counter() - begin < spend:
        best, runs = min(best, timed()), runs + 1
    return best

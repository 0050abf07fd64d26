"""Timing of kernel functions, of new interpreters, and of a reference workload."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import Any

from .names import Missing
from .rows import rows

KERNEL = ("learn", "update", "slopes", "move", "step", "store", "ahead", "predict_step", "transit")
"""Functions of a kernel; `predict_step` was `transit` in earlier versions."""
STARTS = {
    "import_seconds": ["-c", "import orfit_bench"],
    "start_seconds": ["-m", "orfit_bench", "list", "--help"],
}
"""Arguments of the new interpreters that are timed."""


class Stopwatch:
    """Measures CPU time, which other programs do not affect, or wall time for several threads or a device."""

    def __init__(self, on_device: bool = False) -> None:
        self.on_device = on_device
        self.begin = perf_counter(), process_time()

    def seconds(self) -> float:
        """Return the seconds since it was created: wall time also if the clock of CPU time did not advance."""
        wall, cpu = perf_counter() - self.begin[0], process_time() - self.begin[1]
        return wall if self.on_device or cpu <= 0 else min(wall, cpu)


class Clock:
    """Measures the seconds spent in functions; nested calls are counted once."""

    def __init__(self, on_device: bool = False) -> None:
        self.seconds, self.depth, self.on_device = 0.0, 0, on_device

    def watch(self, function: Callable[..., Any], wait: Callable[[], None]) -> Callable[..., Any]:
        """Return the function with timing added."""

        def timed(*arguments: Any, **more: Any) -> Any:
            self.depth += 1
            watch = Stopwatch(self.on_device)
            try:
                return function(*arguments, **more)
            finally:
                self.depth -= 1
                if not self.depth:
                    wait()
                    self.seconds += watch.seconds()

        return timed


@contextmanager
def time_kernel(method: str, backend: str) -> Iterator[Clock]:
    """Measure the time spent in the functions of a kernel, for learners created in this context."""
    from orfit_bench.plugins.registry import registry

    kernel, clock = registry().kernel(backend, method), Clock(is_device(registry().backends[backend]))
    functions = {name: getattr(kernel, name) for name in KERNEL if hasattr(kernel, name)}
    try:
        for name, function in functions.items():
            setattr(kernel, name, clock.watch(function, registry().backends[backend].synchronize))
        yield clock
    finally:
        for name, function in functions.items():
            setattr(kernel, name, function)


def is_device(backend: Any) -> bool:
    """Return whether a backend works on a device, whose time is not CPU time."""
    return getattr(backend, "device", "cpu") != "cpu"


def reference_seconds() -> float:
    """Return the seconds of a workload that no commit changes: matrix products and interpreted steps."""
    A = rows(96, 96)

    def timed() -> float:
        watch = Stopwatch()
        for _ in range(4):
            A @ A
        sum(i * i for i in range(4000))
        return watch.seconds()

    return best_of(timed, 0.01)


def start_seconds(measure: str, repeats: int = 3) -> float:
    """Return the minimum of several timings of a new interpreter with these arguments."""
    command = [sys.executable, *STARTS[measure]]

    def timed() -> float:
        begin = perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        taken = perf_counter() - begin
        if "No module named orfit_bench" in done.stderr:
            raise Missing(f"{' '.join(STARTS[measure])}: not in this commit")
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["without a message"])[-1]
            raise RuntimeError(f"{' '.join(STARTS[measure])} ended with {done.returncode}: {last[-300:]}")
        return taken

    return min(timed() for _ in range(repeats))


def best_of(timed: Callable[[], float], spend: float) -> float:
    """Return the minimum of at least two timings, repeated for `spend` seconds."""
    begin, best, runs = perf_counter(), float("inf"), 0
    while runs < 2 or perf_counter() - begin < spend:
        best, runs = min(best, timed()), runs + 1
    return best

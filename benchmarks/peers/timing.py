"""CPU seconds of functions that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from threadpoolctl import threadpool_limits

Case = tuple[str, Callable[[], object]]
"""A name and a function that does the work once."""
ROUNDS = 5
"""Number of timed rounds."""


def cpu_seconds(cases: Sequence[Case]) -> dict[str, float]:
    """The median CPU seconds of each function, in interleaved rounds after one that is not timed."""
    times: dict[str, list[float]] = {name: [] for name, _ in cases}
    for i in range(ROUNDS + 1):
        for name, work in cases:
            begin = time.process_time()
            work()
            if i:
                times[name].append(time.process_time() - begin)
    return {name: median(found) for name, found in times.items()}


def print_ratios(comparisons: Iterable[tuple[str, list[Case], float]]) -> None:
    """Print the ratio of the fastest other case to ours, the first, and its target, for each comparison."""
    with threadpool_limits(1):
        for name, cases, wanted in comparisons:
            (_, ours), *others = cpu_seconds(cases).items()
            print(f"{name:45} {min(t for _, t in others) / ours:6.2f} wanted {wanted:g}", flush=True)

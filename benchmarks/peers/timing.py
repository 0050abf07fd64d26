"""CPU seconds of functions that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

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

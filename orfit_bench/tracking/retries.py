"""Selection of the measurement of a job that counts, out of several.

A job is timed as a whole, and all its quantities come from one measurement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from orfit_bench.tracking.comparison import Comparison
from orfit_bench.tracking.quantities import LEARNER_TIMES


def is_impossible(job: Sequence[Comparison]) -> bool:
    """Whether a kernel took longer than the call that contains it, in one of the commits."""
    times = {comparison.metric: comparison for comparison in job}
    if not {*LEARNER_TIMES["chunk_seconds"]} <= set(times):
        return False
    call, kernel = (times[name] for name in LEARNER_TIMES["chunk_seconds"])
    return kernel.base > call.base or kernel.head > call.head


def select_measurement(measured: Sequence[list[Comparison]]) -> list[Comparison]:
    """The measurement of a job that counts: a failure, else the median of the changes (the smaller of two).

    Impossible measurements, and those in which the older commit failed, count only if there are no others.
    """
    for job in measured:
        if any(comparison.verdict == "broken" for comparison in job):
            return job
    valid = [job for job in measured if not is_impossible(job) and all(c.size >= 0 for c in job)]
    if not valid:
        return measured[0]
    valid.sort(key=_largest_change)
    return min(valid[(len(valid) - 1) // 2], valid[len(valid) // 2], key=lambda job: abs(_largest_change(job)))


def mark_failing(job: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons of a job whose times contradict each other in every measurement."""
    note = "the kernel took longer than the call that contains it, in every measurement"
    return [comparison._replace(base=math.nan, head=math.nan, verdict="failing", note=note) for comparison in job]


def _largest_change(job: Sequence[Comparison]) -> float:
    """The logarithm of head / base for the quantity of a job that changed most."""
    return max((math.log(comparison.head / comparison.base) for comparison in job), key=abs)

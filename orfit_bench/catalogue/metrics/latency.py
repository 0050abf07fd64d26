"""How long a caller waits who brings one row at a time."""

import numpy as np

from orfit_bench.spec.metric import Metric, Record


def p50(record: Record) -> float | None:
    """The median of the calls."""
    return _percentile(record, 50)


def p99(record: Record) -> float | None:
    """What one call in a hundred exceeds."""
    return _percentile(record, 99)


def _percentile(record: Record, q: float) -> float | None:
    return float(np.percentile(record.latency, q)) if len(record.latency) else None


METRICS = tuple(
    Metric(
        name=f"latency_{measure.__name__}",
        unit="s",
        summary=f"{what} time of a call that brings one row, waiting for the device included",
        formula=f"{measure.__name__[1:]}th percentile of the wall times of calls with the first rows, at most 1,000",
        source="wall clock",
        better="lower",
        measure=measure,
    )
    for measure, what in ((p50, "median"), (p99, "99th percentile of the"))
)

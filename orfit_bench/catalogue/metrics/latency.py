"""Latency: time of a call with a single row."""

import numpy as np

from orfit_bench.spec.metric import Metric, Record


def p50(record: Record) -> float | None:
    """Median over the calls."""
    return _percentile(record, 50)


def p99(record: Record) -> float | None:
    """99th percentile over the calls."""
    return _percentile(record, 99)


def _percentile(record: Record, q: float) -> float | None:
    return float(np.percentile(record.latency, q)) if len(record.latency) else None


METRICS = tuple(
    Metric(
        name=f"latency_{measure.__name__}",
        unit="s",
        summary=summary,
        formula=f"{measure.__name__[1:]}th percentile of the times of at most 1,000 calls, with the first rows",
        source="wall clock, waiting for the device included",
        better="lower",
        measure=measure,
        tolerated=0.3,
    )
    for measure, summary in (
        (p50, "median time of a call with one row"),
        (p99, "99th percentile time of a call with one row"),
    )
)

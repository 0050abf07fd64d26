"""Throughput."""

from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float:
    """Rows learned over the seconds of learning."""
    return record.rows_learned / record.seconds


METRIC = Metric(
    name="samples_per_second",
    unit="1/s",
    summary="rows learned a second, without set-up and evaluation",
    formula="rows / seconds",
    source="wall clock",
    better="higher",
    measure=measure,
)

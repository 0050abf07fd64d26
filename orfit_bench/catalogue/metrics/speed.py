"""Throughput, and its inverse."""

from orfit_bench.spec.metric import Metric, Record


def samples_per_second(record: Record) -> float:
    """Rows learned over the seconds of learning."""
    return record.rows_learned / record.seconds


def seconds_per_sample(record: Record) -> float:
    """Seconds of learning over the rows learned."""
    return record.seconds / record.rows_learned


METRICS = (
    Metric(
        name="samples_per_second",
        unit="1/s",
        summary="rows learned a second, in chunks",
        formula="rows / seconds",
        source="wall clock of learning alone, without set-up and evaluation",
        better="higher",
        measure=samples_per_second,
    ),
    Metric(
        name="seconds_per_sample",
        unit="s",
        summary="seconds a row, in chunks",
        formula="seconds / rows",
        source="wall clock of learning alone, without set-up and evaluation",
        better="lower",
        measure=seconds_per_sample,
    ),
)

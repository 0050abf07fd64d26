"""Throughput, and its inverse."""

from math import inf

from orfit_bench.spec.metric import Metric, Record


def throughput(record: Record) -> float:
    """Rows learned over the seconds of learning."""
    return record.rows_learned / record.seconds


def seconds_per_sample(record: Record) -> float:
    """Seconds of learning over the rows learned."""
    return record.seconds / record.rows_learned


def share_of_limit(record: Record) -> float | None:
    """Rows learned a second, as a share of what the machine allows."""
    return throughput(record) / record.limit if record.limit else None


METRICS = (
    Metric(
        name="throughput",
        unit="1/s",
        summary="rows learned a second, in chunks",
        formula="rows / seconds",
        source="wall clock of learning alone, without set-up and evaluation",
        better="higher",
        measure=throughput,
        tolerated=inf,  # compared as its inverse
    ),
    Metric(
        name="seconds_per_sample",
        unit="s",
        summary="seconds a row, in chunks",
        formula="seconds / rows",
        source="wall clock of learning alone, without set-up and evaluation",
        better="lower",
        measure=seconds_per_sample,
        tolerated=0.2,
    ),
    Metric(
        name="share_of_limit",
        unit="1",
        summary="rows a second over what the machine allows",
        formula="rows / seconds * max(flops / matrix-product rate, bytes / bandwidth where the state lies)",
        source="the method's declared cost of a row; rates measured by orfit-bench roofline",
        better="higher",
        measure=share_of_limit,
        tolerated=inf,  # as seconds_per_sample
    ),
)

"""Throughput, its inverse, and its share of the roofline limit."""

from math import inf, isnan

from orfit_bench.spec.metric import Metric, Record


def throughput(record: Record) -> float | None:
    """Rows learned divided by the seconds of learning; None if these were not measured."""
    return None if isnan(record.seconds) else record.rows_learned / record.seconds


def seconds_per_sample(record: Record) -> float | None:
    """Seconds of learning divided by the rows learned; None if the seconds were not measured."""
    return None if isnan(record.seconds) else record.seconds / record.rows_learned


def share_of_limit(record: Record) -> float | None:
    """Throughput relative to the roofline limit; None if one of them is unknown."""
    measured = throughput(record)
    return measured / record.limit if record.limit and measured is not None else None


METRICS = (
    Metric(
        name="throughput",
        unit="1/s",
        summary="rows learned per second, in chunks",
        formula="rows / seconds",
        source="wall clock of learning alone, without set-up and evaluation",
        better="higher",
        measure=throughput,
        tolerated=inf,  # compared as its inverse
    ),
    Metric(
        name="seconds_per_sample",
        unit="s",
        summary="seconds per row, in chunks",
        formula="seconds / rows",
        source="wall clock of learning alone, without set-up and evaluation",
        better="lower",
        measure=seconds_per_sample,
        tolerated=0.2,
    ),
    Metric(
        name="share_of_limit",
        unit="1",
        summary="throughput relative to the roofline limit",
        formula="rows / seconds * max(flops / matrix-product rate, bytes / bandwidth where the state lies)",
        source="the declared cost of a row; rates measured by orfit-bench roofline",
        better="higher",
        measure=share_of_limit,
        tolerated=inf,  # as seconds_per_sample
    ),
)

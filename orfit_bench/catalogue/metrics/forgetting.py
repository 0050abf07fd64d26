"""Forgetting: the increase of the error on earlier tasks."""

import numpy as np

from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Mean over all tasks but the last of (final error - error when learned); None for fewer than two tasks."""
    E = record.task_error
    return None if len(E) < 2 else float(np.mean(E[-1, :-1] - np.diagonal(E)[:-1]))


METRIC = Metric(
    name="forgetting",
    unit="by kind",
    summary="increase of the error on earlier tasks",
    formula="F_T = (1/(T-1)) sum_(j<T) (E[T, j] - E[j, j]), E[i, j] the error on task j after task i: mean squared, "
    "share of wrong labels, or compression loss",
    source="survey, section II (F_t)",
    better="lower",
    measure=measure,
    floor=1e-12,
)

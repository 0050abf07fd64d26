"""Forgetting: how much worse earlier tasks became."""

import numpy as np

from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Mean over all tasks but the last of (final error - least error since the task was learned)."""
    errors = np.sqrt(record.task_error)
    tasks = len(errors)
    if tasks < 2:
        return None
    return float(np.mean([errors[-1, j] - errors[j:-1, j].min() for j in range(tasks - 1)]))


METRIC = Metric(
    name="forgetting",
    unit="label",
    summary="how much the error on earlier tasks has grown since it was least",
    formula="mean_j (E[T, j] - min_(j <= i < T) E[i, j]), E[i, j] the root mean squared error on task j after task i",
    source="survey, section II (error matrix)",
    better="lower",
    measure=measure,
)

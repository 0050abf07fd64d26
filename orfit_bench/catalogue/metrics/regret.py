"""Regret: the excess of the a-priori errors over those of the best linear model in hindsight."""

import numpy as np

from orfit_bench.catalogue.metrics.a_priori_error import known
from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Sum of the squared a-priori errors minus that of the least-squares solution; None without a-priori errors.

    Negative if the learner follows a target that no fixed linear model fits, e.g. a drift.
    """
    if record.a_priori is None:
        return None
    rows = known(record)
    X, Y = (np.asarray(a, float)[rows] for a in (record.data.X, record.data.y))
    best = Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    return float(record.a_priori[rows].sum() - (best**2).sum())


METRIC = Metric(
    name="regret",
    unit="target^2",
    summary="squared a-priori errors minus the best model's",
    formula="sum_i e_i^2 - min_w sum_i |y_i - x_i'w|^2, e_i the a-priori errors of the first pass",
    source="survey, section II (regret; its sum runs over eps_i^2), with the best linear model in hindsight subtracted",
    better="lower",
    measure=measure,
    floor=1e-12,
    memory=lambda record: 32.0 * record.data.size,  # copies of the rows
)

"""Laws of the greedy baseline."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def predicts_the_last_label(create: Any, rows: Rows) -> Measured:
    """Every prediction is the target of the last row learned, and zero before the first row."""
    learner = create()
    predicted = learner.prequential(rows.X, rows.y)
    repeated = learner.predict(rows.X[:3])
    before, last = np.concatenate([[0.0], rows.y[:-1]]), np.repeat(rows.y[-1], 3)
    return Measured(nan_max(deviation(predicted, before), deviation(repeated, last)), len(rows.X), 1.0)


def merge_is_exact(create: Any, rows: Rows) -> Measured:
    """A merged learner predicts the last target of the learner with the later rows."""
    half = len(rows.X) // 2
    parts = ((rows.X[:half], rows.y[:half]), (rows.X[half:], rows.y[half:]))
    one, other = (create().partial_fit(*part) for part in parts)
    return Measured(deviation(one.merge(other).predict(rows.X[:3]), np.repeat(rows.y[-1], 3)), len(rows.X), 1.0)


LAWS = (
    Law(predicts_the_last_label, "thesis, section 5.1", exponent=0),
    Law(merge_is_exact, "thesis, section 5.1", exponent=0),
)

"""Laws of orthogonal gradient descent (OGD)."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights
from orfit_bench.catalogue.shared.recursions import projected_steps
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max, to_numpy64


def closed_form(create: Any, rows: Rows) -> Measured:
    """In the coordinates of an LQ factorization all a-priori errors solve one triangular system."""
    X, y, _ = rows
    step = 0.5 / (X * X).sum(1).max()
    got = final_weights(create(step_size=step).partial_fit(X, y))
    want = projected_steps(X, y[:, None], np.zeros((X.shape[1], 1)), np.full(len(X), step))
    return Measured(deviation(got, want), len(X), condition(X))


def earlier_predictions_are_unchanged(create: Any, rows: Rows) -> Measured:
    """A step changes the prediction for its own row and leaves the predictions for all earlier rows unchanged."""
    X, y, _ = rows
    learner, worst = create(step_size=1.0 / (X * X).sum(1).max()), 0.0
    scale = abs(y).max()
    for t in range(1, len(X)):
        before = to_numpy64(learner.partial_fit(X[t - 1 : t], y[t - 1 : t]).predict(X[: t + 1]))
        after = to_numpy64(learner.copy().partial_fit(X[t : t + 1], y[t : t + 1]).predict(X[: t + 1]))
        learned = abs(after[t] - before[t]) > 0 or before[t] == y[t]
        worst = nan_max(worst, float(abs(after - before)[:t].max() / scale) if learned else float("inf"))
    return Measured(worst, len(X), condition(X))


LAWS = (
    Law(closed_form, "thesis, eq. (2.4); survey, (OGD)", exponent=1, shape="wide"),
    Law(earlier_predictions_are_unchanged, "thesis, Lemma 1", exponent=1, shape="wide"),
)

"""Laws of the ideal continual learner (ICL)."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights, learn_in_parts, measure_min_norm
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def min_norm_interpolation(create: Any, rows: Rows) -> Measured:
    """The weights are the smallest that fit all rows."""
    return measure_min_norm(create(), rows)


def basis_spans_the_rows(create: Any, rows: Rows) -> Measured:
    """U U' is the projection onto the span of all rows, so that I - U U' is the projection of eq. (5)."""
    U = np.asarray(create().partial_fit(rows.X, rows.y).array("basis"), float).T
    want = np.linalg.pinv(rows.X) @ rows.X
    return Measured(deviation(U @ U.T, want), len(rows.X), condition(rows.X))


def constrained_least_squares_step(create: Any, rows: Rows) -> Measured:
    """Each step is the smallest change that minimizes the new row's squared error and keeps earlier rows fitted."""
    X, y, _ = rows
    learner, w, worst = create(), np.zeros((X.shape[1], 1)), 0.0
    for t in range(len(X)):
        N = np.linalg.svd(X[:t])[2][t:].T if t else np.eye(X.shape[1])  # null space of the earlier rows
        want = w + N @ np.linalg.lstsq(X[t : t + 1] @ N, y[t : t + 1, None] - X[t : t + 1] @ w, rcond=None)[0]
        w = final_weights(learner.partial_fit(X[t : t + 1], y[t : t + 1]))
        worst = nan_max(worst, deviation(w, want))
    return Measured(worst, len(X), condition(X))


def merge_is_exact(create: Any, rows: Rows) -> Measured:
    """Learners of parts of the rows merge into the smallest weights that fit all rows, and their projection."""
    state = learn_in_parts(create, rows.X, rows.y, cuts=(7, 12)).state()
    U, inverse = state["basis"].values.astype(float), np.linalg.pinv(rows.X)
    found = nan_max(deviation(U.T @ U, inverse @ rows.X), deviation(state["w"].values[:, 0], inverse @ rows.y))
    return Measured(found, len(rows.X), condition(rows.X))


LAWS = (
    Law(min_norm_interpolation, "survey, Theorem 5", exponent=1, shape="wide"),
    Law(constrained_least_squares_step, "survey, Proposition 1", exponent=1, shape="wide"),
    Law(basis_spans_the_rows, "survey, Remark 1 with eq. (5) and (7)", exponent=1, shape="wide"),
    Law(merge_is_exact, "survey, Theorem 5 with eq. (5)", exponent=1, shape="wide"),
)

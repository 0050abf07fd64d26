"""Laws of class RLS."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws import weights
from orfit_bench.catalogue.laws.covariance import warns_on_precision_loss
from orfit_bench.catalogue.laws.helpers import condition, final_weights, measure_merge, weakest_energy
from orfit_bench.catalogue.shared.least_squares import invert_information, weighted_rows
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def make_labels(y: Array) -> tuple[Array, Array]:
    """Labels (n,) by quartile of y, with only two of the four classes in the first third, and their one-hot rows."""
    labels = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)
    labels[: len(y) // 3] %= 2
    classes = list(dict.fromkeys(labels.tolist()))  # in order of first appearance
    return labels, (labels[:, None] == classes).astype(float)


def ridge_on_one_hot_targets(create: Any, rows: Rows) -> Measured:
    """The weights solve the weighted ridge problem on one-hot targets, zero before a class appears."""
    X, prior = rows.X, weakest_energy(rows.X)
    labels, Y = make_labels(rows.y)
    worst, cond = 0.0, condition(X)
    for ff in (0.97, 1.0, 1.02):
        learner = create(ridge=prior, forgetting_factor=ff).partial_fit(X, labels)
        A, B = weighted_rows(X, Y, prior, ff)
        worst = nan_max(worst, deviation(final_weights(learner), np.linalg.lstsq(A, B, rcond=None)[0]))
        cond = max(cond, condition(A))
    return Measured(worst, len(X), cond)


def p_is_inverse_information(create: Any, rows: Rows) -> Measured:
    """P is the inverse of the weighted information matrix, regardless of the labels."""
    X, prior = rows.X, weakest_energy(rows.X)
    P = create(ridge=prior, forgetting_factor=0.97).partial_fit(X, make_labels(rows.y)[0]).array("P")
    A, _ = weighted_rows(X, X, prior, 0.97)
    return Measured(deviation(P, invert_information(A)), len(X), max(condition(A), condition(X)))


def blocks_equal_ridge_regression(create: Any, rows: Rows) -> Measured:
    """Blocks of any size, including blocks with new classes, give the same solution as single rows."""
    X, prior, d = rows.X, weakest_energy(rows.X), rows.X.shape[1]
    labels, Y = make_labels(rows.y)
    learner = create(ridge=prior)
    for lo, hi in ((0, 1), (1, 4 * d), (4 * d, len(X) // 3 + 2), (len(X) // 3 + 2, len(X))):
        learner.step(X[lo:hi], labels[lo:hi])
    A, B = weighted_rows(X, Y, prior, 1.0)
    want = np.linalg.lstsq(A, B, rcond=None)[0]
    return Measured(deviation(final_weights(learner), want), len(X), max(condition(A), condition(X)))


def merge_is_exact(create: Any, rows: Rows) -> Measured:
    """Learners of parts of the rows, with parts of the classes, merge into the weights and P of all rows."""
    return measure_merge(create, rows.X, *make_labels(rows.y))


LAWS = (
    Law(ridge_on_one_hot_targets, "survey, (D-RLS)", exponent=2),
    Law(p_is_inverse_information, "survey, eq. (10) and (12)", exponent=2),
    Law(warns_on_precision_loss, "docs/decisions/0004, on survey, eq. (12)", exponent=0, shape="own"),
    Law(blocks_equal_ridge_regression, "least-squares notes, block update", exponent=2),
    Law(merge_is_exact, "survey, eq. (10) with (D-RLS)", exponent=2),
    *weights.OF_LABELS,
)

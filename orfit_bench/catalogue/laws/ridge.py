"""Laws of ridge regression in information form."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws import uncertainty, weights
from orfit_bench.catalogue.laws.complex_numbers import complex_least_squares
from orfit_bench.catalogue.laws.helpers import condition, final_weights, is_refused, learn_in_parts, weakest_energy
from orfit_bench.catalogue.shared.least_squares import weighted_rows
from orfit_bench.errors import AccuracyWarning
from orfit_bench.spec.law import Law, Measured, Rows, deviation, measure_claim, nan_max
from orfit_bench.spec.state import Array

FACTORS = (0.97, 1.0, 1.02)
UNCERTAIN = 0.1
"""Relative distance from the limit within which rounding can decide whether it is exceeded."""


def _batch_weights(X: Array, y: Array, prior: float, ff: float) -> tuple[Array, float]:
    """The solution of the weighted problem by an orthogonal factorization, and the condition number of its rows."""
    A, b = weighted_rows(X, y[:, None], prior, ff)
    return np.linalg.lstsq(A, b, rcond=None)[0], condition(A)


def equals_ridge_regression(create: Any, rows: Rows) -> Measured:
    """The weights minimize the weighted squared errors with the prior, for forgetting factors below, at and above 1."""
    X, y, _ = rows
    prior, worst, cond = weakest_energy(X), 0.0, condition(X)
    for ff in FACTORS:
        want, number = _batch_weights(X, y, prior, ff)
        learner = create(ridge=prior, forgetting_factor=ff).partial_fit(X, y)
        worst, cond = nan_max(worst, deviation(final_weights(learner), want)), max(cond, number)
    return Measured(worst, len(X), cond)


def information_is_weighted_sum(create: Any, rows: Rows) -> Measured:
    """The information is the weighted sum of x x' and the prior, divided by ff^t for forgetting factors above 1."""
    X, y, _ = rows
    worst = 0.0
    for ff in FACTORS:
        A, _ = weighted_rows(X, y[:, None], 2.0, ff)  # its rows are divided by the largest weight too
        state = create(ridge=2.0, forgetting_factor=ff).partial_fit(X, y).state()
        worst = nan_max(worst, deviation(state["information"].values, np.tril(A.T @ A)))
    return Measured(worst, len(X), 1.0)


def blocks_equal_ridge_regression(create: Any, rows: Rows) -> Measured:
    """A block of any length forgets once: all its rows have the same weight."""
    X, y, _ = rows
    prior, ff, cuts = weakest_energy(X), 0.9, (0, 1, 3, len(X) // 2, len(X))
    learner, weights = create(ridge=prior, forgetting_factor=ff), np.empty(len(X))
    for step, (lo, hi) in enumerate(pairwise(cuts), start=1):
        learner.step(X[lo:hi], y[lo:hi])
        weights[lo:hi] = ff ** (len(cuts) - 1 - step)
    root = np.sqrt(weights)
    A = np.vstack([root[:, None] * X, np.sqrt(ff ** (len(cuts) - 1) * prior) * np.eye(X.shape[1])])
    want = np.linalg.lstsq(A, np.append(root * y, np.zeros(X.shape[1]))[:, None], rcond=None)[0]
    return Measured(deviation(final_weights(learner), want), len(X), condition(A))


def starts_from_prior(create: Any, rows: Rows) -> Measured:
    """The prior draws the weights towards the initial weights of the learner."""
    X, y, _ = rows
    prior, w0 = weakest_energy(X), np.arange(1.0, X.shape[1] + 1)
    want, cond = _batch_weights(X, y - X @ w0, prior, 1.0)
    learner = create(ridge=prior, initial_weights=w0).partial_fit(X, y)
    return Measured(deviation(final_weights(learner), want + w0[:, None]), len(X), cond)


def least_norm_without_prior(create: Any, rows: Rows) -> Measured:
    """Without a prior, the weights are the smallest that fit the rows, if there are fewer rows than features."""
    X, y, _ = rows
    learner = create(ridge=0.0).partial_fit(X, y)
    return Measured(deviation(final_weights(learner)[:, 0], np.linalg.pinv(X) @ y), len(X), condition(X))


def merge_is_exact(create: Any, rows: Rows) -> Measured:
    """Learners of parts of the rows merge into the weights of all rows, with the prior counted once."""
    X, y, _ = rows
    prior, worst, cond = weakest_energy(X), 0.0, condition(X)
    for ff in FACTORS:
        want, number = _batch_weights(X, y, prior, ff)
        merged = learn_in_parts(partial(create, ridge=prior, forgetting_factor=ff), X, y, cuts=(5, len(X) // 2))
        worst, cond = nan_max(worst, deviation(final_weights(merged), want)), max(cond, number)
    return Measured(worst, len(X), cond)


def warns_once_half_of_the_digits_are_lost(create: Any, rows: Rows) -> Measured:
    """Only the first prediction warns, exactly if a column is within eps^(1/4) of the span of the others."""
    wrong, limit = 0, float(np.finfo(create().dtype).eps) ** 0.5
    for k in range(1, 21):
        sine = 2.0**-k
        share = sine**2 / (1 + sine**2)  # the share of the second column that the first one leaves
        learner = create(ridge=0.0).partial_fit([[1.0, 1.0], [0.0, sine]], [1.0, -1.0])
        wrong += abs(share / limit - 1) > UNCERTAIN and _count_warnings(learner) != (share < limit)
    return measure_claim(wrong, rows)


def underflowing_information_is_warned_of(create: Any, rows: Rows) -> Measured:
    """Without a prior, squares of rows that lose half or all of their digits by underflow give a warning."""
    wrong, limits = 0, np.finfo(create().dtype)
    for square, warns in ((limits.tiny / limits.eps, False), (limits.tiny * limits.eps**0.7, True), (0.0, True)):
        size = float(np.sqrt(square)) or float(limits.tiny)
        learner = create(ridge=0.0).partial_fit(size * np.eye(2), [1.0, -1.0])
        wrong += _count_warnings(learner) != warns
    return measure_claim(wrong, rows)


def overflowing_information_is_refused(create: Any, rows: Rows) -> Measured:
    """A row that makes the information or the moment overflow is refused, in calls of any size and in a step."""
    wrong, n = 0, 4
    for ff in (0.99, 1.0):
        for size in (1, 2, n):
            learner = create(forgetting_factor=ff)
            X = np.eye(2)[[0] * n] * float(np.sqrt(0.4 * np.finfo(learner.dtype).max))  # two fit, a third overflows
            refused = [is_refused(learner.partial_fit, X[i : i + size], np.zeros(size)) for i in range(0, n, size)]
            wrong += not any(refused) or not np.isfinite(learner.array("information")).all()
        learner = create(forgetting_factor=ff).partial_fit(X[:2], np.zeros(2))
        wrong += not is_refused(learner.step, X[2:], np.zeros(2))
        large = float(np.finfo(learner.dtype).max)  # a target, which the rows below add to the moment unchanged
        for size in (1, 2):
            learner = create(forgetting_factor=ff).partial_fit(np.eye(2), [0.8 * large, 0.0])
            wrong += not is_refused(learner.step, np.eye(2)[:size], np.full(size, 0.8 * large))
            wrong += not is_refused(learner.partial_fit, np.eye(2)[:size], np.full(size, 0.8 * large))
            wrong += not np.isfinite(learner.array("moment")).all()
    return measure_claim(wrong, rows)


def _count_warnings(learner: Any) -> int:
    """The number of warnings of three predictions, with a row between them."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(2):
            learner.predict([[1.0, 0.0]])
        learner.partial_fit([[0.0, 0.0]], [0.0]).predict([[1.0, 0.0]])
    return sum(issubclass(one.category, AccuracyWarning) for one in given)


LAWS = (
    Law(equals_ridge_regression, "thesis, eq. (2.2); slides, Recursive LS; survey, Proposition 2", exponent=2),
    Law(information_is_weighted_sum, "survey, eq. (10)", exponent=0),
    Law(blocks_equal_ridge_regression, "least-squares notes, block update", exponent=2),
    Law(starts_from_prior, "thesis, eq. (2.2)", exponent=2),
    Law(least_norm_without_prior, "thesis, Proposition 2", exponent=2, shape="wide"),
    Law(merge_is_exact, "survey, eq. (10)", exponent=2),
    Law(warns_once_half_of_the_digits_are_lost, "docs/decisions/0046", exponent=0, shape="own"),
    Law(underflowing_information_is_warned_of, "docs/decisions/0046", exponent=0, shape="own"),
    Law(overflowing_information_is_refused, "survey, eq. (10), in floating point", exponent=0, shape="own"),
    *uncertainty.OF_REGRESSION,
    *weights.OF_SUMS,
    Law(complex_least_squares, "docs/decisions/0053, on thesis, eq. (2.2)", exponent=2, numbers="complex"),
)

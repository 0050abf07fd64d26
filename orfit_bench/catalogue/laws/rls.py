"""Laws of RLS."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws import information_roots, uncertainty, weights, wind_up
from orfit_bench.catalogue.laws.complex_numbers import complex_least_squares
from orfit_bench.catalogue.laws.covariance import warns_on_precision_loss
from orfit_bench.catalogue.laws.first_rows import FIRST_ROWS
from orfit_bench.catalogue.laws.helpers import (
    condition,
    final_weights,
    is_refused,
    learn_in_parts,
    measure_merge,
    measure_min_norm,
    weakest_energy,
)
from orfit_bench.catalogue.shared.least_squares import invert_information, weighted_rows
from orfit_bench.spec.law import Law, Measured, Rows, deviation, measure_claim, nan_max


def equals_ridge_regression(create: Any, rows: Rows) -> Measured:
    """The weights minimize the weighted squared errors with the prior, for forgetting factors below, at and above 1."""
    X, y, _ = rows
    prior = weakest_energy(X)
    worst, cond = 0.0, condition(X)
    for ff in (0.97, 1.0, 1.02):
        learner = create(ridge=prior, forgetting_factor=ff).partial_fit(X, y)
        A, b = weighted_rows(X, y[:, None], prior, ff)
        worst = nan_max(worst, deviation(final_weights(learner), np.linalg.lstsq(A, b, rcond=None)[0]))
        cond = max(cond, condition(A))
    return Measured(worst, len(X), cond)


def p_is_inverse_information(create: Any, rows: Rows) -> Measured:
    """P is the inverse of the weighted information matrix, for forgetting factors below and above 1."""
    X, y, _ = rows
    prior, worst, cond = weakest_energy(X), 0.0, condition(X)
    for ff, n in ((0.97, len(X)), (2.0, 3)):
        P = create(ridge=prior, forgetting_factor=ff).partial_fit(X[:n], y[:n]).array("P")
        A, _ = weighted_rows(X[:n], y[:n, None], prior, ff)
        want = invert_information(A) / max(1, ff**n)  # the rows of A are scaled by the largest weight
        worst, cond = nan_max(worst, deviation(P, want)), max(cond, condition(A))
    return Measured(worst, len(X), cond)


def blocks_equal_least_squares(create: Any, rows: Rows) -> Measured:
    """Without a prior, blocks of any size after a first block of full rank give the full least-squares solution."""
    X, y, _ = rows
    d = X.shape[1]
    learner = create(ridge=0.0)
    for lo, hi in ((0, 4 * d), (4 * d, 4 * d + 1), (4 * d + 1, 6 * d), (6 * d, len(X))):
        learner.step(X[lo:hi], y[lo:hi])
    want = np.linalg.lstsq(X, y[:, None], rcond=None)[0]
    return Measured(deviation(final_weights(learner), want), len(X), condition(X[: 4 * d]))


def overflowing_first_block_is_refused(create: Any, rows: Rows) -> Measured:
    """Without a prior, a first block is refused exactly when its weights or its P overflow."""
    A, wrong = np.eye(3), 0
    bits = np.finfo(create(ridge=0.0).step(A, np.zeros(3)).array("P").dtype).maxexp
    for share, answer in ((-0.3, 0.5), (-0.45, -0.45), (-0.55, -0.55), (-0.3, 0.75), (-0.55, 0.75)):
        x, y = int(share * bits), int(answer * bits)
        overflows = y - x >= bits or -2 * x >= bits
        wrong += is_refused(create(ridge=0.0).step, np.ldexp(A, x), np.ldexp(np.ones(3), y)) != overflows
    return measure_claim(wrong, rows)


def overflowing_weights_are_refused(create: Any, rows: Rows) -> Measured:
    """A step whose weights would overflow because rows are small is refused, for one row and two, in either form."""
    wrong, axes = 0, np.eye(3)[:2] * 2.0**-10
    for form in ("covariance", "square_root"):
        for ff in (0.9, 1.0):
            learner = create(form=form, ridge=2.0**-14, forgetting_factor=ff).partial_fit(np.eye(3)[2:], [1.0])
            y = np.full(2, float(np.finfo(learner.dtype).max) / 2)
            before = learner.to_bytes()
            wrong += not is_refused(learner.partial_fit, axes[:1], y[:1])
            wrong += not is_refused(learner.step, axes, y)
            wrong += learner.to_bytes() != before
            slowly = create(form=form, ridge=1.0, forgetting_factor=ff)  # w_n is 1.8 y n / (4 + n) for ff = 1
            wrong += not is_refused(slowly.partial_fit, np.eye(3)[[0] * 12] / 2, np.full(12, 1.8 * y[0]))
            wrong += not np.isfinite(slowly.array("w")).all()
    return measure_claim(wrong, rows)


def min_norm_interpolation(create: Any, rows: Rows) -> Measured:
    """With forgetting factor 0 the weights are the smallest that fit all rows."""
    return measure_min_norm(create(forgetting_factor=0.0), rows)


def merge_is_exact(create: Any, rows: Rows) -> Measured:
    """Learners of parts of the rows merge into the weights and P of all rows, with the prior counted once."""
    return measure_merge(create, rows.X, rows.y, rows.y[:, None])


def constraint_merge_is_exact(create: Any, rows: Rows) -> Measured:
    """With forgetting factor 0, learners of parts of the rows merge into the smallest weights that fit all rows."""
    X, y, _ = rows
    merged = learn_in_parts(partial(create, forgetting_factor=0.0), X, y, cuts=(7, 12))
    return Measured(deviation(final_weights(merged)[:, 0], np.linalg.pinv(X) @ y), len(X), condition(X))


LAWS = (
    Law(
        equals_ridge_regression, "thesis, eq. (2.2) and (2.3); slides, Recursive LS; survey, Proposition 2", exponent=2
    ),
    Law(p_is_inverse_information, "survey, eq. (10) and (12)", exponent=2),
    Law(warns_on_precision_loss, "docs/decisions/0004, on survey, eq. (12)", exponent=0, shape="own"),
    Law(blocks_equal_least_squares, "least-squares notes, block update", exponent=2),
    Law(overflowing_first_block_is_refused, "least-squares notes, block 0", exponent=0, shape="own"),
    Law(overflowing_weights_are_refused, "thesis, eq. (2.3), in floating point", exponent=0, shape="own"),
    Law(min_norm_interpolation, "thesis, Proposition 2; survey, Lemma 1", exponent=1, shape="wide"),
    Law(merge_is_exact, "survey, eq. (10)", exponent=2),
    Law(constraint_merge_is_exact, "thesis, Proposition 2", exponent=1, shape="wide"),
    *FIRST_ROWS,
    *information_roots.LAWS,
    *wind_up.OF_RLS,
    *uncertainty.OF_REGRESSION,
    *weights.OF_SQUARED_ERRORS,
    Law(complex_least_squares, "docs/decisions/0053, on thesis, eq. (2.2) and (2.3)", exponent=2, numbers="complex"),
)

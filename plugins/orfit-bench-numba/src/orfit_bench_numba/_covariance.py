"""Covariance updates shared by rls, class_rls, owm and kalman: the fastest algorithm for rows, and gradient steps.

Shapes: P (p, p) symmetric, w (p, r), J (q, p), E (q, r), R (q, q) the noise of the rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from orfit_bench.kernels.guards import (
    NO_LIMITS,
    Limits,
    factor_covariance,
    keeps_variances_finite,
)
from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._block_rls import learn_block
from orfit_bench_numba._cholesky import solve_lower
from orfit_bench_numba._covariance_row import learn_row
from orfit_bench_numba._sequential_rls import learn_sequentially
from orfit_bench_numba._symmetric import copy_lower_to_upper, downdate

MIN_FEATURES, MIN_ROWS = 400, 16
"""Features and rows from which matrix products are faster than passes over P."""


def learn_rows(
    P: Array,
    w: Array,
    X: Array,
    Y: Array,
    noise: Array,
    degraded: Array,
    out: Array | None,
    limits: Limits = NO_LIMITS,
) -> int:
    """Learn rows with these noises; returns how many were learned.

    Many rows of many features are learned in blocks. If a row of a block might be refused, the block is learned row by
    row.
    """
    predictions = np.empty((0, Y.shape[1]), X.dtype) if out is None else out
    W, ff = np.ascontiguousarray(w.T), limits.ff  # W is w itself if it has one column
    within = max(1, int(math.log(10) / abs(math.log(ff)))) if ff != 1 else len(X)  # rows in which ff loses one digit
    wide = len(P) >= MIN_FEATURES
    size = min(within, 96 if len(P) < 1500 else 256) if wide else len(X)
    V = np.empty((min(size, len(X)) if wide else 0, len(P)), X.dtype)
    done, half = 0, False  # half: only the lower triangle of P is up to date
    with limit_blas_threads(3.0 * len(X) * P.size if wide else 0):
        while done < len(X):
            part = slice(done, done + size)
            rows = X[part], Y[part], noise[part]
            count = learned = len(rows[0])
            if wide and count >= MIN_ROWS and learn_block(P, W, *rows, limits, degraded, predictions[part], V[:count]):
                half = True
            else:
                if half:
                    copy_lower_to_upper(P)
                flag = degraded.reshape(1)
                learned = int(learn_sequentially(P, W, *rows, tuple(limits), min(4, within), flag, predictions[part]))
                half = False
            done += learned
            if learned < count:
                break
    if half:
        copy_lower_to_upper(P)
    w[...] = W.T
    return done


def learn_step(
    P: Array,
    w: Array,
    J: Array,
    E: Array,
    R: Array,
    degraded: Array,
    limits: Limits = NO_LIMITS,
    regained: Array | None = None,
    variances: Array | None = None,
) -> bool:
    """Learn rows J (q, p) with errors E (q, r) and noise R (q, q) as one step; if refused, change nothing.

    regained (q, q) is the covariance that is added along the rows before the next step. Rounding is measured relative
    to variances (p,), which are at least the diagonal of P.
    """
    variances = np.ascontiguousarray(np.diagonal(P) if variances is None else variances)
    if len(J) > 1:
        with limit_blas_threads(3.0 * len(J) * P.size):
            change = compute_change(P, variances, J, R, limits, regained)
            return change is not None and apply_change(P, w, change, change.move(E), degraded, limits)
    W = np.ascontiguousarray(w.T)  # w itself if it has one column
    noise = R[0, 0]
    left = noise if regained is None else noise + regained[0, 0]
    applied = learn_row(P, W, variances, J[0], E[0].copy(), noise, left, tuple(limits), degraded.reshape(1))
    w[...] = W.T
    return bool(applied)


class Change(NamedTuple):
    """A step that replaces P by P - V'V and adds V'(L^-1 E) to w; degraded if half of the digits of P are lost."""

    V: Array
    L: Array
    degraded: bool

    def move(self, E: Array) -> Array:
        """The change V'(L^-1 E) of w."""
        moved: Array = self.V.T @ solve_lower(self.L, E.copy())
        return moved


def compute_change(
    P: Array, variances: Array, J: Array, R: Array, limits: Limits, regained: Array | None = None
) -> Change | None:
    """The step for rows J with noise R: V = L^-1 J P, L L' = S = J P J' + R; None if too few digits would be left."""
    V = J @ P
    S = V @ J.T + R
    factor = factor_covariance(variances, J, S, R, limits, regained)
    return None if factor is None else Change(solve_lower(factor.L, V), *factor)


def apply_change(P: Array, w: Array, change: Change, move: Array, degraded: Array, limits: Limits) -> bool:
    """w <- w + move and P <- (P - V'V) / ff; if a number would be too large, return False and change nothing."""
    moved = w + move
    if not np.isfinite(moved).all() or not keeps_variances_finite(P, change.V, limits):
        return False
    if change.degraded:
        degraded[...] = 1
    w[...] = moved
    downdate(P, change.V, limits.ff)
    return True

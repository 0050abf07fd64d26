"""Covariance updates shared by rls, class_rls, owm and kalman: the fastest way for rows, and steps by gradients.

Shapes: P (p, p) symmetric, w (p, r), J (q, p), E (q, r), R (q, q) the noise of the rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from orfit_bench.kernels.guards import factor_innovation, max_error, max_variance_after, measure_precision, noise_pivots
from orfit_bench_numba._block_rls import learn_block
from orfit_bench_numba._sequential_rls import learn_row, learn_sequentially
from orfit_bench_numba._symmetric import copy_lower_to_upper, downdate
from orfit_bench_numba._threads import limit_blas_threads

Array = NDArray[Any]
MIN_FEATURES, MIN_ROWS = 400, 16
"""Features, and rows, from which products of matrices are faster than passes over P."""


def forgetting_limits(ff: float, dtype: Any) -> dict[str, float]:
    """What rows learned with a forgetting factor keep to: it loses more digits with every row, and may overflow."""
    return {"ff": ff, "least": max_error(ff), "most": float(np.finfo(dtype).max / 4)}


def learn_rows(
    P: Array,
    w: Array,
    X: Array,
    Y: Array,
    noise: Array,
    lost: Array,
    out: Array | None,
    ff: float = 1.0,
    least: float = 1.0,
    most: float = math.inf,
) -> int:
    """Learn rows seen with these noises, after each of which P is divided by ff; returns how many were learned.

    A block that had to be left as it was, since one of its rows might be refused, is learned row by row.
    """
    told = np.empty((0, Y.shape[1]), X.dtype) if out is None else out
    W = np.ascontiguousarray(w.T)  # of one column w itself
    within = max(1, int(math.log(10) / abs(math.log(ff)))) if ff != 1 else len(X)  # rows that lose one digit by ff
    wide = len(P) >= MIN_FEATURES
    size = min(within, 64 if len(P) < 1500 else 256) if wide else len(X)
    room = np.empty((min(size, len(X)) if wide else 0, len(P)), X.dtype)
    done, half = 0, False  # whether P's upper triangle is to be made what the lower one is
    with limit_blas_threads(3.0 * len(X) * P.size if wide else 0):
        while done < len(X):
            part = slice(done, done + size)
            given = P, W, X[part], Y[part], noise[part], ff, least, most
            count = learned = len(given[2])
            if wide and count >= MIN_ROWS and learn_block(*given, lost, told[part], room[:count]):
                half = True
            else:
                if half:
                    copy_lower_to_upper(P)
                learned, half = int(learn_sequentially(*given, min(4, within), lost.reshape(1), told[part])), False
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
    lost: Array,
    ff: float = 1.0,
    least: float = 1.0,
    most: float = math.inf,
    renewed: Any = 0.0,
) -> bool:
    """Learn rows J (q, p) with errors E (q, r) and noise R (q, q) as one step, after which P is divided by ff.

    renewed is what the variances along the rows regain before the next ones. False, and nothing is changed, where too
    few digits would be left (an estimate above `least`), or a number would not be finite, or a P_ii not below `most`.
    """
    if len(J) > 1:
        with limit_blas_threads(3.0 * len(J) * P.size):
            changed = compute_change(P, J, R, least, renewed)
            return changed is not None and apply_change(P, w, changed, changed.move(E), lost, ff, most)
    W = np.ascontiguousarray(w.T)  # of one column w itself
    noise, left = R[0, 0], R[0, 0] + np.max(renewed)
    applied = learn_row(P, W, J[0], E[0].copy(), noise, left, ff, least, most, lost.reshape(1))
    w[...] = W.T
    return bool(applied)


class Change(NamedTuple):
    """What a step does: P becomes P - V'V, and w moves by V'(L^-1 E); lost where half of P's digits are gone."""

    V: Array
    L: Array
    lost: bool

    def move(self, E: Array) -> Array:
        """V'(L^-1 E)."""
        moved: Array = self.V.T @ solve_lower(self.L, E.copy())
        return moved


def compute_change(P: Array, J: Array, R: Array, least: float, renewed: Any = 0.0) -> Change | None:
    """The step by rows J of noise R; None where too few digits would be left."""
    V = J @ P
    S = V @ J.T + R
    r = noise_pivots(R)
    L = factor_innovation(S, r)
    if L is None:
        return None
    precision = measure_precision(P, J, S, L, r + renewed, least)
    return None if precision.exhausted else Change(solve_lower(L, V), L, precision.degraded)


def apply_change(P: Array, w: Array, changed: Change, move: Array, lost: Array, ff: float, most: float) -> bool:
    """w moves, and P <- (P - V'V) / ff; False, and nothing is changed, where a number is too large for that."""
    moved = w + move
    if not np.isfinite(moved).all() or not max_variance_after(P, changed.V, ff) < most:
        return False
    if changed.lost:
        lost[...] = 1
    w[...] = moved
    downdate(P, changed.V, ff)
    return True


def solve_lower(L: Array, B: Array) -> Array:
    """L^-1 B, in B's place."""
    (trsm,) = get_blas_funcs(("trsm",), (B,))
    trsm(1, L.T, B.T, side=1, lower=0, overwrite_b=1)  # what C order holds by rows, BLAS takes by columns
    return B

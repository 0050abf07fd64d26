"""Ridge regression in information form (thesis, eq. 2.2; survey, eq. 10): L = X'WX + prior and m = X'WY, w = L^-1 m.

On the device, a chunk takes one triangle of a product and one full product, and the solution a factorization. For
predictions before each row, every block takes a factorization, and the host waits for it. Chunks in which a number
could overflow, predictions for few features, and blocks whose predictions lose precision are computed in host memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.information import (
    forgetting_weights,
    is_solvable,
    least_eigenvalue,
    least_norm,
    underflow_factor,
    without_overflow,
)
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_cupy._block_ridge import block_size, factor_information, precision, predict_block
from orfit_bench_cupy._block_rls import MIN_FEATURES
from orfit_bench_cupy._fleet_information import learn_information as fleet_learn
from orfit_bench_cupy._libraries import add_products, solve_factored
from orfit_bench_cupy._transfers import Array, fetch, learn_rows_on_host, run_on_host
from orfit_bench_numba import ridge

__all__ = ["CHECKS_ROWS", "fleet_learn", "learn", "solve", "step"]
CHECKS_ROWS = True
"""The bound of all sums also detects non-finite rows; they are passed to the Numba kernel, which refuses them."""


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """L <- ff L + x x',  m <- ff m + x y'."""
    ff, d = p.forgetting_factor, len(s.information)
    if not len(X):
        return 0
    if out is None and ff == 1 and len(X) >= d and add_many_rows(s, X, Y):
        return len(X)
    if (out is not None and d < MIN_FEATURES) or not sums_stay_finite(s, X, Y):
        return int(learn_rows_on_host(ridge.learn, s, X, Y, p, out))
    size = len(X) if out is None else block_size(d, ff)
    for done in range(0, len(X), size):
        rows, t = slice(done, done + size), p.t + done
        if out is None or predict_block(s.information, s.moment, X[rows], Y[rows], ff, t, out[rows]):
            add(s, X[rows], Y[rows], *forgetting_weights(ff, t, len(X[rows])))
            continue
        learned = int(learn_rows_on_host(ridge.learn, s, X[rows], Y[rows], p._replace(t=t), out[rows]))
        if learned < len(X[rows]):
            return done + learned
    return len(X)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """L <- ff L + A'A,  m <- ff m + A'Y; if a number would not be finite, change nothing and return False."""
    if not sums_stay_finite(s, A, Y):
        return bool(run_on_host(s, lambda t, a, y: ridge.step(t, a, y, p), A, Y))
    kept, weights = forgetting_weights(p.forgetting_factor, p.t, 1)
    add(s, A, Y, kept, np.repeat(weights, len(A)))
    return True


def solve(s: State) -> tuple[Array, float]:
    """Solve L w = m; return w and the precision of L (see `orfit_bench.kernels.information`)."""
    L, m = s.information, s.moment
    xp = L.__array_namespace__()
    C, *measured = factor_information(L)
    sizes, *found = fetch(xp.diagonal(L), *measured)
    if not sizes.any():
        return xp.zeros_like(m), 0.0 if m.any() else 1.0  # all squares underflow, or there is no row and no prior
    least = precision(*found) * underflow_factor(sizes)
    if is_solvable(L, least):
        w = without_overflow(lambda m: solve_factored(C, m), m, xp)
        return w, min(least, least_eigenvalue(lambda z: solve_factored(C, z), found[0], sizes, m.dtype, xp))
    L, m = fetch(L, m)
    return xp.asarray(without_overflow(lambda m: least_norm(L, m), m)), least


def add(s: State, X: Array, Y: Array, kept: float, weights: np.ndarray[Any, Any]) -> None:
    """L <- kept L + X'WX,  m <- kept m + X'WY."""
    xp, L, m = X.__array_namespace__(), s.information, s.moment
    if (weights != 1).any():
        root = xp.asarray(np.sqrt(weights).astype(X.dtype))[:, None]
        X, Y = root * X, root * Y
    add_products(L, X, kept)
    m[...] = kept * m + X.T @ Y


def add_many_rows(s: State, X: Array, Y: Array) -> bool:
    """L <- L + X'X,  m <- m + X'Y; if `are_sums_bounded` is False, change nothing and return False.

    X is not checked separately: the increase of the diagonal is the sum of the squares of all entries. The host
    enqueues all work before it waits, so that launches overlap with computations.
    """
    xp, L, m = X.__array_namespace__(), s.information, s.moment
    before = L.copy(), m.copy()
    add_products(L, X, 1.0)
    m[...] = m + X.T @ Y
    diagonal, rounding = xp.diagonal(L), len(X) * float(np.finfo(L.dtype).eps)
    gained = xp.abs(diagonal - xp.diagonal(before[0])).sum() + rounding * diagonal.sum()
    if are_sums_bounded(*before, gained, Y):
        return True
    L[...], m[...] = before
    return False


def sum_of_squares(X: Array) -> Array:
    """The sum of the squares of all entries of X (n, d), in one pass over X and without an array of its size."""
    xp = X.__array_namespace__()
    lengths = xp.linalg.norm(X, axis=1)
    return xp.vdot(lengths, lengths)


def sums_stay_finite(s: State, X: Array, Y: Array) -> bool:
    """The result of `are_sums_bounded` for the rows X (n, d)."""
    return are_sums_bounded(s.information, s.moment, sum_of_squares(X), Y)


def are_sums_bounded(L: Array, m: Array, energy: Array, Y: Array) -> bool:
    """Whether no sum can come near overflow if rows with this sum of squares are added, in any order.

    energy is a number on the device. Also False if one of the rows or of Y is not finite. The host waits once.
    """
    xp = L.__array_namespace__()
    parts = xp.diagonal(L).max(), xp.abs(m).max(), energy, xp.vdot(Y, Y)
    diagonal, moment, rows, targets = (float(a) for a in fetch(*parts))
    largest = max(diagonal + rows, moment + (rows * targets) ** 0.5)
    return largest < np.finfo(L.dtype).max / 4 and rows + targets < np.inf

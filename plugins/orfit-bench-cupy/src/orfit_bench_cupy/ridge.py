"""Ridge regression in information form (thesis, eq. 2.2; survey, eq. 9): L = X'WX + prior and m = X'WY, w = L^-1 m.

A chunk takes two matrix products on the device, and the solution a factorization there. Predictions before each row
are computed in host memory, as are chunks in which a number may overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.information import forgetting_weights, is_solvable, least_norm
from orfit_bench_cupy._fleet_information import learn_information as fleet_learn
from orfit_bench_cupy._transfers import Array, fetch, run_on_host
from orfit_bench_numba import ridge

__all__ = ["fleet_learn", "learn", "solve", "step"]


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """L <- ff L + x x',  m <- ff m + x y'."""
    if out is None and is_bounded(s, X, Y):
        add(s, X, Y, *forgetting_weights(p.forgetting_factor, p.t, len(X)))
        return len(X)
    predictions = None if out is None else np.empty(out.shape, out.dtype)
    learned = int(run_on_host(s, lambda t, x, y: ridge.learn(t, x, y, p, predictions), X, Y))
    if out is not None:
        out[...] = out.__array_namespace__().asarray(predictions)
    return learned


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """L <- ff L + A'A,  m <- ff m + A'Y; False, and nothing is changed, where a number would not be finite."""
    if not is_bounded(s, A, Y):
        return bool(run_on_host(s, lambda t, a, y: ridge.step(t, a, y, p), A, Y))
    kept, weights = forgetting_weights(p.forgetting_factor, p.t, 1)
    add(s, A, Y, kept, np.repeat(weights, len(A)))
    return True


def solve(s: Any) -> tuple[Array, float]:
    """The w with L w = m, and the smallest squared Cholesky pivot relative to the diagonal of L."""
    L, m = s.information, s.moment
    xp = L.__array_namespace__()
    diagonal = xp.diagonal(L)
    pivots, sizes = fetch(xp.diagonal(xp.linalg.cholesky(L)), diagonal)  # reads the lower triangle
    if not sizes.any():
        return xp.zeros_like(m), 1.0  # no row, and no prior
    precision = float((pivots**2 / sizes).min()) if np.isfinite(pivots).all() else 0.0
    if is_solvable(L, precision):
        return xp.ascontiguousarray(xp.linalg.solve(L + L.T - xp.diag(diagonal), m)), precision
    return xp.asarray(least_norm(*fetch(L, m))), precision


def add(s: Any, X: Array, Y: Array, kept: float, weights: np.ndarray[Any, Any]) -> None:
    """L <- kept L + X'WX,  m <- kept m + X'WY."""
    xp, L, m = X.__array_namespace__(), s.information, s.moment
    if (weights != 1).any():
        root = xp.asarray(np.sqrt(weights).astype(X.dtype))[:, None]
        X, Y = root * X, root * Y
    L[...] = kept * L + xp.tril(X.T @ X)
    m[...] = kept * m + X.T @ Y


def is_bounded(s: Any, X: Array, Y: Array) -> bool:
    """Whether no sum comes near overflow, in whatever order the rows are added; the host waits once."""
    xp = X.__array_namespace__()
    parts = xp.diagonal(s.information).max(), xp.abs(s.moment).max(), (X * X).sum(), (Y * Y).sum()
    diagonal, moment, energy, targets = (float(a) for a in fetch(*parts))
    largest = max(diagonal + energy, moment + (energy * targets) ** 0.5)
    return largest < np.finfo(X.dtype).max / 4 and energy + targets < np.inf

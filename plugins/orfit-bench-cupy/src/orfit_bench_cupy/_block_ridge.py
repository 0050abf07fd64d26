"""Predictions of ridge regression for every row of a block just before it is learned, on the device.

The equations are those of `orfit_bench_numba._block_ridge`: with L = C C', A = V^(1/2) X C^-T and I + A A' = T T', the
errors e of the predictions before each row solve T diag(T)^-1 V^(1/2) e = V^(1/2) (Y - X w), and the predictions are
X w + V^(-1/2) N z. Here X w is computed from V^(1/2) X w = A C^-1 m, so that one triangular solve of [V^(1/2) X; m']
is sufficient.
"""

from __future__ import annotations

import math

import numpy as np

from orfit_bench.kernels.information import MAX_VARIANCE, is_solvable
from orfit_bench_cupy._libraries import solve_lower
from orfit_bench_cupy._transfers import Array, fetch

MOST_ROWS = 512
RANGE = math.log(1e3)
"""Logarithm of the ratio of weights within a block."""


def block_size(d: int, ff: float) -> int:
    """The rows of a block, so that its factorization (d^3 / 3 flops) costs at most its products; fewer if ff != 1."""
    rows = min(max(d // 2, 32), MOST_ROWS)
    return rows if ff == 1 else max(1, min(rows, int(RANGE / abs(math.log(ff)))))


def factor_information(L: Array) -> tuple[Array, Array, Array]:
    """The lower triangular C with C C' = L, and the arguments of `precision`, two arrays (d,) for its pivots and rows.

    If the factorization fails, C is undefined, and CuPy does not report it. The rows of C then do not have the lengths
    required by L, or a pivot is too small.
    """
    xp = L.__array_namespace__()
    C, diagonal = xp.linalg.cholesky(L), xp.diagonal(L)  # reads the lower triangle
    size = xp.where(diagonal > 0, diagonal, 1)
    return C, xp.diagonal(C) ** 2 / size, xp.abs((C * C).sum(axis=1) - diagonal) / size


def precision(pivots: np.ndarray, differences: np.ndarray) -> float:
    """The smallest squared pivot relative to the diagonal of L; 0 if the factorization failed."""
    bound = 10 * len(pivots) * float(np.finfo(pivots.dtype).eps)
    return float(pivots.min()) if np.isfinite(pivots).all() and (differences <= bound).all() else 0.0


def predict_block(L: Array, m: Array, X: Array, Y: Array, ff: float, t: int, out: Array) -> bool:
    """Write the predictions of the rows to `out`; False if their products lose precision. The host waits once."""
    xp, b = L.__array_namespace__(), len(X)
    steps = np.arange(b) + (1 if ff <= 1 else t)
    weights = (ff ** (-steps / 2.0)).astype(X.dtype)
    if not weights.all():
        return False
    root = xp.asarray(weights)[:, None]
    C, pivots, differences = factor_information(L)
    solved = solve_lower(C, xp.concatenate([root * X, m.T]))
    A, f = solved[:b], solved[:b] @ solved[b:].T
    K = A @ A.T
    energies = xp.diagonal(K)
    T = xp.linalg.cholesky(K + xp.eye(b, dtype=X.dtype))  # no eigenvalue is below 1, so it does not fail
    z = solve_lower(T, xp.ascontiguousarray((root * Y - f).T)).T
    found = (f + xp.tril(T, -1) @ z) / root
    pivots, differences, energies = fetch(pivots, differences, energies)
    if not is_solvable(L, precision(pivots, differences)):
        return False
    if b > 1 and not energies.max() < MAX_VARIANCE[np.dtype(X.dtype).char]:  # NaN too
        return False
    out[...] = found
    return True

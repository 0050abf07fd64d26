"""Weights and equations of least squares in information form: L w = m with L = X'WX and m = X'WY.

Shapes: L (p, p) symmetric, of which the lower triangle is read, m (p, r).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs, get_lapack_funcs

Array = NDArray[Any]
SURELY_ENOUGH = 0.01
"""A precision above this is not estimated more closely."""
MAX_VARIANCE = {"f": np.finfo(np.float32).eps ** (-2 / 3), "d": np.finfo(np.float64).eps ** (-1 / 2)}
"""Largest x'L^-1 x, by dtype, of a row in a block predicted by products, which round by eps times as much.

Half of the digits are left, in single precision a third, since few blocks would pass a stricter limit.
"""


def forgetting_weights(ff: float, t: int, steps: int) -> tuple[float, Array]:
    """The factor of L and m during steps t, t + 1, ..., and the weights (steps,) of the rows of each.

    For ff above 1 everything is divided by ff^t, so that no sum overflows.
    """
    if ff == 1:
        return 1.0, np.ones(steps)
    if ff < 1:
        return ff**steps, ff ** np.arange(steps - 1.0, -1.0, -1.0)
    return 1.0, ff ** -np.arange(t, t + steps, dtype=float)


def weights_of_rows(ff: Array, t: Array, starts: Array) -> Array:
    """The weight (n,) of each row of a fleet: 1, or ff^-t in step t for a forgetting factor ff above 1.

    ff and t (m,) are the factors of the members and their first steps; their rows are starts[j] to starts[j + 1].
    """
    if not (ff > 1).any():
        return np.broadcast_to(1.0, starts[-1])
    of = np.repeat(np.arange(len(ff)), np.diff(starts))
    steps = (t - starts[:-1])[of] + np.arange(len(of), dtype=float)
    return np.where(ff[of] > 1, ff[of] ** -steps, 1.0)


def add_products(L: Array, X: Array, factor: float) -> None:
    """L <- factor L + X^H X in place for rows X (n, p), the lower triangle only: p^2 flops a row."""
    _syrk(L.dtype.char)(1, X.T, beta=factor, c=L.T, lower=0, overwrite_c=1)  # BLAS reads the rows of C order as columns


def solve_normal_equations(L: Array, m: Array) -> tuple[Array, float]:
    """The w (p, r) with L w = m, and the precision of L; if too little is left, the `least_norm` solution."""
    diagonal = np.diagonal(L).real
    if not diagonal.any():
        return np.zeros_like(m), 0.0 if m.any() else 1.0  # all squares underflow; no row, and no prior
    C, precision = factor_information(L)
    if not is_solvable(L, precision):
        return without_overflow(lambda m: least_norm(L, m), m), precision
    w = without_overflow(lambda m: solve_factored(C, m), m)
    pivots = np.diagonal(C).real ** 2 / diagonal
    return w, min(precision, least_eigenvalue(lambda z: solve_factored(C, z), pivots, diagonal, m.dtype))


def least_eigenvalue(solve: Callable[[Any], Any], pivots: Array, diagonal: Array, dtype: Any, xp: Any = np) -> float:
    """Estimate the smallest eigenvalue of L scaled to a unit diagonal, with these squared pivots.

    The eigenvalue may be orders of magnitude smaller than the pivots: those of Kahan's matrix hide its condition. It is
    at least 1/e times the product of the pivots: the determinant divided by the largest product that the other
    eigenvalues can have, since their mean is about 1. If this bound is small, two steps of inverse iteration estimate
    the eigenvalue from above; solve(z) returns L^-1 z for z (p, 1) of the namespace xp. Returns 0 if a number
    overflows.
    """
    bound = float(np.prod(pivots)) / math.e
    if bound > SURELY_ENOUGH:
        return bound
    root, growth = xp.asarray(np.sqrt(diagonal))[:, None], 1.0
    z = xp.asarray(start_of_iteration(len(diagonal)).astype(dtype))[:, None]
    for _ in range(2):
        z = root * solve(root * (z / growth))
        growth = float(xp.linalg.norm(z[:, 0], axis=0))
    return 1 / growth if math.isfinite(growth) else 0.0


@lru_cache(maxsize=16)
def start_of_iteration(p: int) -> Array:
    """A fixed vector (p,) in a random direction."""
    return np.random.default_rng(p).standard_normal(p)


def without_overflow(solve: Callable[[Any], Any], m: Any, xp: Any = np) -> Any:
    """Solve equations that are linear in m (p, r); if a column overflows, solve for a smaller m and scale back.

    xp is the namespace of m.
    """
    w = solve(m)
    finite = xp.all(xp.isfinite(w), axis=0)
    if bool(xp.all(finite)):
        return w
    size = 2.0 ** -(np.finfo(m.dtype).maxexp // 2)
    with np.errstate(over="ignore", invalid="ignore"):  # the solution itself may be too large
        return xp.where(finite, w, solve(size * m) / size)


@cache
def _syrk(dtype: str) -> Any:
    """The function of BLAS for a dtype, cached since scipy takes longer to find it than to use it for a few rows."""
    return get_blas_funcs("herk" if dtype in "FD" else "syrk", dtype=np.dtype(dtype))


def sums_stay_finite(L: Array, m: Array, energy: float, Y: Array) -> bool:
    """Whether no sum comes near overflow for rows of this total energy, in whatever order they are added."""
    largest = L.diagonal().real.max() + energy, np.abs(m).max() + math.sqrt(energy * float(np.vdot(Y, Y).real))
    return all(bool(size < np.finfo(L.dtype).max / 4) for size in largest)  # infinite or NaN if a product overflows


def add_many_rows(L: Array, m: Array, X: Array, Y: Array) -> bool:
    """L <- L + X^H X,  m <- m + X^H Y; False, and no change, if a number in X is not finite or too large.

    X is not checked first: what the diagonal has gained is, up to rounding, the energy of the rows. For many rows,
    copies of L and m cost less than a check of X.
    """
    old = L.copy(), m.copy()
    add_products(L, X, 1)
    m += X.conj().T @ Y
    before, after = (float(a.diagonal().real.sum()) for a in (old[0], L))
    rounding = len(X) * float(np.finfo(L.dtype).eps) * after  # which may be more than what was gained
    if sums_stay_finite(*old, abs(after - before) + rounding, Y):
        return True
    L[...], m[...] = old
    return False


def factor_information(L: Array) -> tuple[Array, float]:
    """The C with C C' = L, and the precision: its smallest squared pivot relative to the diagonal of L.

    The precision is smaller if L itself has lost digits. The upper triangle of C is not set to zero. A precision of 0
    means that the factorization failed.
    """
    (potrf,) = get_lapack_funcs(("potrf",), (L,))
    C, failed = potrf(L.T, lower=0, clean=0)
    diagonal = np.diagonal(L).real
    return C.T, 0.0 if failed else float((np.diagonal(C).real ** 2 / diagonal).min()) * underflow_factor(diagonal)


def underflow_factor(diagonal: Array) -> float:
    """The share of the precision of L that underflow leaves: below 1 if its diagonal has subnormal numbers."""
    return min(1.0, float(diagonal.min()) / float(np.finfo(diagonal.dtype).tiny))


def is_solvable(L: Array, precision: float) -> bool:
    """Whether L is not singular to rounding."""
    return bool(precision > len(L) * np.finfo(L.dtype).eps)


def solve_factored(C: Array, m: Array) -> Array:
    """The w (p, r) with C C' w = m."""
    (potrs,) = get_lapack_funcs(("potrs",), (C,))
    w: Array = np.ascontiguousarray(potrs(C.T, m.conj(), lower=0)[0].conj())  # C.T is a factor of conj(L)
    return w


def least_norm(L: Array, m: Array) -> Array:
    """The smallest w (p, r) with L w = m in the directions in which L, scaled to a unit diagonal, is not rounding."""
    scale = np.sqrt(np.diagonal(L).real)
    unit = 1 / np.where(scale > 0, scale, 1)
    values, V = np.linalg.eigh(unit[:, None] * L * unit)  # of the lower triangle
    known, V = values > len(L) * np.finfo(L.dtype).eps * values[-1], unit[:, None] * V
    w: Array = V[:, known] @ ((V[:, known].conj().T @ m) / values[known, None])
    free = np.linalg.qr(V[:, ~known])[0]  # along these directions L w does not change
    w -= free @ (free.conj().T @ w)
    return w

"""The normal equations of many learners, solved together: as `information.solve_normal_equations`, with a leading axis.

Shapes: L (n, p, p) Hermitian, of which the lower triangles are read, m (n, p, r).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.kernels.information import SURELY_ENOUGH, solve_normal_equations, start_of_iteration

Array = NDArray[Any]
BLOCK = 2**17
"""Entries of the matrices L that are solved together, so that they stay in the cache."""
SMALL = 32
"""Largest p for which equations are solved together; LAPACK solves larger ones faster, one by one."""
FEWEST = 64
"""Smallest number of equations that are solved together."""


def solve_members(L: Array, m: Array) -> tuple[Array, Array]:
    """The w (n, p, r) with L w = m, and the precision (n,) of each L.

    Equations that are nearly singular, or whose numbers overflow, are solved one by one.
    """
    p, w, precision = L.shape[1], np.empty_like(m), np.empty(len(m))
    is_solved = np.zeros(len(m), bool)
    if p <= SMALL and len(m) >= FEWEST:
        size = BLOCK // max(1, p**2)
        for block in (slice(first, first + size) for first in range(0, len(m), size)):
            w[block], precision[block], is_solved[block] = _solve_block(L[block], m[block])
    for i in np.flatnonzero(~is_solved).tolist():
        w[i], precision[i] = solve_normal_equations(L[i], m[i])
    return w, precision


def _solve_block(L: Array, m: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """w, the precision, and which equations are solved."""
    C = _factor(L)
    diagonal, p = np.diagonal(L, axis1=1, axis2=2).real, L.shape[1]
    pivots = np.diagonal(C, axis1=1, axis2=2).real ** 2 / diagonal
    underflow = np.minimum(1, diagonal.min(axis=1) / np.finfo(diagonal.dtype).tiny)
    precision = pivots.min(axis=1) * underflow
    w = _solve_factored(C, m)
    is_solved = (precision > p * np.finfo(L.dtype).eps) & np.isfinite(w).all(axis=(1, 2))
    return w, np.minimum(precision, _least_eigenvalues(C, pivots, diagonal)), is_solved


def _factor(L: Array) -> Array:
    """The lower triangular C (n, p, p) with C C^H = L; with NaN if the factorization fails."""
    C = np.tril(L)
    for j in range(L.shape[1]):
        C[:, j:, j] -= (C[:, j:, :j] @ C[:, j, :j, None].conj())[:, :, 0]
        C[:, j:, j] /= np.sqrt(C[:, j, j].real)[:, None]
    return C


def _solve_factored(C: Array, m: Array) -> Array:
    """The w (n, p, r) with C C^H w = m for lower triangular C (n, p, p)."""
    w, p = m.copy(), m.shape[1]
    for i in range(p):
        w[:, i] -= (C[:, i, None, :i] @ w[:, :i])[:, 0]
        w[:, i] /= C[:, i, i, None]
    C = C.conj()
    for i in reversed(range(p)):
        w[:, i] -= (C[:, None, i + 1 :, i] @ w[:, i + 1 :])[:, 0]
        w[:, i] /= C[:, i, i, None]
    return w


def _least_eigenvalues(C: Array, pivots: Array, diagonal: Array) -> Array:
    """`information.least_eigenvalue` of each matrix (n,)."""
    found: Array = pivots.prod(axis=1) / math.e
    near = np.flatnonzero(found <= SURELY_ENOUGH)
    C, root = C[near], np.sqrt(diagonal[near])[:, :, None]
    z, growth = start_of_iteration(C.shape[1]).astype(C.dtype)[None, :, None], np.ones((1, 1, 1))
    for _ in range(2):
        z = root * _solve_factored(C, root * (z / growth))
        growth = np.linalg.norm(z, axis=1, keepdims=True)
    found[near] = np.where(np.isfinite(growth), 1 / growth, 0)[:, 0, 0]
    return found

"""A basis and a block of rows by the products of them all: two passes over both, where `_directions` takes five.

With G the products of the rows of [U; X] and G = L L', the rows of F [U; X], F = L^-1, are orthonormal: the basis, to
rounding again, and what X adds to it. L[n:] are X's coordinates along them, and what is made of them is a combination
of U and X, so that they are never formed. Squares lose digits: this is for rows that are far from what is spanned
before them. A row costs (n + k)^2 p / k flops; allocated: arrays of (n + k, n + k).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

from orfit_bench_numba._directions import AMPLE, Array

STRIP = 2048
"""Columns that are taken at once, so that U's and X's are in a cache for all their products."""


def jointly(U: Array, X: Array) -> tuple[Array, Array] | None:
    """F and X's coordinates, of the first rows of X; None where not even half of X may be taken so."""
    n, a = len(U), U @ X[0]
    near, energy = a @ a, X[0] @ X[0]
    if 4 * (n + len(X)) > X.shape[1] or not (energy - near) * AMPLE > energy + near:  # as one row, so mostly the next
        return None
    G = products(U, X)
    potrf, trtri = get_lapack_funcs(("potrf", "trtri"), (G,))
    L, failed = potrf(G, lower=1)
    good = failed - 1 if failed else len(G)
    F = trtri(L[:good, :good], lower=1)[0]
    far = np.square(F) @ np.diagonal(G)[:good] <= AMPLE
    good = good if far.all() else int(np.argmin(far))
    return (F[:good, :good], np.ascontiguousarray(L[n:good, :good])) if 2 * (good - n) > len(X) else None


def products(U: Array, X: Array) -> Array:
    """Of all rows of [U; X] with each other: those below the diagonal."""
    n, k = len(U), len(X)
    G = np.zeros((n + k, n + k), X.dtype)
    for j in range(0, X.shape[1], STRIP):
        u, x = U[:, j : j + STRIP], X[:, j : j + STRIP]
        G[:n, :n] += u @ u.T
        G[n:, :n] += x @ u.T
        G[n:, n:] += x @ x.T
    return G


def rotate(new: Array, A: Array, U: Array, B: Array, Q: Array) -> None:
    """new <- A U + B Q, where new and U may lie in the same place: strips, so that there is never a second U."""
    room = np.empty((2, len(A), STRIP), U.dtype)
    for j in range(0, U.shape[1], STRIP):
        u, q = U[:, j : j + STRIP], Q[:, j : j + STRIP]
        old, more = room[:, :, : u.shape[1]]
        np.matmul(A, u, out=old)
        np.matmul(B, q, out=more)
        np.add(old, more, out=new[:, j : j + STRIP])

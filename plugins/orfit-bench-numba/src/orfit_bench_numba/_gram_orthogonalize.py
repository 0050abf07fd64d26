"""Orthogonalize a basis and a block of rows by the Cholesky factor of their Gram matrix.

This takes two passes over the numbers, where `_block_gram_schmidt` takes five. With G = [U; X][U; X]' = L L' and F =
L^-1 the rows of F [U; X] are orthonormal: the basis, orthonormal to rounding again, followed by the new directions.
The rows of L[n:] are the coordinates of X. All results are combinations of U and X, so the orthonormal rows are never
formed.

The Gram matrix squares the condition number, so this is used only for rows far from the span of those before them.
A row costs (n + k)^2 p / k flops. Allocated: arrays of shape (n + k, n + k) and (n + k, 512).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_lapack_funcs

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._block_gram_schmidt import MAX_GROWTH
from orfit_bench_numba._strip_products import multiply_all


def orthogonalize(U: Array, X: Array) -> tuple[Array, Array] | None:
    """F and the coordinates of the first rows of X; None if that is possible for at most half of X."""
    n, a = len(U), U @ X[0]
    near, energy = a @ a, X[0] @ X[0]
    if (
        4 * (n + len(X)) > X.shape[1] or not (energy - near) * MAX_GROWTH > energy + near
    ):  # if the first row is close to U, so are mostly the next
        return None
    G = multiply_all(U, X)
    potrf, trtri = get_lapack_funcs(("potrf", "trtri"), (G,))
    L, failed = potrf(G, lower=1)
    good = failed - 1 if failed else len(G)
    F = trtri(L[:good, :good], lower=1)[0]
    far = np.square(F) @ np.diagonal(G)[:good] <= MAX_GROWTH
    good = good if far.all() else int(np.argmin(far))
    return (F[:good, :good], np.ascontiguousarray(L[n:good, :good])) if 2 * (good - n) > len(X) else None

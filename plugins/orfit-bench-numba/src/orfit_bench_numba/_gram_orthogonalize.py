"""Orthogonalize a basis and a block of rows by the Cholesky factor of their Gram matrix.

This takes two passes over the numbers; `_block_gram_schmidt` takes five. With G = [U; X][U; X]' = L L' and F = L^-1 the
rows of F [U; X] are orthonormal: the basis, again orthonormal to rounding, followed by the new directions. The rows of
L[n:] are the coordinates of X. All results are combinations of U and X, so the orthonormal rows are never formed. The
weights w are part of the product, which thus also contains the predictions and the squared norms of the rows.

The Gram matrix squares the condition number, so this is used only for rows far from the span of those before them.
A row costs (n + k + c)^2 p / k flops. Allocated: arrays of shape (n + k + c, n + k + c) and (n + k + c, 512).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from orfit_bench.kernels.guards import moderate_size
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._block_gram_schmidt import MAX_GROWTH
from orfit_bench_numba._strip_products import multiply_all


class GramBlock(NamedTuple):
    """The first k rows X of a block, as H F [U; X] with F [U; X] orthonormal."""

    F: Array  # (n + k, n + k), lower triangular
    H: Array  # (k, n + k)
    lengths: Array  # (n + k,), of the rows of [U; X]
    predictions: Array  # (k, c) of the rows of w


def orthogonalize(U: Array, X: Array, Y: Array, w: Array) -> GramBlock | None:
    """Orthogonalize the first rows of X, with targets Y (k, c) and weights w (p, c); None if at most half are possible.

    Blocks with numbers that are not moderate, see `count_safe_rows`, or not finite are left to other functions.
    """
    n, k, edge = len(U), len(X), moderate_size(X.dtype)
    near, energy = np.sum(np.square(U @ X[0])), X[0] @ X[0]
    # if the first row is close to U, most of the next rows are too
    if 4 * (n + k) > X.shape[1] or not (energy - near) * MAX_GROWTH > energy + near:
        return None
    G = multiply_all(U, X, np.ascontiguousarray(w.T))
    squares, products = np.diagonal(G)[: n + k], G[n + k :, n : n + k].T
    if not ((squares[n:] >= edge**-2) & (squares[n:] < edge**2)).all() or not np.abs(Y).max() <= edge:
        return None
    potrf, trtri = get_lapack_funcs(("potrf", "trtri"), (G,))
    L, failed = potrf(G[: n + k, : n + k], lower=1)
    good = failed - 1 if failed else n + k
    F = trtri(L[:good, :good], lower=1)[0]
    far = np.square(F) @ squares[:good] <= MAX_GROWTH
    good = good if far.all() else int(np.argmin(far))
    if not 2 * (good - n) > k:
        return None
    H = np.ascontiguousarray(L[n:good, :good])
    return GramBlock(F[:good, :good], H, np.sqrt(squares[:good]), products[: good - n])

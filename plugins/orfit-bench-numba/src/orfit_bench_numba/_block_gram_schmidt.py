"""Block Gram-Schmidt: the directions that a block of rows adds to an orthonormal basis, by matrix products.

X (k, p) = C U + L Q, with U (n, p) the basis, Q (k, p) new orthonormal rows and L (k, k) lower triangular. One round
computes V = X - (X U')U, the Cholesky factor L of V V', and Q = L^-1 V. It leaves an error of about eps |x| / |v| along
U, and of eps times the squared condition of V between the rows of Q. A second round, after which the error is eps,
follows if this error is too large. The error along U is estimated from one random combination of the rows of Q, at a
small fraction of the cost of a round.

A row costs (4 n + 2 k) p flops in one round, twice as many in two. Allocated: a copy of the block, and arrays of shape
(k, n) and (k, k).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs

from orfit_bench.kernels.guards import moderate_size
from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline

BLOCK = 64
"""Rows of a block; with more, matrix products gain little and the work between rows grows."""
SIGNS = np.random.default_rng(0).choice([-1.0, 1.0], BLOCK)
MAX_GROWTH = 16.0
"""Largest squared norm of a row of L^-1, for rows of V of norm 1, for which one round is enough."""


class Block(NamedTuple):
    """X = size (C U + L Q) for the first k rows X of a block. A row without a new direction has zeros in Q."""

    Q: Array  # (k, p)
    C: Array  # (k, n)
    L: Array  # (k, k)
    size: float  # 1; max |x| for a block of one row


def orthogonalize_block(U: Array, X: Array, low: float, high: float, separate: bool = False) -> Block:
    """Orthogonalize the first rows of X, at least one, as long as they are not nearly dependent.

    If the residual of a row is at most `low` times its norm, the row adds no direction; up to `high` times, it is a
    separate block. The numbers must be moderate, see `count_safe_rows`. separate: orthogonalize only against U, not
    against each other; then size L is the lower triangle of X Q'.
    """
    V, size = X[:BLOCK].copy(), 1.0
    if len(V) == 1:  # of any size, so its squares must not overflow or underflow
        size = float(np.abs(V).max()) or 1.0
        V /= size
    length, eps = np.sqrt(np.vecdot(V, V)), float(np.finfo(V.dtype).eps)
    Q, C, L, spread = _orthogonalize_once(U, V, low * length, high * length, separate, 0.01 / math.sqrt(eps))
    if spread > MAX_GROWTH or _estimate_overlap(U, Q) > eps * math.sqrt(len(U)):
        half = np.full(len(Q), 0.5, V.dtype)  # anything shorter was only rounding
        Q, more, again, _ = _orthogonalize_once(U, Q, half, half, separate, math.inf)
        if not separate:
            C, L = C + L @ more, L @ again
    return Block(Q, C, L, size)


def new_directions(U: Array, J: Array) -> tuple[Array, Array]:
    """Factor J' - U'U J' = Q'R: Q (a, p) orthonormal and orthogonal to U, R (a, q), for a independent rows of J.

    A row that is zero or not finite adds no direction.
    """
    cut, done, rows = math.sqrt(np.finfo(J.dtype).eps), 0, BLOCK
    size = np.abs(J).max(axis=1, keepdims=True)
    G = np.divide(J, size, out=np.zeros_like(J), where=(size > 0) & (size < np.inf))  # whose squares are finite
    Q = J[:0]
    with limit_blas_threads(8.0 * len(U) * J.size):
        while done < len(G):
            block = orthogonalize_block(np.concatenate([U, Q]) if done else U, G[done : done + rows], cut, cut)
            Q = np.concatenate([Q, block.Q[block.Q.any(axis=1)]])
            done, rows = done + len(block.Q), min(BLOCK, 2 * len(block.Q))
    return Q, Q @ J.T


def _orthogonalize_once(
    U: Array, V: Array, low: Array, high: Array, separate: bool, most: float
) -> tuple[Array, Array, Array, float]:
    """Q (k, p), in the memory of V, C (k, n), L (k, k), and the largest squared norm of a row of L^-1."""
    gemm, trmm = get_blas_funcs(("gemm", "trmm"), (V,))
    C = V @ U.T
    if len(U):
        gemm(-1, U.T, C.T, beta=1, c=V.T, overwrite_c=1)  # a C-order array is its transpose for BLAS
    K = V @ V.T
    L, T = np.zeros_like(K), np.zeros_like(K)
    k, spread = factor_gram(L, T, K, low, high, separate, most)
    Q, L, T = V[:k], L[:k, :k], T[:k, :k]
    trmm(1, T.T, Q.T, side=1, overwrite_b=1)
    return Q, C[:k], L, spread


def _estimate_overlap(U: Array, Q: Array) -> float:
    """Estimate the norm of Q U' from a random combination of rows; one in twelve is below a tenth of the norm."""
    return float(np.linalg.norm(U @ (SIGNS[: len(Q)].astype(Q.dtype) @ Q)))


def learn_in_blocks(learn: Callable[[slice], int], X: Array, kept: int, most: int = BLOCK) -> int:
    """Learn X with a function that learns one or more of the first rows of a slice; returns how many were learned.

    kept is the size of the basis, most the number of rows of a slice. For a slice of one row, the function decides
    whether the row can be learned. For several rows it can return 0 to postpone this decision. If its first result is
    negative, it is returned immediately.
    """
    done, rows = 0, most
    with limit_blas_threads(8.0 * kept * X.size):
        while done < len(X):
            learned = learn(slice(done, min(done + rows, len(X))))
            if learned < 0:
                return learned
            if not learned and rows == 1:
                return done
            done += learned
            rows = min(most, 2 * learned) or 1  # after a short block another one is likely
    return done


def count_safe_rows(X: Array, Y: Array) -> int:
    """The number of first rows, at least one, that can form a block: those before the first with extreme numbers.

    The norm of a row must be between 1 / `moderate_size` and `moderate_size`, and its targets at most as large.
    """
    edge = moderate_size(X.dtype)
    return int(count_moderate_rows(X, Y, edge, 1 / edge)) or 1


@compiled("R R f f")
def count_moderate_rows(X: Array, Y: Array, most: float, least: float) -> Any:
    """Call `count_moderate` from Python."""
    return count_moderate(X, Y, most, least)


@inline
def count_moderate(X: Array, Y: Array, most: Scalar, least: Scalar) -> Any:
    """The number of rows before the first whose norm or target is too large, or whose norm is too small."""
    for i in range(len(X)):
        square = np.dot(X[i], X[i])
        if not square < most * most or (square < least * least and np.any(X[i])):
            return i
        for c in range(Y.shape[1]):
            if abs(Y[i, c]) > most:
                return i
    return len(X)


@compiled("W W R r r b f")
def factor_gram(L: Array, T: Array, K: Array, low: Array, high: Array, separate: bool, most: float) -> Any:
    """Factor K = L L' and compute T = L^-1, row by row, up to a row that nearly depends on the rows before it.

    Returns the number of rows, and the largest squared norm of a row of T, for rows of V of norm 1.
    """
    spread = K.dtype.type(0)
    for i in range(len(K)):
        rest = K[i, i]
        for j in range(i):
            if L[j, j] > 0:
                part = K[i, j]
                if not separate:
                    for m in range(j):
                        part -= L[i, m] * L[j, m]
                L[i, j] = part / L[j, j]
                if not separate:
                    rest -= L[i, j] * L[i, j]
        alone = low[i] * low[i] < K[i, i] <= high[i] * high[i]
        if i > 0 and (alone or rest * most < K[i, i]):
            return i, spread
        if rest <= low[i] * low[i]:
            continue
        diagonal = math.sqrt(rest)
        combined = K[i, i] / rest
        if not separate:
            for j in range(i):
                part = K.dtype.type(0)
                for m in range(j, i):
                    part -= L[i, m] * T[m, j]
                T[i, j] = part / diagonal
                combined += T[i, j] * T[i, j] * K[j, j]
        if combined > most:
            return i, spread
        L[i, i], T[i, i], spread = diagonal, 1 / diagonal, max(spread, combined)
        if alone:
            return i + 1, spread
    return len(K), spread

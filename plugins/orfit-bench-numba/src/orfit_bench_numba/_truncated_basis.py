"""ORFit with a limited memory: m directions, which all change with every row.

A block X = C U + L Q (see `_gram_orthogonalize`, and `_block_gram_schmidt` for rows too close to each other to be
squared) is learned in the orthonormal coordinates of the rows of U and Q. There the block is [C L], the memory starts
as T = I, and the change of the weights as Z = 0; each row works on n + k numbers instead of p. At the end
U <- T'[U; Q] and w <- w + [U; Q]'Z.

For the cost of a row in coordinates see `_coordinate_rows`. Outside, in addition to its direction, a row costs 2 c p
for its prediction and 2 m (m + k) p / k for the memory, in matrix products. Which part dominates depends on p.
Allocated: Q, strips of [U; Q] and of U, and the coordinates.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from orfit_bench.kernels.guards import is_bounded, is_finite
from orfit_bench.kernels.linalg import ORTHONORMALIZATION_PERIOD
from orfit_bench.spec.kernel_arguments import State
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._block_gram_schmidt import count_safe_rows, orthogonalize_block
from orfit_bench_numba._cholesky import solve_lower
from orfit_bench_numba._coordinate_rows import LATEST, RANDOM, find_limits, learn_coordinates
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._gram_orthogonalize import orthogonalize
from orfit_bench_numba._strip_products import combine


def learn_block(
    s: State, X: Array, Y: Array, out: Array, m: int, summary: int, drawn: Array, t: int, checked: bool
) -> int:
    """Learn the first rows of X; returns how many. Only a block of one row decides whether that row can be learned.

    m is the limit of the memory, drawn the position of the direction that each row drops if summary is RANDOM, and t
    the number of earlier steps. Returns NOT_FINITE if a number of X or Y is not finite, unless they are `checked`.
    """
    n = int(s.count[0])
    U = s.basis[:n]
    found = find_coordinates(U, X, Y, s.w, out, checked)
    if found is None:
        return NOT_FINITE
    Q, H, scale, F, lengths, alone = found
    k, c = len(Q), Y.shape[1]
    most, predictions = min(m, n + k), out[:k]
    T, sigma, Z = np.eye(n + k, most + 1, dtype=X.dtype), np.zeros(most + 1, X.dtype), np.zeros((n + k, c), X.dtype)
    T[n:], sigma[:n] = 0, s.singular_values[:n]
    size = np.abs(H).max(axis=1)
    H /= np.where(size > 0, size, 1)[:, None]
    vectors = np.empty((5, max(n + k, most + 1, c)), X.dtype)
    buffers = np.zeros_like(T), np.zeros((most + 1, most + 1), X.dtype), vectors
    largest = max(s.w.max(), -s.w.min())
    reach = -math.inf if alone else largest
    errors = np.zeros(most + 1, X.dtype)
    has_errors = summary in (LATEST, RANDOM)
    if has_errors:
        errors[:n] = s.direction_errors[:n]
    memory, rows = (T, sigma, Z, errors), (H, scale * size, Y, drawn)
    learned, count, changes, lost = learn_coordinates(
        predictions, memory, rows, buffers, find_limits(X.dtype), n, summary, reach
    )
    if not changes:
        return int(learned)
    A, W = np.concatenate([T[:, :count].T, Z.T]), np.ascontiguousarray(s.w.T)
    A = A if F is None else A @ F
    bound = largest + (np.abs(A[count:]) @ lengths).max()  # of the weights after the block
    # one of several rows can be so small that F'Z overflows although the step of this row does not
    finite = bound < float(np.finfo(X.dtype).max) / 2 or (alone and is_finite(s.w + U.T @ Z[:n] + Q.T @ Z[n:]))
    if not finite or (alone and not is_bounded(X[:1])):
        return 0
    combine(s.basis[:count], W, np.ascontiguousarray(A), U, Q)
    s.w[...], s.singular_values[:count], s.count[0] = W.T, sigma[:count], count
    if has_errors:
        s.direction_errors[:count] = errors[:count]
        if lost:
            s.precision_lost[...] = 1
    if F is None and t // ORTHONORMALIZATION_PERIOD < (t + int(learned)) // ORTHONORMALIZATION_PERIOD:
        reorthonormalize(s.basis[:count])
    return int(learned)


class Coordinates(NamedTuple):
    """The first k rows of a block as scale H B, where B with orthonormal rows is [U; Q] or, with F, F [U; Q]."""

    Q: Array  # (k, p): new directions, or the rows themselves
    H: Array  # (k, n + k)
    scale: float
    F: Array | None  # (n + k, n + k)
    lengths: Array  # (n + k,), of the rows of [U; Q]
    alone: bool
    """Whether the block is a single row, which decides whether it can be learned."""


def find_coordinates(U: Array, X: Array, Y: Array, w: Array, out: Array, checked: bool) -> Coordinates | None:
    """The coordinates of the first rows of X, whose predictions by the weights w are written to out.

    None if a number of X or Y is not finite, unless they are `checked`.
    """
    if len(X) > 1 and (block := orthogonalize(U, X, Y, w)):  # only for finite rows
        out[: len(block.H)] = block.predictions
        return Coordinates(X[: len(block.H)], block.H, 1.0, block.F, block.lengths, alone=False)
    if not checked and not (is_finite(X) and is_finite(Y)):
        return None
    X, eps = X[: count_safe_rows(X, Y)], float(np.finfo(X.dtype).eps)
    Q, C, L, scale = orthogonalize_block(U, X, 8 * eps * math.sqrt(len(U)), math.sqrt(eps))
    np.dot(X[: len(Q)], w, out=out[: len(Q)])
    H, lengths = np.concatenate([C, L], axis=1), np.ones(len(U) + len(Q), X.dtype)
    return Coordinates(Q, H, scale, None, lengths, len(X) == 1)


def reorthonormalize(U: Array) -> None:
    """Make the rows of U orthonormal to rounding again, by the Cholesky factor of U U', which is close to I."""
    solve_lower(np.linalg.cholesky(U @ U.T), U)

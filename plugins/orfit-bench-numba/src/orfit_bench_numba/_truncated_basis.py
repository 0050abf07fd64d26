"""ORFit with a limited memory: m directions, all of which change with every row.

A block X = C U + L Q (see `_gram_orthogonalize`, and `_block_gram_schmidt` for rows too close to each other to be
squared) is learned in the orthonormal coordinates of the rows of U and Q. There the block is [C L], the memory starts
as T = I, and the change of the weights as Z = 0; each row works on n + k numbers instead of p. At the end
U <- T'[U; Q] and w <- w + [U; Q]'Z.

In coordinates a row costs 8 m (n + k) flops, with `ipca` also 2 m^2 (n + k) and the decomposition of
`_arrowhead_svd`. Outside, besides its direction, it costs 2 c p for its prediction and 2 m (m + k) p / k for the
memory, in matrix products. Which of the two dominates depends on p. Allocated: Q, strips of [U; Q] and of U, and the
coordinates.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.linalg import RENEWAL_PERIOD
from orfit_bench_numba._arrays import Array, Indices, Scalar
from orfit_bench_numba._arrowhead_svd import decompose
from orfit_bench_numba._block_gram_schmidt import count_safe_rows, orthogonalize_block
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._gram_orthogonalize import orthogonalize
from orfit_bench_numba._strip_products import combine

IPCA, LARGEST, LATEST, RANDOM = range(4)
SUMMARIES = {"ipca": IPCA, "largest": LARGEST, "latest": LATEST, "random": RANDOM}


def learn_block(
    s: Any, X: Array, Y: Array, out: Array, m: int, summary: int, drawn: Array, t: int, checked: bool
) -> int:
    """Learn the first rows of X; returns how many. Only a block of one row decides whether that row may be learned.

    m is the limit of the memory, drawn the position of the direction that each row drops if summary is RANDOM, and t
    the number of steps before. NOT_FINITE if a number of X or Y is not finite, unless they are `checked`.
    """
    n = int(s.count[0])
    U = s.basis[:n]
    found = find_coordinates(U, X, Y, s.w, out, checked)
    if found is None:
        return NOT_FINITE
    Q, H, scale, F, lengths, alone = found
    k, c, eps = len(Q), Y.shape[1], float(np.finfo(X.dtype).eps)
    most, predictions = min(m, n + k), out[:k]
    T, sigma, Z = np.eye(n + k, most + 1, dtype=X.dtype), np.zeros(most + 1, X.dtype), np.zeros((n + k, c), X.dtype)
    T[n:], sigma[:n] = 0, s.singular_values[:n]
    size = np.abs(H).max(axis=1)
    H /= np.where(size > 0, size, 1)[:, None]
    vectors = np.empty((5, max(n + k, most + 1, c)), X.dtype)
    buffers = np.zeros_like(T), np.zeros((most + 1, most + 1), X.dtype), vectors
    largest = max(s.w.max(), -s.w.min())
    reach = -math.inf if alone else largest
    memory, rows = (T, sigma, Z), (H, scale * size, Y, drawn)
    learned, count, changes = learn_coordinates(predictions, memory, rows, buffers, n, summary, reach, math.sqrt(eps))
    if not changes:
        return int(learned)
    A, W = np.concatenate([T[:, :count].T, Z.T]), np.ascontiguousarray(s.w.T)
    A = A if F is None else A @ F
    bound = largest + (np.abs(A[count:]) @ lengths).max()  # of the weights after the block
    # one of several rows may be so small that F'Z overflows although its own step does not
    finite = bound < float(np.finfo(X.dtype).max) / 2 or (alone and is_finite(s.w + U.T @ Z[:n] + Q.T @ Z[n:]))
    if not finite or (alone and not has_bounded_products(X[:1])):
        return 0
    combine(s.basis[:count], W, np.ascontiguousarray(A), U, Q)
    s.w[...], s.singular_values[:count], s.count[0] = W.T, sigma[:count], count
    if F is None and t // RENEWAL_PERIOD < (t + int(learned)) // RENEWAL_PERIOD:
        reorthonormalize(s.basis[:count])
    return int(learned)


class Coordinates(NamedTuple):
    """The first k rows of a block as scale H B, where B is [U; Q] or, with F, F [U; Q], and has orthonormal rows."""

    Q: Array  # (k, p): new directions, or the rows themselves
    H: Array  # (k, n + k)
    scale: float
    F: Array | None  # (n + k, n + k)
    lengths: Array  # (n + k,), of the rows of [U; Q]
    alone: bool
    """Whether the block is a single row, which decides whether it may be learned."""


def find_coordinates(U: Array, X: Array, Y: Array, w: Array, out: Array, checked: bool) -> Coordinates | None:
    """The coordinates of the first rows of X, whose predictions by the weights w are written to out.

    None if a number of X or Y is not finite, unless they are `checked`.
    """
    if len(X) > 1 and (block := orthogonalize(U, X, Y, w)):  # only of rows that are finite
        out[: len(block.H)] = block.predictions
        return Coordinates(X[: len(block.H)], block.H, 1.0, block.F, block.lengths, alone=False)
    if not checked and not (is_finite(X) and is_finite(Y)):
        return None
    X, eps = X[: count_safe_rows(X, Y)], float(np.finfo(X.dtype).eps)
    Q, C, L, scale = orthogonalize_block(U, X, 8 * eps * math.sqrt(len(U)), math.sqrt(eps))
    np.dot(X[: len(Q)], w, out=out[: len(Q)])
    H, lengths = np.concatenate([C, L], axis=1), np.ones(len(U) + len(Q), X.dtype)
    return Coordinates(Q, H, scale, None, lengths, len(X) == 1)


def has_bounded_products(J: Array) -> bool:
    """Whether the product of any unit vector with a row of J (q, p) is finite: it is at most sqrt(p) max |J|."""
    return math.isfinite(np.abs(J).max(initial=0) * math.sqrt(J.shape[1]))


def reorthonormalize(U: Array) -> None:
    """Make the rows of U orthonormal to rounding again, by the Cholesky factor of U U', which is near I."""
    trsm = get_blas_funcs("trsm", (U,))
    trsm(1, np.linalg.cholesky(U @ U.T).T, U.T, side=1, overwrite_b=1)


class Memory(NamedTuple):
    """In coordinates: a column of T and a value for each direction, one more than are kept; the change Z of w."""

    T: Array  # (n + k, m + 1)
    sigma: Array  # (m + 1,)
    Z: Array  # (n + k, c)


class Rows(NamedTuple):
    """The rows in coordinates, size H, their targets, and the directions drawn for them."""

    H: Array  # (k, n + k)
    size: Array
    Y: Array
    drawn: Array


@compiled("W (W w W) (R r R r) (W W W) i i f f")
def learn_coordinates(
    out: Array,
    memory: Memory,
    rows: Rows,
    buffers: tuple[Array, Array, Array],
    n: int,
    summary: int,
    reach: Scalar,
    cut: Scalar,
) -> Any:
    """Learn row after row; returns the number of rows learned, of directions kept, and of rows that changed them.

    out holds the predictions of the weights before the block. reach bounds the weights: a row is refused before it is
    infinite. A row whose residual is at most `cut` of it changes nothing.
    """
    T, sigma, Z = memory
    H, size, Y, drawn = rows
    new, W, room = buffers
    (n_coordinates, width), c = T.shape, Z.shape[1]
    order, work, V = np.empty(width, np.int64), np.empty((width + 2, width)), np.empty((width, width))
    a, e, (d, z, values) = room[0, :width], room[1], np.empty((3, width))
    old, count, changes, learned = T, n, 0, len(H)
    for i in range(len(H)):
        u = n + i + 1
        x, r, span = room[2, :u], room[3, :u], room[4, :u]
        for j in range(u):
            x[j] = H[i, j]
        for q in range(c if i > 0 else 0):
            move = size[i] * 0
            for j in range(u):
                move += x[j] * Z[j, q]
            out[i, q] += size[i] * move
        project_off(r, x, old[:u], count, a, span)
        for q in range(count):  # [U Sigma, x] in coordinates of [U, r]: diag(sigma) and the column U'x
            d[q], z[q] = sigma[q], size[i] * a[q]
        project_off(r, r, old[:u], count, a, span)
        length = math.sqrt(np.dot(r, r))
        if not length > cut * math.sqrt(np.dot(x, x)):
            continue
        for j in range(u):
            r[j] /= length
            old[j, count] = r[j]
        d[count], z[count] = 0, size[i] * np.dot(r, x)
        for q in range(c):  # (x'r)^-1 e (eq. 3.10)
            e[q] = (Y[i, q] - out[i, q]) / z[count]
            reach += abs(e[q])
        if not (reach < np.inf and z[count] < np.inf):
            learned = i
            break
        kept = min(count + 1, width - 1)
        if summary == IPCA:
            turn = V.reshape(-1)[: (count + 1) ** 2].reshape((count + 1, count + 1))
            decompose(d[: count + 1], z[: count + 1], turn, values, work, order)
            if not sigma.dtype.type(values[0]) < np.inf:
                learned = i
                break
            for q in range(count + 1):
                for j in range(count + 1):
                    W[q, j] = turn[q, j]
            d, values = values, d
            np.dot(old[:u], W.T, new[:u])
        else:
            d[count] = z[count]
            choose_directions(order, d, count + 1, kept, summary, drawn[i])
            for q in range(kept):
                z[q] = d[order[q]]
                for j in range(u):
                    new[j, q] = old[j, order[q]]
            d, z = z, d
        for q in range(kept):
            sigma[q] = d[q]
        for j in range(u):
            for q in range(c):
                Z[j, q] += r[j] * e[q]
        old, new = new, old
        count, changes = kept, changes + 1
    if changes % 2:  # old is the work space, and new is T
        for j in range(n_coordinates):
            for q in range(width):
                new[j, q] = old[j, q]
    return learned, count, changes


@inline
def project_off(r: Array, x: Array, T: Array, count: int, a: Array, span: Array) -> None:
    """r <- x - T a, a = T'x, for the first `count` columns of T."""
    np.dot(x, T, a)
    for q in range(count, len(a)):
        a[q] = 0
    np.dot(T, a, span)
    for j in range(len(x)):
        r[j] = x[j] - span[j]


@inline
def choose_directions(order: Indices, values: Array, n: int, kept: int, summary: int, drawn: Scalar) -> None:
    """order <- the directions to keep of n, the new one last: the largest, the latest, or all but the one drawn."""
    if summary == LARGEST:
        sort_descending(order, values, n)
        return
    dropped = 0 if summary == LATEST else int(drawn)
    for q in range(kept):
        order[q] = q + 1 if kept < n and q >= dropped else q


@inline
def sort_descending(order: Indices, values: Array, n: int) -> None:
    """order <- the positions of the n values in descending order, stable; few are out of order."""
    for i in range(n):
        j = i
        while j > 0 and values[order[j - 1]] < values[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i

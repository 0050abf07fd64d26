"""Incremental PCA (R. Arora et al. 2012, as named in the Krasulina paper).

A block of q rows is projected off the basis by two matrix products. The new direction of each row is stored next to
the basis, and a small matrix describes the new basis in terms of both. The basis is rotated once for all rows of a
block. The small decomposition for a row takes O(k^2), see `_arrowhead_svd`.

Reads X, writes U and Sigma; allocates U' and (k + 2 q) d numbers per call. A row costs 4 d k flops in matrix
products with the basis, 2 d q in two passes over the new directions, limited by bandwidth, 2 d k (k + q) / q to
rotate the basis, and about 2 k^3 to rotate the small matrix. A call with one row rotates the basis immediately; every
DELAY rows the loop learns the row and orthonormalizes the basis. Rows that are too small or too large to be squared,
and steps of several rows, are learned by the rule of the reference.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba import BACKEND
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._arrowhead_svd import decompose
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._orthonormal_row import add_products, subtract_projection
from orfit_bench_numba._precision_guard import copy
from orfit_bench_numba._products import multiply, subtract_rows
from orfit_bench_numba._subspace import RENEWAL_PERIOD, make_bind_sample, make_learn, orthonormalize
from orfit_bench_numpy.incremental_pca import rounding_of, rule, step

__all__ = ["bind_sample", "learn", "step"]

COMPLEX = True
"""Complex rows are learned by the rule of the reference."""

DELAY = 16
"""Number of calls with one row after which the basis is orthonormalized."""


def block_size(k: int) -> int:
    """The number of rows whose new directions are stored before the basis is rotated: the fastest for k components."""
    return min(-(-k // 8) * 8, 16)


def learn_rows(s: State, X: Array, p: Params, i: int) -> int:
    """Learn row by row; regularly orthonormalize the basis, since every rotation adds rounding errors."""
    (d, k), info = s.basis.shape, np.finfo(X.dtype)
    Q = BACKEND.asarray(np.concatenate([s.basis.T, np.zeros((block_size(k), d), X.dtype)]))
    sigma, end = s.singular_values.copy(), i
    limits = rounding_of((d, k + 1), X.dtype), info.tiny / info.eps**2, info.max
    while end < len(X) and (n := learn_until_unsafe(Q, sigma, X[end : end + RENEWAL_PERIOD], *limits)):
        if rank := np.count_nonzero(sigma):
            orthonormalize(Q[:rank], 4 * k)
        end += n
    if end > i:
        s.basis[...], s.singular_values[...] = Q[:k].T, sigma
    return end - i


@compiled("W w R f f f")
def learn_until_unsafe(Q: Array, sigma: Array, X: Array, cut: float, least: float, most: float) -> Any:
    """Learn row by row until the square of a row might overflow or underflow; returns the number of rows.

    U' = S Q, where Q (k + q, d) contains the rows of U' after the last rotation, followed by the new directions;
    S (rank, k + q). Both have orthonormal rows, so the same rule applies to S and the coordinates Q y of the row:
    [U Sigma, y] = [U, u] [[Sigma, U'y], [0, rho]] with rho u = y - U U'y.
    """
    (room, d), k = Q.shape, len(sigma)
    owner = allocate(Q, k)
    (S, T, turn), (turned, R, C, c, t, z, work), (small, kept, new, values, exact), moving = borrowed(owner)
    rank, used, learned, begin = 0, k, len(X), 0
    for j in range(k):
        S[j, j] = 1
        exact[j] = sigma[j]
        rank += sigma[j] > 0
    for i in range(len(X)):
        if i % (room - k) == 0:
            if used > k:
                rotate_basis(Q, S, k, rank, turned)
            used, begin = k, i
            project_block(Q[:k], X[i : i + room - k], R, C)
        r, energy = R[i - begin], np.dot(X[i], X[i])
        size = np.sqrt(energy)
        if energy == 0 and not np.any(X[i]):
            continue
        if not (least < energy and size + sigma[0] < most):
            learned = i
            break
        for j in range(k):
            c[j] = C[i - begin, j]
        rho = project_off(Q[:used], k, r, size, cut, c, work)
        if rho > 0:
            c[used], by = rho, 1 / rho
            for j in range(d):
                Q[used, j] = r[j] * by
            used += 1
        for j in range(room):
            c[j] = c[j] if j < used else 0
            t[j] = c[j]
        rho = project_off(S[: max(rank, 1)], 0, t, size, cut, z, work)
        n = rank
        for j in range(rank):
            kept[j], new[j] = exact[j], z[j]
        if rho > 0:
            kept[n], new[n] = 0, rho
            for j in range(room):
                S[n, j] = t[j] / rho
            n += 1
        V = turn[: n * n].reshape((n, n))
        decompose(kept[:n], new[:n], V, values, small, moving)
        rank = 0
        for j in range(k):
            exact[j] = 0
            if j < n and values[j] > cut * values[0]:
                exact[j] = values[j]
                rank += 1
            sigma[j] = exact[j]
        np.dot(V, S[:n], T[:n])
        S, T = T, S
    rotate_basis(Q, S, k, rank, turned)
    hold(owner)
    return learned


@inline
def allocate(Q: Array, k: int) -> Any:
    """Allocate work space in the precision of Q (k + q, d), and in double precision for the singular values.

    Single precision would lose the contribution of a row to large values.
    """
    (room, d), kind = Q.shape, Q.dtype
    turns = np.zeros((k + 1, room), kind), np.zeros((k + 1, room), kind), np.zeros((k + 1) ** 2, kind)
    block = np.zeros((k, d), kind), np.zeros((room - k, d), kind), np.zeros((room - k, k), kind)
    vectors = np.zeros(room, kind), np.zeros(room, kind), np.zeros(room, kind), np.zeros(room, kind)
    values = np.zeros((k + 3, k + 1)), np.zeros(k + 1), np.zeros(k + 1), np.zeros(k + 1), np.zeros(k)
    return turns, (*block, *vectors), values, np.zeros(k + 1, np.int64)


@inline
def project_block(B: Array, X: Array, R: Array, C: Array) -> None:
    """Compute C <- X B' and R <- X - C B for rows X and orthonormal rows of B."""
    n = len(X)
    np.dot(X, B.T, C[:n])
    np.dot(C[:n], B, R[:n])
    for i in range(n):
        for j in range(X.shape[1]):
            R[i, j] = X[i, j] - R[i, j]


@inline
def project_off(B: Array, done: int, r: Array, size: float, cut: float, c: Array, more: Array) -> Any:
    """Compute c <- B r and r <- r - B'c for orthonormal rows of B, of which the first are done.

    Returns |r|, or 0 if it is only rounding relative to the old norm `size`. more is work space. The projection is
    repeated if the rounding error in r is large relative to r (twice is enough: Kahan).
    """
    rho = size
    c[done:] = 0
    for turn in range(2):
        if turn == 0 or rho + rho < size:
            first = 0 if turn else done
            rows, part = B[first:], more[first : len(B)]
            multiply(rows, r, part)
            for j in range(len(rows)):
                c[first + j] += part[j]
            subtract_rows(r, part, rows)
            rho = np.sqrt(np.dot(r, r))
    return rho if rho > cut * size else rho * 0


@inline
def project_off_columns(U: Array, y: Array, size: float, cut: float, c: Array, r: Array) -> Any:
    """Compute c <- U'y and r <- y - U c for orthonormal columns of U, like `project_off`."""
    c[:] = 0
    add_products(U, y, c)
    rho = np.sqrt(subtract_projection(U, y, c, r))
    if rho + rho < size:
        before, more = r.copy(), np.zeros_like(c)
        add_products(U, before, more)
        rho = np.sqrt(subtract_projection(U, before, more, r))
        for j in range(len(c)):
            c[j] += more[j]
    return rho if rho > cut * size else rho * 0


@inline
def rotate_basis(Q: Array, S: Array, k: int, rank: int, turned: Array) -> None:
    """Replace the first k rows of Q by S Q, where rows of S from `rank` count as zero; S <- I. turned (k, d)."""
    S[rank:k] = 0
    np.dot(S[:k], Q, turned)
    for i in range(k):
        copy(Q[i], turned[i])
        for j in range(len(Q)):
            S[i, j] = i == j


def bind(s: State, p: Params) -> Callable[[Array], bool]:
    """A function that learns one row by a rotation of the basis, once it is full."""
    U, sigma, info = s.basis, s.singular_values, np.finfo(s.basis.dtype)
    limits = rounding_of((len(U), len(sigma) + 1), U.dtype), info.tiny / info.eps**2, info.max
    return partial(rotate_by_row.entry_point(U.dtype), U, sigma, *map(float, limits))


@compiled("W w f f f r")
def rotate_by_row(U: Array, sigma: Array, cut: float, least: float, most: float, y: Array) -> Any:
    """[U Sigma, y] = [U, u] [[Sigma, U'y], [0, rho]]; if the rank is below k, change nothing and return False."""
    (d, k), kind = U.shape, U.dtype
    n, wide, energy = k + 1, 64, np.dot(y, y)
    size = np.sqrt(energy)
    if not (sigma[k - 1] > 0 and least < energy and size + sigma[0] < most):
        return False
    r, c = np.empty(d, kind), np.empty(k, kind)
    small, moving, values = np.zeros((k + 3, n)), np.zeros(n, np.int64), np.zeros(n)
    kept, new, V = np.zeros(n), np.zeros(n), np.zeros((n, n), kind)
    rho = project_off_columns(U, y, size, cut, c, r)
    for j in range(k):
        kept[j], new[j] = sigma[j], c[j]
    new[k] = rho
    if not rho > 0:
        return False
    decompose(kept, new, V, values, small, moving)
    if not values[k - 1] > cut * values[0]:
        return False
    part, turned = np.empty((wide, n), kind), np.empty((wide, k), kind)
    for first in range(0, d, wide):
        rows = min(wide, d - first)
        for i in range(rows):
            for j in range(k):
                part[i, j] = U[first + i, j]
            part[i, k] = r[first + i] / rho
        np.dot(part[:rows], V[:k].T, turned[:rows])
        for i in range(rows):
            for j in range(k):
                U[first + i, j] = turned[i, j]
    for j in range(k):
        sigma[j] = values[j]
    return True


learn = make_learn(rule, learn_rows, bind, DELAY)
bind_sample = make_bind_sample(bind, DELAY)

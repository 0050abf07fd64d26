"""Rank-one updates of a basis, C' <- C' + v r' for row after row, delayed so that four share one pass over it.

Shapes: B (k, d), the basis without the delayed updates: C' = B + V'R with V (4, k) and R (4, d); P (4, k), the products
with B of the four rows y, of which row m is to be learned.

A row costs 2 d k flops for the residual, 2 d k for the update and 2 d k for the product with the next row, in a fourth
of a pass that reads and writes B and one pass that reads it for the residual. Arithmetic is the limit while B fits in
the second-level cache, bandwidth in the third.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import inline, inline_reordered
from orfit_bench_numba._precision_guard import copy, dot
from orfit_bench_numba._products import add_multiple, multiply, subtract_rows

CACHE_LINE = 64
"""Bytes."""
COLUMNS = 400
"""Processed at a time: four rows of R and of Y then take 25 kB, and stay in the first-level cache."""


class Delayed(NamedTuple):
    """The updates V'R and the products P, see above, and copies Y (4, d) of the rows that P belongs to."""

    V: Array
    R: Array
    P: Array
    Y: Array


@inline
def allocate(B: Array) -> Any:
    """What is delayed before the first update, nothing; and work space c, x, u, v (k,)."""
    (k, d), kind = B.shape, B.dtype
    rows = aligned_zeros(8 * d, B).reshape(8, d)
    delayed = Delayed(np.zeros((4, k), kind), rows[:4], np.zeros((4, k), kind), rows[4:])
    return delayed, (np.zeros(k, kind), np.zeros(k, kind), np.zeros(k, kind), np.zeros(k, kind))


@inline
def aligned_zeros(n: int, like: Array) -> Any:
    """n zeros, aligned to a cache line: vectors that cross cache lines are loaded at half the speed."""
    room = np.zeros(n + CACHE_LINE // like.itemsize, like.dtype)
    begin = -room.ctypes.data % CACHE_LINE // like.itemsize
    return room[begin : begin + n]


@inline
def multiply_basis(V: Array, R: Array, P: Array, m: int, y: Array, c: Array) -> None:
    """c <- C'y, with m delayed updates."""
    for j in range(len(c)):
        c[j] = P[m, j]
    for i in range(m):
        a = dot(R[i], y)
        for j in range(len(c)):
            c[j] += a * V[i, j]


@inline
def compute_residual(B: Array, V: Array, R: Array, m: int, inverse: Array, y: Array, c: Array, x: Array) -> Any:
    """x <- C^+ y and row m of R <- r = y - C x, for c = C'y and inverse = (C'C)^-1; returns |r|."""
    r = R[m]
    multiply(inverse, c, x)
    copy(r, y)
    subtract_rows(r, x, B)
    for i in range(m):
        add_multiple(r, -dot(V[i], x), R[i])
    return np.sqrt(dot(r, r))


@inline
def update_inverse_gram(inverse: Array, v: Array, u: Array, weight: float) -> None:
    """(C'C)^-1 becomes that of C'C + weight^2 v v' (Sherman-Morrison), for u = (C'C)^-1 v, which is overwritten."""
    scale = weight / np.sqrt(v.dtype.type(1) + weight * dot(v, u) * weight)
    for k in range(len(u)):
        u[k] *= scale
    for k in range(len(u)):
        for j in range(len(u)):
            inverse[k, j] -= u[k] * u[j]  # symmetric to the last bit: asymmetry from rounding would grow


@inline_reordered
def apply_delayed(B: Array, delayed: Delayed, X: Array, i: int) -> None:
    """B <- B + V'R, V <- 0, and P <- the products with the four rows of X from row i on (the last one, after it)."""
    V, R, P, Y = delayed
    d, zero = B.shape[1], B.dtype.type(0)
    for m in range(4):
        copy(Y[m], X[min(i + m, len(X) - 1)])
    P[:] = 0
    for begin in range(0, d, COLUMNS):
        part = slice(begin, min(begin + COLUMNS, d))
        r0, r1, r2, r3 = R[0][part], R[1][part], R[2][part], R[3][part]
        y0, y1, y2, y3 = Y[0][part], Y[1][part], Y[2][part], Y[3][part]
        for k in range(len(B)):
            row, v0, v1, v2, v3 = B[k][part], V[0, k], V[1, k], V[2, k], V[3, k]
            p0, p1, p2, p3 = zero, zero, zero, zero
            for j in range(len(row)):
                new = row[j] + v0 * r0[j] + v1 * r1[j] + v2 * r2[j] + v3 * r3[j]
                row[j] = new
                p0 += new * y0[j]
                p1 += new * y1[j]
                p2 += new * y2[j]
                p3 += new * y3[j]
            P[0, k] += p0
            P[1, k] += p1
            P[2, k] += p2
            P[3, k] += p3
    V[:] = 0

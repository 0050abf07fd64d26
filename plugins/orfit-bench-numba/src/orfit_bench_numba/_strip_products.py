"""Products of long rows with each other and of small matrices with them, by strips of columns.

[U; X; W] stacks the rows of U (n, p), X (k, p) and W (c, p). For products of rows with each other, a strip of it is
copied to memory that is aligned to cache lines and, for up to about 200 rows, stays in the second-level cache; it is
padded with rows of zeros to a multiple of four. Combinations read the rows where they are. On a machine with vectors of
64 bytes, for up to 264 rows, BLAS took 1.8 to 2.4 times as long for the products, with tiles of four by four rows. With
vectors of 32 bytes it takes 1.0 to 2.5 times as long for the products of up to 100 rows, and 1.0 to 1.5 times for the
combinations.

Allocated: a strip of [U; X; W] or of the result, and small matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._precision_guard import copy
from orfit_bench_numba._work_space import aligned, round_up

STRIP = 512
"""Largest number of columns of a strip."""
NARROW_STRIP = 256
"""The same for combinations: four rows of a strip and four of its sums stay in the first-level cache."""


@compiled("R R R")
def multiply_all(U: Array, X: Array, W: Array) -> Any:
    """The products of all rows of [U; X; W] with each other, in the lower triangle; the rest is undefined."""
    n, p = len(U) + len(X) + len(W), X.shape[1]
    G = np.zeros((round_up(n, 4), round_up(n, 4)), X.dtype)
    strip = aligned(len(G), min(STRIP, round_up(p, 8)), X)
    for begin in range(0, p, STRIP):
        fill(strip, (U, X, W), begin)
        add_row_products(G, strip)
    return G[:n, :n].T


@compiled("W W R R R")
def combine(new: Array, W: Array, A: Array, U: Array, X: Array) -> None:
    """Compute [new; W] <- [0; W] + A [U; X]; new can be the memory of U, and W can have no rows."""
    m, p, c = len(A), X.shape[1], len(W)
    of_U, of_X = _negative(A[:, : len(U)]), _negative(A[:, len(U) :])  # since `subtract_combinations` subtracts
    sums = aligned(len(of_U), min(NARROW_STRIP, round_up(p, 8)), X)
    for begin in range(0, p, NARROW_STRIP):
        end = min(begin + NARROW_STRIP, p)
        width = end - begin
        sums[:] = 0
        for i in range(c):
            copy(sums[m - c + i], W[i, begin:end])
        for i in range(0, len(sums), 4):
            part = sums[i, :width], sums[i + 1, :width], sums[i + 2, :width], sums[i + 3, :width]
            subtract_combinations(part, of_U[i : i + 4], U, begin, end)
            subtract_combinations(part, of_X[i : i + 4], X, begin, end)
        for i in range(m):
            row = new[i] if i < m - c else W[i - m + c]
            copy(row[begin:end], sums[i, :width])


@inline
def _negative(A: Array) -> Any:
    """-A, with rows of zeros up to a multiple of four."""
    minus = np.zeros((round_up(len(A), 4), A.shape[1]), A.dtype)
    for i in range(len(A)):
        for j in range(A.shape[1]):
            minus[i, j] = -A[i, j]
    return minus


@inline
def fill(strip: Array, parts: Any, begin: int) -> None:
    """Fill the strip of the stacked parts that starts at a column; columns beyond the last are zero."""
    end, n = min(begin + STRIP, parts[0].shape[1]), 0
    if end - begin < strip.shape[1]:
        strip[:] = 0
    for part in parts:
        for i in range(len(part)):
            copy(strip[n + i], part[i, begin:end])
        n += len(part)


@inline
def add_row_products(G: Array, A: Array) -> None:
    """Compute the upper triangle of G <- G + A A' for a multiple of four rows of A; the rest is undefined."""
    n, threes = len(A), len(A) // 3 * 3
    for i in range(0, n, 4):
        for j in range(i // 3 * 3, threes, 3):
            add_tile(G, A, i, j)
        for j in range(max(i, threes), n):
            add_column(G, A, i, j)


@inline_reordered
def add_tile(G: Array, A: Array, i: int, j: int) -> None:
    """Add to the tile of G at (i, j) the products of rows i to i + 3 of A with rows j to j + 2.

    Twelve sums and four factors fit in the 16 vector registers of most processors.
    """
    zero = A.dtype.type(0)
    g_00, g_01, g_02 = zero, zero, zero
    g_10, g_11, g_12 = zero, zero, zero
    g_20, g_21, g_22 = zero, zero, zero
    g_30, g_31, g_32 = zero, zero, zero
    for m in range(A.shape[1]):
        a, b, c, d = A[i, m], A[i + 1, m], A[i + 2, m], A[i + 3, m]
        x, y, u = A[j, m], A[j + 1, m], A[j + 2, m]
        g_00 += a * x
        g_01 += a * y
        g_02 += a * u
        g_10 += b * x
        g_11 += b * y
        g_12 += b * u
        g_20 += c * x
        g_21 += c * y
        g_22 += c * u
        g_30 += d * x
        g_31 += d * y
        g_32 += d * u
    add_three(G, i, j, g_00, g_01, g_02)
    add_three(G, i + 1, j, g_10, g_11, g_12)
    add_three(G, i + 2, j, g_20, g_21, g_22)
    add_three(G, i + 3, j, g_30, g_31, g_32)


@inline
def add_three(G: Array, i: int, j: int, a: Any, b: Any, c: Any) -> None:
    """Add to three numbers of row i of G, starting at column j."""
    G[i, j] += a
    G[i, j + 1] += b
    G[i, j + 2] += c


@inline_reordered
def add_column(G: Array, A: Array, i: int, j: int) -> None:
    """Add to four numbers of column j of G, starting at row i, the products of these rows of A with row j."""
    zero = A.dtype.type(0)
    g_0, g_1, g_2, g_3 = zero, zero, zero, zero
    for m in range(A.shape[1]):
        x = A[j, m]
        g_0 += A[i, m] * x
        g_1 += A[i + 1, m] * x
        g_2 += A[i + 2, m] * x
        g_3 += A[i + 3, m] * x
    G[i, j] += g_0
    G[i + 1, j] += g_1
    G[i + 2, j] += g_2
    G[i + 3, j] += g_3


@inline_reordered
def subtract_combinations(rows: Any, A: Array, B: Array, begin: int, end: int) -> None:
    """Compute Y <- Y - A B for four rows and a strip of columns, four rows of B at a time."""
    y_0, y_1, y_2, y_3 = rows
    fours = len(B) // 4 * 4
    for k in range(0, fours, 4):
        p, q, s, t = four(A, 0, k), four(A, 1, k), four(A, 2, k), four(A, 3, k)
        b_0, b_1, b_2, b_3 = B[k, begin:end], B[k + 1, begin:end], B[k + 2, begin:end], B[k + 3, begin:end]
        for j in range(len(y_0)):
            a, b, c, d = b_0[j], b_1[j], b_2[j], b_3[j]
            y_0[j] = y_0[j] - p[0] * a - p[1] * b - p[2] * c - p[3] * d
            y_1[j] = y_1[j] - q[0] * a - q[1] * b - q[2] * c - q[3] * d
            y_2[j] = y_2[j] - s[0] * a - s[1] * b - s[2] * c - s[3] * d
            y_3[j] = y_3[j] - t[0] * a - t[1] * b - t[2] * c - t[3] * d
    for k in range(fours, len(B)):
        row, a, b, c, d = B[k, begin:end], A[0, k], A[1, k], A[2, k], A[3, k]
        for j in range(len(row)):
            y_0[j] -= a * row[j]
            y_1[j] -= b * row[j]
            y_2[j] -= c * row[j]
            y_3[j] -= d * row[j]


@inline
def four(A: Array, m: int, k: int) -> Any:
    """The entries in columns k to k + 3 of row m."""
    return A[m, k], A[m, k + 1], A[m, k + 2], A[m, k + 3]

"""Cholesky factors and solutions with them, by passes over four rows at a time.

A factor L of A = L L' is stored together with L' in one symmetric array. On an AMD processor with vectors of 64 bytes
(znver4), LAPACK took 1.3 to 1.8 times as long to factor 10 to 256 rows, and as long for more. BLAS took 1.7 to 6 times
as long to solve for 10 to 128 rows, and 0.45 to 1.05 times as long for large matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._strip_products import subtract_combinations

STRIP_SIZE, MIN_STRIP = 2**16, 64
"""Numbers in a strip of columns, which fits in the second-level cache, and its smallest width."""
MAX_ROWS, MAX_SIZE = 128, 2**17
"""Largest number of rows, and of numbers, of B for which substitution is faster than BLAS."""


def solve_lower(L: Array, B: Array) -> Array:
    """Compute L^-1 B, overwriting B, for a lower triangular L."""
    if len(L) == 1:
        B /= L[0, 0]
    elif is_small(B):
        substitute_forward(L, B)
    else:
        (trsm,) = get_blas_funcs(("trsm",), (B,))
        trsm(1, L.T, B.T, side=1, lower=0, overwrite_b=1)  # a C-order array is its transpose for BLAS
    return B


def solve_upper(U: Array, B: Array) -> Array:
    """Compute U^-1 B, overwriting B, for an upper triangular U."""
    if is_small(B):
        substitute_backward(U, B)
    else:
        (trsm,) = get_blas_funcs(("trsm",), (B,))
        trsm(1, U.T, B.T, side=1, lower=1, overwrite_b=1)
    return B


def is_small(B: Array) -> bool:
    """Whether substitution is faster than BLAS."""
    return len(B) <= MAX_ROWS or B.size <= MAX_SIZE


@compiled("W")
def factor(A: Array) -> Any:
    """Replace A by L and L' with L L' = A, reading only its upper triangle.

    Returns False, and A has partly been overwritten, if A is not positive definite.
    """
    return factor_inline(A)


@inline
def factor_inline(A: Array) -> Any:
    """Compute `factor` within a compiled function."""
    d, fours = len(A), len(A) // 4 * 4
    for i in range(0, fours, 4):
        rows = A[i, i:], A[i + 1, i:], A[i + 2, i:], A[i + 3, i:]
        subtract_combinations(rows, A[i : i + 4, :i], A[:i], i, d)
        if not factor_four(A, i):
            return False
    for i in range(fours, d):
        for k in range(i):
            first = A[k, i]
            for j in range(i, d):
                A[i, j] -= first * A[k, j]
        if not A[i, i] > 0:
            return False
        scale = A.dtype.type(1) / np.sqrt(A[i, i])
        for j in range(i, d):
            A[i, j] *= scale
            A[j, i] = A[i, j]
    return True


@inline
def factor_four(A: Array, i: int) -> Any:
    """Factor rows i to i + 3, from which the rows before are already subtracted, and copy them to the columns."""
    pivot_0 = np.sqrt(A[i, i])
    l_10, l_20, l_30 = A[i, i + 1] / pivot_0, A[i, i + 2] / pivot_0, A[i, i + 3] / pivot_0
    pivot_1 = np.sqrt(A[i + 1, i + 1] - l_10 * l_10)
    l_21, l_31 = (A[i + 1, i + 2] - l_10 * l_20) / pivot_1, (A[i + 1, i + 3] - l_10 * l_30) / pivot_1
    pivot_2 = np.sqrt(A[i + 2, i + 2] - l_20 * l_20 - l_21 * l_21)
    l_32 = (A[i + 2, i + 3] - l_20 * l_30 - l_21 * l_31) / pivot_2
    pivot_3 = np.sqrt(A[i + 3, i + 3] - l_30 * l_30 - l_31 * l_31 - l_32 * l_32)
    if not (pivot_0 > 0 and pivot_1 > 0 and pivot_2 > 0 and pivot_3 > 0):
        return False
    rows = A[i, i:], A[i + 1, i:], A[i + 2, i:], A[i + 3, i:]
    solve_four(rows, (pivot_0, pivot_1, pivot_2, pivot_3), (l_10, l_20, l_21, l_30, l_31, l_32))
    A[i + 1, i], A[i + 2, i], A[i + 3, i] = A[i, i + 1], A[i, i + 2], A[i, i + 3]
    A[i + 2, i + 1], A[i + 3, i + 1], A[i + 3, i + 2] = A[i + 1, i + 2], A[i + 1, i + 3], A[i + 2, i + 3]
    for j in range(i + 4, len(A)):
        A[j, i], A[j, i + 1], A[j, i + 2], A[j, i + 3] = A[i, j], A[i + 1, j], A[i + 2, j], A[i + 3, j]
    return True


@compiled("R W")
def substitute_forward(L: Array, B: Array) -> None:
    """Compute B <- L^-1 B, reading only the lower triangle of L, for a strip of columns at a time."""
    d, fours = len(L), len(L) // 4 * 4
    width = max(STRIP_SIZE // max(d, 1), MIN_STRIP)
    for begin in range(0, B.shape[1], width):
        end = min(begin + width, B.shape[1])
        for i in range(0, fours, 4):
            rows = B[i, begin:end], B[i + 1, begin:end], B[i + 2, begin:end], B[i + 3, begin:end]
            subtract_combinations(rows, L[i : i + 4, :i], B[:i], begin, end)
            below = L[i + 1, i], L[i + 2, i], L[i + 2, i + 1], L[i + 3, i], L[i + 3, i + 1], L[i + 3, i + 2]
            solve_four(rows, (L[i, i], L[i + 1, i + 1], L[i + 2, i + 2], L[i + 3, i + 3]), below)
        for i in range(fours, d):
            solve_one(B[i, begin:end], L[i, :i], B[:i], begin, end, L[i, i])


@compiled("R W")
def substitute_backward(U: Array, B: Array) -> None:
    """Compute B <- U^-1 B, reading only the upper triangle of U, for a strip of columns at a time."""
    d, fours = len(U), len(U) // 4 * 4
    width = max(STRIP_SIZE // max(d, 1), MIN_STRIP)
    for begin in range(0, B.shape[1], width):
        end = min(begin + width, B.shape[1])
        for i in range(d - 1, fours - 1, -1):
            solve_one(B[i, begin:end], U[i, i + 1 :], B[i + 1 :], begin, end, U[i, i])
        for i in range(fours - 4, -1, -4):
            rows = B[i, begin:end], B[i + 1, begin:end], B[i + 2, begin:end], B[i + 3, begin:end]
            subtract_combinations(rows, U[i : i + 4, i + 4 :], B[i + 4 :], begin, end)
            above = U[i + 2, i + 3], U[i + 1, i + 3], U[i + 1, i + 2], U[i, i + 3], U[i, i + 2], U[i, i + 1]
            pivots = U[i + 3, i + 3], U[i + 2, i + 2], U[i + 1, i + 1], U[i, i]
            solve_four((rows[3], rows[2], rows[1], rows[0]), pivots, above)


@inline
def solve_one(row: Array, factors: Array, B: Array, begin: int, end: int, pivot: Scalar) -> None:
    """Solve for one row, from which multiples of the rows of B are subtracted."""
    for k in range(len(B)):
        by, known = factors[k], B[k, begin:end]
        for j in range(len(row)):
            row[j] -= by * known[j]
    scale = row.dtype.type(1) / pivot
    for j in range(len(row)):
        row[j] *= scale


@inline
def solve_four(rows: Any, pivots: Any, below: Any) -> None:
    """Solve for four rows with a lower triangle, given by its diagonal and the entries below it, row by row."""
    row_0, row_1, row_2, row_3 = rows
    one = row_0.dtype.type(1)  # an integer would make the quotients float64
    p, q, s, t = one / pivots[0], one / pivots[1], one / pivots[2], one / pivots[3]
    l_10, l_20, l_21, l_30, l_31, l_32 = below
    for j in range(len(row_0)):
        x = row_0[j] * p
        y = (row_1[j] - l_10 * x) * q
        z = (row_2[j] - l_20 * x - l_21 * y) * s
        row_3[j] = (row_3[j] - l_30 * x - l_31 * y - l_32 * z) * t
        row_0[j], row_1[j], row_2[j] = x, y, z

"""Symmetric products: one half is computed and mirrored, so that the result is exactly symmetric."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._machine import MAX_DIRECT_OPERATIONS, has_fast_blas
from orfit_bench_numba._precision_guard import copy
from orfit_bench_numba._products import multiply
from orfit_bench_numba._strip_products import subtract_combinations
from orfit_bench_numba._work_space import aligned, round_up

MAX_FEW_ROWS = 4
"""Largest number of rows of V for which a pass over all of P is faster than half a pass and mirroring."""
MAX_OWN_PRODUCTS, MAX_COMBINED_ROWS = (24, 24) if has_fast_blas() else (40, 200)
"""Largest sizes of matrices for which products of rows, or combinations of four rows, are faster than BLAS.

If BLAS uses vectors of 32 bytes, it took 1.3 to 1.6 times as long as combinations in double precision, and as long in
single precision; larger matrices do not fit in the second-level cache. If BLAS uses vectors of 64 bytes, it took 0.6 to
0.75 times as long as either of these on Intel processors, and 0.5 to 0.9 times on AMD's znver4, for 32 rows or more.
"""
PADDING = 8
"""Padding of a row of work space: rows whose length is a power of two would share few cache lines."""


def downdate(P: Array, V: Array, ff: Scalar) -> None:
    """Compute P <- (P - V'V) / ff in place, for V (q, p): p^2 q flops, or for few rows one pass over P."""
    if len(V) <= MAX_FEW_ROWS:
        downdate_few_rows(P, V, 1 / ff)
        return
    downdate_lower(P, V, ff)
    copy_lower_to_upper(P)


def downdate_lower(P: Array, V: Array, ff: Scalar) -> None:
    """Compute the lower triangle of P <- (P - V'V) / ff."""
    (syrk,) = get_blas_funcs(("syrk",), (P,))
    syrk(-1 / ff, V.T, beta=1 / ff, c=P.T, lower=0, overwrite_c=1)  # the rows of P are columns for BLAS


def multiply_lower(X: Array, P: Array, V: Array) -> None:
    """Compute V <- X P, reading only the lower triangle of P."""
    (symm,) = get_blas_funcs(("symm",), (P,))
    symm(1, P.T, X.T, c=V.T, lower=0, overwrite_c=1)


@compiled("W R f")
def downdate_few_rows(P: Array, V: Array, by: Scalar) -> None:
    """Compute P <- (P - V'V) by."""
    for i in range(len(P)):
        for k in range(len(V)):
            v = V[k, i]
            for j in range(len(P)):
                P[i, j] -= v * V[k, j]
        for j in range(len(P)):
            P[i, j] *= by


@compiled("W")
def symmetrize(P: Array) -> None:
    """Compute P <- (P + P') / 2."""
    for i in range(len(P)):
        for j in range(i):
            P[i, j] = P[i, j] / 2 + P[j, i] / 2
    mirror_lower(P)


@compiled("W")
def copy_lower_to_upper(P: Array) -> None:
    """Copy the lower triangle of P to the upper one."""
    mirror_lower(P)


@inline
def mirror_lower(P: Array) -> None:
    """Copy like `copy_lower_to_upper`, in squares of eight, the width of a cache line, so each line is loaded once."""
    p = len(P)
    for i in range(0, p, 8):
        end = min(i + 8, p)
        for j in range(i if end - i == 8 else 0):
            P[j, i], P[j, i + 1], P[j, i + 2], P[j, i + 3] = P[i, j], P[i + 1, j], P[i + 2, j], P[i + 3, j]
            P[j, i + 4], P[j, i + 5], P[j, i + 6], P[j, i + 7] = P[i + 4, j], P[i + 5, j], P[i + 6, j], P[i + 7, j]
        for k in range(i, end):
            for j in range(i if end - i == 8 else 0, k):
                P[j, k] = P[k, j]


@inline
def multiply_by_symmetric(F: Array, P: Array, N: Array) -> None:
    """Compute N <- F P for a symmetric P."""
    if len(P) > MAX_OWN_PRODUCTS:
        np.dot(F, P, N)
        return
    for i in range(len(F)):
        multiply(P, F[i], N[i])


@inline
def multiply_both_sides(F: Array, P: Array, N: Array, tile: Array) -> None:
    """Compute the lower triangle of N <- F P F' for a symmetric P. tile is work space from `allocate_tile`."""
    if len(P) <= MAX_OWN_PRODUCTS:
        for i in range(len(P)):
            multiply(P, F[i], tile[: len(P)])
            multiply(F[: i + 1], tile[: len(P)], N[i])
    elif len(P) <= MAX_COMBINED_ROWS:
        combine_both_sides(F, P, N, tile)
    elif strip_width(len(P)):
        multiply_strips(F, P, N, tile, strip_width(len(P)))
    else:
        np.dot(F, P, N)
        multiply_lower_triangle(N, F, tile)


@inline
def strip_width(d: int) -> Any:
    """The number of columns that BLAS multiplies at a time, without copies, for d rows; 0 if that is not faster."""
    if 8 * d * d > MAX_DIRECT_OPERATIONS:
        return 0
    return d if d <= 32 else 16 if 16 * d * d <= MAX_DIRECT_OPERATIONS else 8


@inline
def tile_height(d: int) -> Any:
    """The number of rows, of a matrix of d rows, that BLAS multiplies at a time: the smallest with its full rate."""
    return 32 if d < 256 else 112


@inline
def tile_size(d: int) -> Any:
    """The numbers in the work space of `multiply_both_sides` for matrices of d rows."""
    if d <= MAX_COMBINED_ROWS:
        return d * (1 if d <= MAX_OWN_PRODUCTS else 2 * (d + PADDING))
    return d * (3 * strip_width(d) or tile_height(d))


@inline
def allocate_tile(d: int, like: Array) -> Any:
    """The work space of `multiply_both_sides`."""
    return aligned(1, tile_size(d), like)[0]


@inline
def combine_both_sides(F: Array, P: Array, N: Array, tile: Array) -> None:
    """Multiply by combinations of rows: K = -F P and N = -K F', where only the lower triangle of N is correct."""
    d = len(P)
    wide = d + PADDING
    K, T = tile[: d * wide].reshape(d, wide), tile[d * wide : 2 * d * wide].reshape(d, wide)
    for i in range(d):
        for j in range(d):
            T[j, i] = F[i, j]
    for first in range(0, d, 4):
        i = min(first, d - 4)
        K[i : i + 4] = 0
        rows = K[i, :d], K[i + 1, :d], K[i + 2, :d], K[i + 3, :d]
        subtract_combinations(rows, F[i : i + 4], P, 0, d)
    for first in range(0, d, 4):
        i = min(first, d - 4)
        end = min(round_up(i + 4, 8), d)
        N[i : i + 4, :end] = 0
        rows = N[i, :end], N[i + 1, :end], N[i + 2, :end], N[i + 3, :end]
        subtract_combinations(rows, K[i : i + 4], T, 0, end)


@inline
def multiply_strips(F: Array, P: Array, N: Array, tile: Array, width: int) -> None:
    """Compute the lower triangle of N <- F (P F') for strips of so many columns of F'."""
    d = len(P)
    for begin in range(0, d, width):
        end = min(begin + width, d)
        n = d * (end - begin)
        B, A = tile[:n].reshape(d, end - begin), tile[n : 2 * n].reshape(d, end - begin)
        for i in range(end - begin):
            for j in range(d):
                B[j, i] = F[begin + i, j]
        np.dot(P, B, A)
        strip = tile[2 * n : 3 * n - begin * (end - begin)].reshape(d - begin, end - begin)
        np.dot(F[begin:], A, strip)
        for i in range(d - begin):
            copy(N[begin + i, begin:end], strip[i])


@inline
def multiply_lower_triangle(A: Array, B: Array, tile: Array) -> None:
    """Compute the lower triangle of A <- A B', which is symmetric, in slightly more than p^3 flops."""
    p, height = len(A), tile_height(len(A))
    for begin in range(0, p, height):
        end = min(begin + height, p)
        rows = tile[: (end - begin) * end].reshape(end - begin, end)
        np.dot(A[begin:end], B[:end].T, rows)
        for i in range(begin, end):
            for j in range(end):
                A[i, j] = rows[i - begin, j]

"""Products and multiples of a few rows, without calls to BLAS, each of which takes a tenth of a microsecond."""

from __future__ import annotations

from typing import Any

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import inline, inline_reordered


@inline
def add_multiple(w: Array, a: Scalar, x: Array) -> None:
    """Compute w <- w + a x."""
    for j in range(len(w)):
        w[j] += a * x[j]


@inline
def multiply(A: Array, x: Array, g: Array) -> None:
    """Compute g <- A x, four rows of A at a time."""
    fours = len(A) // 4 * 4
    for i in range(0, fours, 4):
        g[i], g[i + 1], g[i + 2], g[i + 3] = four_rows_times(A, i, x)
    for i in range(fours, len(A)):
        g[i] = row_times(A, i, x)


@inline
def sum_diagonal(A: Array) -> Any:
    """The trace of A."""
    total = A.dtype.type(0)
    for j in range(len(A)):
        total += A[j, j]
    return total


@inline_reordered
def four_rows_times(A: Array, i: int, x: Array) -> Any:
    """The products of rows i to i + 3 of A with x."""
    zero = x.dtype.type(0)
    a, b, c, d = zero, zero, zero, zero
    for j in range(len(x)):
        a += A[i, j] * x[j]
        b += A[i + 1, j] * x[j]
        c += A[i + 2, j] * x[j]
        d += A[i + 3, j] * x[j]
    return a, b, c, d


@inline_reordered
def row_times(A: Array, i: int, x: Array) -> Any:
    """The product of row i of A with x, without a view of the row."""
    total = A.dtype.type(0)
    for j in range(len(x)):
        total += A[i, j] * x[j]
    return total


@inline
def subtract_rows(r: Array, x: Array, B: Array) -> None:
    """Compute r <- r - B'x, four rows of B at a time."""
    fours = len(B) // 4 * 4
    for j in range(0, fours, 4):
        subtract_four(r, x[j], B[j], x[j + 1], B[j + 1], x[j + 2], B[j + 2], x[j + 3], B[j + 3])
    for j in range(fours, len(B)):
        add_multiple(r, -x[j], B[j])


@inline_reordered
def subtract_four(r: Array, p: Scalar, a: Array, q: Scalar, b: Array, s: Scalar, c: Array, t: Scalar, d: Array) -> None:
    """Compute r <- r - p a - q b - s c - t d in one pass over r."""
    for j in range(len(r)):
        r[j] -= (p * a[j] + q * b[j]) + (s * c[j] + t * d[j])

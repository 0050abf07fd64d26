"""Products and multiples of a few rows, without calls to BLAS, each of which takes a tenth of a microsecond."""

from __future__ import annotations

from typing import Any

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import inline, inline_reordered
from orfit_bench_numba._precision_guard import dot


@inline
def add_multiple(w: Array, a: Scalar, x: Array) -> None:
    """w <- w + a x."""
    for j in range(len(w)):
        w[j] += a * x[j]


@inline
def multiply(A: Array, x: Array, g: Array) -> None:
    """g <- A x, four rows of A at a time."""
    fours = len(A) // 4 * 4
    for j in range(0, fours, 4):
        g[j], g[j + 1], g[j + 2], g[j + 3] = four_products(x, A[j], A[j + 1], A[j + 2], A[j + 3])
    for j in range(fours, len(A)):
        g[j] = dot(x, A[j])


@inline_reordered
def four_products(x: Array, a: Array, b: Array, c: Array, d: Array) -> Any:
    """x'a, x'b, x'c and x'd."""
    zero = x.dtype.type(0)
    xa, xb, xc, xd = zero, zero, zero, zero
    for i in range(len(x)):
        xa += x[i] * a[i]
        xb += x[i] * b[i]
        xc += x[i] * c[i]
        xd += x[i] * d[i]
    return xa, xb, xc, xd


@inline_reordered
def two_products(a: Array, x: Array, w: Array) -> Any:
    """a'x and a'w."""
    ax, aw = a.dtype.type(0), a.dtype.type(0)
    for i in range(len(a)):
        ax += a[i] * x[i]
        aw += a[i] * w[i]
    return ax, aw

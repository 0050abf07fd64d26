"""One row by a rule C <- C + gain r x' with x = C^+ y and r = y - C x, in place, for calls with one row.

Without these functions, such calls would spend their time on copying C to its transpose and back. If a number might
overflow or too many digits would be lost, the functions do not change C and return False.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._cholesky import factor_inline
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._delayed_rank1 import update_inverse_gram
from orfit_bench_numba._orthonormal_row import add_products, subtract_projection
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._strip_products import add_row_products


@compiled("W W W r r")
def learn_sanger(C: Array, B: Array, G: Array, steps: Array, y: Array) -> Any:
    """Compute C <- C + step r x'; B and G are work space, for C' and the Cholesky factor of C'C.

    They have k rows, rounded up to a multiple of four; rows of B beyond k are zero.
    """
    (d, k), one, step = C.shape, C.dtype.type(1), steps[0]
    x, e, r = np.zeros(k, C.dtype), np.zeros(k, C.dtype), np.empty(d, C.dtype)
    size = one - one
    transpose(B, C)
    G[:] = 0
    add_row_products(G, B)
    for j in range(k):
        size += G[j, j]
    for j in range(k, len(G)):
        G[j, j] = 1
    add_products(C, y, x)
    if not factor_inline(G):
        return False
    solve_transposed(G, x)
    for i in range(k - 1, -1, -1):
        x[i] = (x[i] - dot(G[i, i + 1 : k], x[i + 1 :])) / G[i, i]
    left = subtract_projection(C, y, x, r)
    add_products(C, r, e)
    solve_transposed(G, e)  # Q'r with C = Q R, which is only rounding, as if x had been computed from Q
    grown = size + step * left * step * dot(x, x)
    rounding = 8 * np.finfo(C.dtype).eps
    if not (grown < np.inf and dot(e, e) <= rounding * dot(y, y) * rounding):
        return False
    add_outer(C, step, r, x)
    return True


@inline
def transpose(B: Array, C: Array) -> None:
    """Copy C' to the first rows of B, eight rows of C (one cache line) at a time."""
    eights = len(C) // 8 * 8
    for i in range(0, eights, 8):
        for j in range(C.shape[1]):
            for m in range(8):
                B[j, i + m] = C[i + m, j]
    for i in range(eights, len(C)):
        for j in range(C.shape[1]):
            B[j, i] = C[i, j]


@inline
def solve_transposed(R: Array, c: Array) -> None:
    """Compute c <- R^-T c."""
    for i in range(len(c)):
        c[i] /= R[i, i]
        for j in range(i + 1, len(c)):
            c[j] -= c[i] * R[i, j]


@compiled("W W r r")
def learn_implicit(C: Array, inverse: Array, steps: Array, y: Array) -> Any:
    """Compute C <- C + step / (1 + step |x|^2) r x', and the inverse of C'C."""
    (d, k), one, step = C.shape, C.dtype.type(1), steps[0]
    c, x, u, r = np.zeros(k, C.dtype), np.empty(k, C.dtype), np.empty(k, C.dtype), np.empty(d, C.dtype)
    add_products(C, y, c)
    numbers = C.reshape(C.size)
    size = dot(numbers, numbers)
    np.dot(inverse, c, x)
    np.dot(inverse, x, u)
    rho = np.sqrt(subtract_projection(C, y, x, r))
    energy = step * dot(x, x)
    gain = step / (one + energy)
    weight = gain * rho
    grown = size + weight * dot(x, x) * weight
    if not (energy < np.inf and grown < np.inf and 0 <= weight * dot(x, u) * weight < np.inf):
        return False
    update_inverse_gram(inverse, x, u, weight)
    add_outer(C, gain, r, x)
    return True


@inline
def add_outer(C: Array, gain: Scalar, r: Array, x: Array) -> None:
    """Compute C <- C + gain r x'."""
    for i in range(len(r)):
        g = gain * r[i]
        for j in range(len(x)):
            C[i, j] += g * x[j]

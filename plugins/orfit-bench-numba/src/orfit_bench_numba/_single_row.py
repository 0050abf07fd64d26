"""One row by a rule C <- C + gain r x' with x = C^+ y and r = y - C x, in place: for calls with a row each.

They would spend their time on copies of C to its transpose and back. Each function leaves C as it is, and returns
False, where a number might overflow or too many digits would be lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._delayed_rank1 import update_inverse_gram
from orfit_bench_numba._orthonormal_row import add_products
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._products import row_times


@compiled("W W r f")
def learn_sanger(C: Array, G: Array, y: Array, step: Scalar) -> Any:
    """C <- C + step r x' for G = C'C, which is overwritten by its Cholesky factor."""
    (d, k), one = C.shape, C.dtype.type(1)
    c, x, e, r = np.zeros(k, C.dtype), np.zeros(k, C.dtype), np.zeros(k, C.dtype), np.empty(d, C.dtype)
    size = one - one
    for j in range(k):
        size += G[j, j]
    add_products(C, y, c)
    for i in range(k):
        for j in range(i):
            G[i, j] = (G[i, j] - dot(G[i, :j], G[j, :j])) / G[j, j]
        G[i, i] = np.sqrt(G[i, i] - dot(G[i, :i], G[i, :i]))
        x[i] = (c[i] - dot(G[i, :i], x[:i])) / G[i, i]
    for i in range(k - 1, -1, -1):
        x[i] /= G[i, i]
        for j in range(i):
            x[j] -= G[i, j] * x[i]
    left = subtract_projection(C, y, x, r)
    add_products(C, r, e)
    for i in range(k):  # e <- Q'r, where C = Q R: only rounding, as if x had been computed from Q
        e[i] = (e[i] - dot(G[i, :i], e[:i])) / G[i, i]
    grown = size + step * left * step * dot(x, x)
    rounding = 8 * np.finfo(C.dtype).eps
    if not (grown < np.inf and dot(e, e) <= rounding * dot(y, y) * rounding):
        return False
    add_outer(C, step, r, x)
    return True


@compiled("W W f r")
def learn_implicit(C: Array, inverse: Array, step: Scalar, y: Array) -> Any:
    """C <- C + step / (1 + step |x|^2) r x', and the inverse of C'C."""
    (d, k), one = C.shape, C.dtype.type(1)
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


@inline_reordered
def subtract_projection(C: Array, y: Array, x: Array, r: Array) -> Any:
    """r <- y - C x; returns |r|^2."""
    left = C.dtype.type(0)
    for i in range(len(y)):
        r[i] = y[i] - row_times(C, i, x)
        left += r[i] * r[i]
    return left


@inline
def add_outer(C: Array, gain: Scalar, r: Array, x: Array) -> None:
    """C <- C + gain r x'."""
    for i in range(len(r)):
        g = gain * r[i]
        for j in range(len(x)):
            C[i, j] += g * x[j]

"""One row by a rule C <- QR(C + step r c') with c = C'y, in place and in O(d k), for calls with one row.

If C is orthonormal, (C + step r c')'(C + step r c') = I + b c c' with b = step (2 + step |y|^2) for r = y (Oja), and
b = step^2 |r|^2 for r = y - C c (Krasulina). The inverse of the Cholesky factor R of I + b c c' is its diagonal and a
product of two vectors above it, so that it is applied to a row by one running sum (Gill, Golub, Murray and Saunders
1974): C_ij becomes scale_j C_ij - weight_j t_ij with t_i0 = -step r_i and t_i,j+1 = t_ij + part_j C_ij. At most three
passes over C are needed. They process four rows at a time, because each addition to a sum waits for the previous one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._precision_guard import copy, dot
from orfit_bench_numba._products import multiply

LARGEST_GROWTH = 100.0
"""Largest growth of |C x|^2 by a row that is learned here; digits are lost in proportion to its square root."""


def bind_oja(s: State, p: Params) -> Callable[[Array], bool]:
    """A function that learns a row y by C <- QR(C + step y c')."""
    return partial(learn_orthonormal.entry_point(s.basis.dtype), s.basis, p.step_size, False)


def bind_krasulina(s: State, p: Params) -> Callable[[Array], bool]:
    """A function that learns a row y by C <- QR(C + step (y - C c) c')."""
    return partial(learn_orthonormal.entry_point(s.basis.dtype), s.basis, p.step_size, True)


@compiled("W r b r")
def learn_orthonormal(C: Array, step: Array, is_residual: bool, y: Array) -> Any:
    """Learn y; if digits would be lost or a number is not finite, change nothing and return False."""
    return rotate(C, y, step[0], is_residual, np.empty((4, C.shape[1]), C.dtype), np.empty(len(C), C.dtype))


@inline
def rotate(C: Array, y: Array, step: Scalar, is_residual: bool, room: Array, r: Array) -> Any:
    """See `learn_orthonormal`; room (4, k) and r (d,) are work space."""
    k, one, size = C.shape[1], C.dtype.type(1), C.dtype.type(0)
    c, factors = room[0], (room[1], room[2], room[3])
    c[:] = 0
    add_products(C, y, c)
    for j in range(k):
        size += c[j] * c[j]
    if is_residual:
        growth = step * subtract_projection(C, y, c, r) * step
    else:
        copy(r, y)
        growth = step * (2 + step * dot(y, y))
    if not (0 <= growth * size < LARGEST_GROWTH and (not is_residual or step * size < one)):
        return False
    factor(c, growth, factors)
    apply_inverse_factor(C, step, r, factors)
    return True


@inline
def factor(c: Array, growth: Scalar, factors: tuple[Array, Array, Array]) -> None:
    """Compute the vectors that apply R^-1 to rows of C + step r c', for the Cholesky factor R of I + growth c c'.

    growth |c|^2 is bounded, and so is the product of all `grown`, 1 + growth |c|^2.
    """
    scale, weight, part = factors
    one: Any = type(growth)(1)
    kept = one
    for j in range(len(c)):
        grown = one + growth * c[j] * c[j]
        scale[j] = one / np.sqrt(grown)
        weight[j] = c[j] * kept * scale[j]
        part[j] = growth * c[j] / kept
        kept /= grown
        growth /= grown


@inline
def apply_inverse_factor(C: Array, step: Scalar, r: Array, factors: tuple[Array, Array, Array]) -> None:
    """C <- (C + step r c') R^-1."""
    scale, weight, part = factors
    d, k = C.shape
    fours = d // 4 * 4
    for i in range(0, fours, 4):
        t_0, t_1, t_2, t_3 = -step * r[i], -step * r[i + 1], -step * r[i + 2], -step * r[i + 3]
        for j in range(k):
            scale_j, weight_j, part_j = scale[j], weight[j], part[j]
            x_0, x_1, x_2, x_3 = C[i, j], C[i + 1, j], C[i + 2, j], C[i + 3, j]
            C[i, j] = scale_j * x_0 - weight_j * t_0
            C[i + 1, j] = scale_j * x_1 - weight_j * t_1
            C[i + 2, j] = scale_j * x_2 - weight_j * t_2
            C[i + 3, j] = scale_j * x_3 - weight_j * t_3
            t_0 += part_j * x_0
            t_1 += part_j * x_1
            t_2 += part_j * x_2
            t_3 += part_j * x_3
    for i in range(fours, d):
        t = -step * r[i]
        for j in range(k):
            x = C[i, j]
            C[i, j] = scale[j] * x - weight[j] * t
            t += part[j] * x


@inline
def add_products(C: Array, y: Array, c: Array) -> None:
    """Compute c <- c + C'y."""
    fours = len(y) // 4 * 4
    for i in range(0, fours, 4):
        y_0, y_1, y_2, y_3 = y[i], y[i + 1], y[i + 2], y[i + 3]
        for j in range(len(c)):
            c[j] += (C[i, j] * y_0 + C[i + 1, j] * y_1) + (C[i + 2, j] * y_2 + C[i + 3, j] * y_3)
    for i in range(fours, len(y)):
        for j in range(len(c)):
            c[j] += C[i, j] * y[i]


@inline
def subtract_projection(C: Array, y: Array, x: Array, r: Array) -> Any:
    """Compute r <- y - C x; returns |r|^2."""
    multiply(C, x, r)
    for i in range(len(y)):
        r[i] = y[i] - r[i]
    return dot(r, r)

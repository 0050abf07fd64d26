"""One row by a rule C <- QR(C + step r c'), c = C'y, in place and in O(d k): for calls with a row each.

If C is orthonormal, (C + step r c')'(C + step r c') = I + b c c' with b = step (2 + step |y|^2) for r = y (Oja), and
b = step^2 |r|^2 for r = y - C c (Krasulina). The inverse of the Cholesky factor R of I + b c c' is its diagonal and a
product of two vectors above it, so that it is applied to a row by one running sum (Gill, Golub, Murray and Saunders
1974): C_ij becomes scale_j C_ij + shift_j r_i - weight_j sum_(m<j) part_m C_im. At most three passes over C, which take
four rows at a time, since every sum would wait for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._precision_guard import copy, dot
from orfit_bench_numba._products import multiply

LARGEST_GROWTH = 100.0
"""Of |C x|^2, by a row that is learned here: its square root is lost of the digits."""


def bind_oja(s: Any, p: Any) -> Callable[[Array], bool]:
    """A function that learns a row y by C <- QR(C + step y c')."""
    return partial(learn_orthonormal.entry_point(s.basis.dtype), s.basis, float(p.step_size[0]), False)


def bind_krasulina(s: Any, p: Any) -> Callable[[Array], bool]:
    """A function that learns a row y by C <- QR(C + step (y - C c) c')."""
    return partial(learn_orthonormal.entry_point(s.basis.dtype), s.basis, float(p.step_size[0]), True)


@compiled("W f b r")
def learn_orthonormal(C: Array, step: Scalar, is_residual: bool, y: Array) -> Any:
    """Learn y; returns False, and changes nothing, where it would lose digits or a number is not finite."""
    return rotate(C, y, step, is_residual, np.empty((5, C.shape[1]), C.dtype), np.empty(len(C), C.dtype))


@inline
def rotate(C: Array, y: Array, step: Scalar, is_residual: bool, room: Array, r: Array) -> Any:
    """See `learn_orthonormal`; room (5, k) and r (d,) are work space."""
    k, one, size = C.shape[1], C.dtype.type(1), C.dtype.type(0)
    c, factors = room[0], (room[1], room[2], room[3], room[4])
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
    factor(c, step, growth, factors)
    apply_inverse_factor(C, r, factors)
    return True


@inline
def factor(c: Array, step: Scalar, growth: Scalar, factors: tuple[Array, Array, Array, Array]) -> None:
    """Find what R^-1 does to the rows of C + step r c', R the Cholesky factor of I + growth c c'.

    growth |c|^2 is bounded, and so is the product of all `grown`, 1 + growth |c|^2.
    """
    scale, shift, weight, part = factors
    one: Any = type(growth)(1)
    kept, along = one, one - one
    for j in range(len(c)):
        grown = one + growth * c[j] * c[j]
        scale[j] = one / np.sqrt(grown)
        weight[j] = c[j] * kept * scale[j]
        shift[j] = step * c[j] * (one - kept * along) * scale[j]
        kept /= grown
        part[j] = growth * c[j] / (grown * kept)
        along += part[j] * c[j]
        growth /= grown


@inline
def apply_inverse_factor(C: Array, r: Array, factors: tuple[Array, Array, Array, Array]) -> None:
    """C <- (C + step r c') R^-1."""
    scale, shift, weight, part = factors
    (d, k), zero = C.shape, C.dtype.type(0)
    fours = d // 4 * 4
    for i in range(0, fours, 4):
        sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
        for j in range(k):
            scale_j, shift_j, weight_j, part_j = scale[j], shift[j], weight[j], part[j]
            x_0, x_1, x_2, x_3 = C[i, j], C[i + 1, j], C[i + 2, j], C[i + 3, j]
            C[i, j] = scale_j * x_0 + shift_j * r[i] - weight_j * sum_0
            C[i + 1, j] = scale_j * x_1 + shift_j * r[i + 1] - weight_j * sum_1
            C[i + 2, j] = scale_j * x_2 + shift_j * r[i + 2] - weight_j * sum_2
            C[i + 3, j] = scale_j * x_3 + shift_j * r[i + 3] - weight_j * sum_3
            sum_0 += part_j * x_0
            sum_1 += part_j * x_1
            sum_2 += part_j * x_2
            sum_3 += part_j * x_3
    for i in range(fours, d):
        total = zero
        for j in range(k):
            x = C[i, j]
            C[i, j] = scale[j] * x + shift[j] * r[i] - weight[j] * total
            total += part[j] * x


@inline
def add_products(C: Array, y: Array, c: Array) -> None:
    """c <- c + C'y."""
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
    """r <- y - C x; returns |r|^2."""
    multiply(C, x, r)
    for i in range(len(y)):
        r[i] = y[i] - r[i]
    return dot(r, r)

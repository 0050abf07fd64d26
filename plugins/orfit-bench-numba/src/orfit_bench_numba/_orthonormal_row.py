"""One row by a rule C <- QR(C + step r c'), c = C'y, in place and in O(d k): for calls with a row each.

If C is orthonormal, (C + step r c')'(C + step r c') = I + b c c' with b = step (2 + step |y|^2) for r = y (Oja), and
b = step^2 |r|^2 for r = y - C c (Krasulina). The Cholesky factor of I + b c c' is a_m c_j above its diagonal, so that
its inverse is applied to a row of C by one running sum (Gill, Golub, Murray and Saunders 1974). At most four passes
over C.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered

LARGEST_GROWTH = 100.0
"""Of |C x|^2, by a row that is learned here: its square root is lost of the digits."""


def learn_oja(s: Any, y: Array, p: Any) -> bool:
    """C <- QR(C + step y c')."""
    return bool(learn_orthonormal(s.basis, y, p.step_size[0], False))


def learn_krasulina(s: Any, y: Array, p: Any) -> bool:
    """C <- QR(C + step (y - C c) c')."""
    return bool(learn_orthonormal(s.basis, y, p.step_size[0], True))


@compiled("W r f b")
def learn_orthonormal(C: Array, y: Array, step: Scalar, is_residual: bool) -> Any:
    """Learn y; returns False, and changes nothing, where it would lose digits or a number is not finite."""
    return rotate(C, y, step, is_residual, np.empty((4, C.shape[1]), C.dtype), np.empty(len(C), C.dtype))


@inline
def rotate(C: Array, y: Array, step: Scalar, is_residual: bool, room: Array, r: Array) -> Any:
    """See `learn_orthonormal`; room (4, k) and r (d,) are work space."""
    d, k = C.shape
    one, zero = C.dtype.type(1), C.dtype.type(0)
    c, keep, add, scale = room[0], room[1], room[2], room[3]
    energy, size, left = zero, zero, zero
    c[:] = 0
    for i in range(d):
        for j in range(k):
            c[j] += C[i, j] * y[i]
        r[i] = y[i]
        energy += y[i] * y[i]
    for j in range(k):
        size += c[j] * c[j]
    growth = step * (2 + step * energy)
    if is_residual:
        for i in range(d):
            r[i] -= row_times(C, i, c)
            left += r[i] * r[i]
        growth = step * left * step
    if not (growth * size < LARGEST_GROWTH and (not is_residual or step * size < one)):
        return False
    for j in range(k):  # S_j = sum of a_m z_m, m < j; z_j = (v_j - c_j S_j) scale_j; S_(j+1) = keep_j S_j + add_j v_j
        grown = one + growth * c[j] * c[j]
        scale[j] = one / np.sqrt(grown)
        keep[j] = one / grown
        add[j] = growth * c[j] / grown
        growth /= grown
    for i in range(d):
        gain, total = step * r[i], zero
        for j in range(k):
            v = C[i, j] + gain * c[j]
            C[i, j] = (v - c[j] * total) * scale[j]
            total = keep[j] * total + add[j] * v
    return True


@inline_reordered
def row_times(C: Array, i: int, c: Array) -> Any:
    """Row i of C times c."""
    total = C.dtype.type(0)
    for j in range(len(c)):
        total += C[i, j] * c[j]
    return total

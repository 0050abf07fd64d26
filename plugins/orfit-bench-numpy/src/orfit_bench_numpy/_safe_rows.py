"""Rows with one output, learned by the formulas of a single row where no digit of P can be lost.

Cheap bounds accept nearly every row (docs/decisions/0004): the rounding error of x'P x is at most eps |x|^2 trace(P).
For all other rows `orfit_bench.kernels.guards` has to look.

Shapes: P (p, p) symmetric, w (p,), X (n, p) with rows x, y and out (n,), noise (n,).
"""

from __future__ import annotations

import math

import numpy as np

from orfit_bench.kernels.loops import Array


def learn_safe_rows(P: Array, w: Array, X: Array, y: Array, noise: Array, ff: float, out: Array | None) -> int:
    """Learn rows in order up to the first that is not clearly safe or has no target; returns how many."""
    info, ones = np.finfo(P.dtype), np.ones_like(w)
    eps, smallest, largest = float(info.eps), float(info.tiny / info.eps), float(info.max)
    widest = min(1, ff) * math.sqrt(largest)
    least, most, variances = 1 - eps**0.5, eps ** (-2 / 3), P.reshape(-1)[:: len(w) + 1]
    outer, reach = np.empty_like(P), float(np.abs(w).max())
    for i, x in enumerate(X):
        u, R = P.dot(x), noise[i]
        s = R + x.dot(u)  # R + x'P x
        energy, trace = x.dot(x), variances.dot(ones)
        if not (
            0 < least * R <= s <= most * R and eps**0.5 * energy * trace <= s and energy > smallest and trace < widest
        ):
            return i
        f, gain = x.dot(w), 1 / math.sqrt(s)
        v, z = u * gain, (y[i] - f) * gain
        reach += abs(z) * math.sqrt(v.dot(v))  # a bound of all weights
        if not reach < largest:
            return i
        if out is not None:
            out[i] = f
        w += z * v  # w + P x e / s
        np.multiply(v[:, None], v, out=outer)
        P -= outer  # P - P x x'P / s, symmetric to the last bit
        if ff != 1:
            P /= ff
    return len(X)

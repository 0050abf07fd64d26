"""Rows with one output, learned by the formulas for single rows while enough digits of P are certainly left.

Cheap bounds accept nearly every row (docs/decisions/0004): the rounding error of x'P x is at most eps |x|^2 trace(P).
All other rows need the exact checks of `orfit_bench.kernels.guards`.

Shapes: P (p, p) symmetric, w (p,), X (n, p) with rows x, y and out (n,), noise (n,).
"""

from __future__ import annotations

import math

import numpy as np

from orfit_bench.kernels.loops import Array


def learn_safe_rows(P: Array, w: Array, X: Array, y: Array, noise: Array, ff: float, out: Array | None) -> int:
    """Learn rows in order, up to the first that may be unsafe or has no target; returns how many."""
    info, ones = np.finfo(P.dtype), np.ones_like(w)
    eps, smallest, largest = float(info.eps), float(info.tiny / info.eps), float(info.max)
    max_trace = min(1, ff) * math.sqrt(largest)
    diagonal = P.reshape(-1)[:: len(w) + 1]  # (p,): a view of the diagonal of P
    outer, max_weight = np.empty_like(P), float(np.abs(w).max())  # v v' (p, p), and a bound of all |w_i|
    for i, x in enumerate(X):
        u, R = P.dot(x), noise[i]  # P x
        s = R + x.dot(u)  # R + x'P x
        energy, trace = x.dot(x), diagonal.dot(ones)
        if not (
            0 < (1 - eps**0.5) * R <= s <= eps ** (-2 / 3) * R  # x'P x >= 0, and P keeps a third of its digits
            and s <= largest  # the bound above can overflow too
            and eps**0.5 * energy * trace <= s  # half of the digits of s are right
            and energy > smallest  # |x|^2 has not lost digits to underflow
            and trace < max_trace  # no later product with P overflows
        ):
            return i
        f, gain = x.dot(w), 1 / math.sqrt(s)
        v, z = u * gain, (y[i] - f) * gain
        max_weight += abs(z) * math.sqrt(v.dot(v))
        if not max_weight < largest:
            return i
        if out is not None:
            out[i] = f
        w += z * v  # survey, eq. (11): w + P x e / s
        np.multiply(v[:, None], v, out=outer)
        P -= outer  # survey, eq. (12): P - P x x'P / s, exactly symmetric
        if ff != 1:
            P /= ff
    return len(X)

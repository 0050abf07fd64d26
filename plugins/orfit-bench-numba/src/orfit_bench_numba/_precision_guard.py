"""Decide whether a covariance P keeps enough digits when it learns a row (docs/decisions/0004 and 0010).

The rounding error of x'P x is at most eps (sum |x_i| sqrt(P_ii))^2, and an error of eps s remains when a row reduces
its variance from s to less than its noise. By Cauchy-Schwarz the first is at most eps |x|^2 trace(P), which is enough
to accept nearly every row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, REFUSED, Limits
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import inline, inline_reordered


@inline
def judge(s: Scalar, noise: Scalar, left: Scalar, rounded: Scalar, widest: Scalar, limits: Limits) -> Any:
    """The verdict on a row of variance s with this noise.

    left is a lower bound of the variance along the row before the next row, rounded the relative rounding error of s,
    and widest an upper bound of every P_ii.
    """
    info = np.finfo(type(s))
    half = np.sqrt(info.eps)
    cancelled = info.eps * s / left
    accurate = rounded <= limits.max_rounding and cancelled <= limits.max_cancellation
    if not (s > 0 and s >= noise * (1 - half) and accurate):  # refuses NaN too
        return REFUSED
    if rounded > half or cancelled > info.eps ** (1 / 3) or widest > np.sqrt(info.max):
        return DEGRADED
    return ACCEPTED


@inline
def accepted_variances(ff: Scalar) -> Any:
    """The smallest and the largest variance s that `judge` accepts for noise = left = ff.

    They follow from s >= noise (1 - sqrt(eps)) and from eps s / left <= eps^(1/3).
    """
    eps = np.finfo(type(ff)).eps
    return ff * (1 - np.sqrt(eps)), ff / eps ** (2 / 3)


@inline
def is_clearly_safe(energy: Scalar, trace: Scalar, s: Scalar, shrunk: Scalar) -> Any:
    """Whether |x|^2 and trace(P) show that neither rounding nor the size of P matters, even divided by `shrunk`."""
    info = np.finfo(type(s))
    near = info.eps * energy * trace <= np.sqrt(info.eps) * s
    return near and energy > info.tiny / info.eps and trace < shrunk * np.sqrt(info.max)


@inline
def measure_rounding(diagonal: Array, v: Array, x: Array, s: Scalar) -> Any:
    """eps (sum |x_i| sqrt(P_ii))^2 / s, the largest |P_ii| before the row, and the largest P_ii - v_i^2 after it."""
    info = np.finfo(type(s))
    size, widest, highest = type(s)(0), type(s)(0), -info.max
    for i in range(len(x)):
        size += abs(x[i]) * np.sqrt(abs(diagonal[i]))
        widest, highest = max(widest, abs(diagonal[i])), max(highest, diagonal[i] - v[i] * v[i])
    return info.eps * (size * size / s), widest, highest


@inline
def judge_row(
    x: Array,
    u: Array,
    v: Array,
    diagonal: Array,
    trace: Scalar,
    noise: Scalar,
    left: Scalar,
    power: Scalar,
    limits: Limits,
) -> Any:
    """The verdict on a row with u = P x, the gain 1 / sqrt(s), and the largest P_ii / ff after it; v <- u / sqrt(s).

    u, the diagonal of P, and trace, at least its sum, are all multiplied by `power`.
    """
    one = type(trace)(1)
    s = noise * power + dot(x, u)  # s = r + x'P x
    gain = one / np.sqrt(s)
    for j in range(len(x)):
        v[j] = u[j] * gain
    rounded, widest, highest = one - one, one - one, one - one
    if not is_clearly_safe(dot(x, x), trace, s, power * min(one, limits.ff)):
        rounded, widest, highest = measure_rounding(diagonal, v, x, s)
    verdict = judge(s / power, noise, left, rounded, widest / power, limits)
    return verdict, gain, highest / (power * limits.ff)


@inline_reordered
def dot(x: Array, u: Array) -> Any:
    """The product x'u, without the cost of a call to BLAS."""
    total = x.dtype.type(0)
    for j in range(len(x)):
        total += x[j] * u[j]
    return total


@inline
def copy(to: Array, of: Array) -> None:
    """Copy the vector `of` to `to`. An assignment to a slice would take three seconds to compile."""
    for j in range(len(of)):
        to[j] = of[j]

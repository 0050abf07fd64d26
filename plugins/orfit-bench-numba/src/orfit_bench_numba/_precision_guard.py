"""Decide whether a covariance P keeps enough digits when it learns a row (docs/decisions/0004 and 0010).

The rounding error of x'P x is at most eps (sum |x_i| sqrt(P_ii))^2, and an error of eps s remains when a row reduces
its variance from s to less than its noise. By Cauchy-Schwarz the first is at most eps |x|^2 trace(P), which is enough
to accept nearly every row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._compile import inline, inline_reordered

REFUSED, ACCEPTED, DEGRADED = 0, 1, 2
"""What a row comes to: too few digits would be left; well; half of them are gone, which is said."""


@inline
def judge(s: Any, noise: Any, left: Any, rounded: Any, widest: Any, least: Any) -> Any:
    """What a row of variance s comes to: seen with this noise, the variance along it at least `left` for the next one.

    rounded is the relative rounding of s, widest the largest P_ii or more, least the estimate that is still accepted.
    """
    info = np.finfo(type(s))
    half = np.sqrt(info.eps)
    cancelled = info.eps * s / left
    if not (s > 0 and s >= noise * (1 - half) and rounded <= least and cancelled <= least):  # NaN is refused too
        return REFUSED
    if rounded > half or cancelled > info.eps ** (1 / 3) or widest > np.sqrt(info.max):
        return DEGRADED
    return ACCEPTED


@inline
def is_clearly_safe(energy: Any, trace: Any, s: Any, shrunk: Any) -> Any:
    """Whether |x|^2 and trace(P) show that neither rounding nor P's size matters, now or once divided by `shrunk`."""
    info = np.finfo(type(s))
    near = info.eps * energy * trace <= np.sqrt(info.eps) * s
    return near and energy > info.tiny / info.eps and trace < shrunk * np.sqrt(info.max)


@inline
def measure_rounding(diagonal: Any, v: Any, x: Any, s: Any) -> Any:
    """The relative rounding of s; the largest |P_ii| before the row, and P_ii after it, before it is divided by ff."""
    info = np.finfo(type(s))
    size, widest, highest = type(s)(0), type(s)(0), -info.max
    for i in range(len(x)):
        size += abs(x[i]) * np.sqrt(abs(diagonal[i]))
        widest, highest = max(widest, abs(diagonal[i])), max(highest, diagonal[i] - v[i] * v[i])
    return info.eps * (size * size / s), widest, highest


@inline
def judge_row(
    x: Any, u: Any, v: Any, diagonal: Any, trace: Any, noise: Any, left: Any, least: Any, power: Any, ff: Any
) -> Any:
    """The verdict on a row with u = P x, 1 / sqrt(s), and the largest P_ii after it, divided by ff; v <- u / sqrt(s).

    u, diagonal, which is P's, and trace, its sum or more, are as many times too large as `power` says.
    """
    one = type(trace)(1)
    s = noise * power + dot(x, u)
    gain = one / np.sqrt(s)
    for j in range(len(x)):
        v[j] = u[j] * gain
    rounded, widest, highest = one - one, one - one, one - one
    if not is_clearly_safe(dot(x, x), trace, s, power * min(one, ff)):
        rounded, widest, highest = measure_rounding(diagonal, v, x, s)
    return judge(s / power, noise, left, rounded, widest / power, least), gain, highest / (power * ff)


@inline_reordered
def dot(x: Any, u: Any) -> Any:
    """x'u, without the price of a call."""
    total = x.dtype.type(0)
    for j in range(len(x)):
        total += x[j] * u[j]
    return total


@inline
def copy(to: Any, of: Any) -> None:
    """to <- of, both vectors. As an assignment to a slice it would take three seconds to compile."""
    for j in range(len(of)):
        to[j] = of[j]

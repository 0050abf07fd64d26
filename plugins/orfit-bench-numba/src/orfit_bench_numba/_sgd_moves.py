"""A step of sgd: w <- Proj(v - (change + shrink v)), with momentum, averages and projection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import inline


@inline
def move_along(
    w: Array,
    previous: Array,
    average: Array,
    total: Array,
    ahead: Array,
    change: Array,
    shrink: Any,
    beta: Any,
    count: Any,
    radius: Any,
    careful: bool,
) -> Any:
    """Take a step from v, which is `ahead` if beta is positive and otherwise w; add the old w to the average.

    change is step g, where g is the gradient without the ridge, and shrink is step ridge.

    If the weight of the average would not be finite, or with `careful` if w would not be finite, change nothing and
    return False.
    """
    finite = True
    for j in range(len(w) if careful else 0):
        v = ahead[j] if beta > 0 else w[j]
        finite &= np.isfinite(v - (change[j] + shrink * v))
    if not finite or (len(average) and count > 0 and not update_average(average, total, w, count)):
        return False
    if len(previous):
        leave(w, previous, ahead, beta)
    for j in range(len(w)):
        w[j] -= change[j] + shrink * w[j]  # 1 - shrink would be rounded to a multiple of eps
    if radius < np.inf:
        project_to_ball(w, radius)
    return True


@inline
def look_ahead(v: Array, w: Array, previous: Array, beta: Any) -> None:
    """v_t = w_t + beta_t (w_t - w_(t-1)), the point at which Nesterov's method evaluates the gradient."""
    for j in range(len(w)):
        v[j] = w[j] + beta * (w[j] - previous[j])


@inline
def leave(w: Array, previous: Array, ahead: Array, beta: Any) -> None:
    """Copy w to previous, and v to w."""
    for j in range(len(previous)):
        previous[j] = w[j]
    if beta > 0:
        for j in range(len(w)):
            w[j] = ahead[j]


@inline
def update_average(average: Array, total: Array, w: Array, count: Any) -> Any:
    """Add w to the mean; False if the sum of weights overflows."""
    grown, one = total[0] + count, w.dtype.type(1)
    if not grown < np.inf:
        return False
    share = count / grown
    for j in range(len(w)):
        average[j] = (one - share) * average[j] + share * w[j]
    total[0] = grown
    return True


@inline
def project_to_ball(v: Array, radius: Any) -> None:
    """Project v onto the ball with this radius."""
    square, size = np.dot(v, v), v.dtype.type(1)
    safe = np.finfo(v.dtype).tiny / np.finfo(v.dtype).eps < square < np.inf
    if not safe:  # a square overflowed or underflowed; those of v / size, size = max |v_j|, do not
        size = square = v.dtype.type(0)
        for j in range(len(v)):
            size = max(size, abs(v[j]))
        for j in range(len(v)):
            square += (v[j] / size) * (v[j] / size)
    inside = radius / math.sqrt(square)
    if size > inside:
        for j in range(0 if safe else len(v)):
            v[j] /= size
        for j in range(len(v)):
            v[j] *= inside

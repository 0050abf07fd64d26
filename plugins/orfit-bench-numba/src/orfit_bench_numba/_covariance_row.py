"""One row of recursive least squares: s = r + x'P x, v = P x / sqrt(s), w <- w + v e / sqrt(s), P <- (P - v v') / ff.

W contains the weights by output, shape (c, d). A row either changes P, W and degraded, or nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.guards import DEGRADED, REFUSED, Limits
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._precision_guard import copy, dot, judge_row


@compiled("W W r r w f f (f f f f) w")
def learn_row(
    P: Array,
    W: Array,
    variances: Array,
    x: Array,
    z: Array,
    noise: Scalar,
    left: Scalar,
    limits: Limits,
    degraded: Array,
) -> Any:
    """Learn one row x with the errors z, which are overwritten; if it is refused, return False and change nothing.

    Rounding is measured relative to variances (d,), which are at least the diagonal of P; left is the smallest variance
    along x before the next row.
    """
    diagonal = np.empty(len(x), P.dtype)
    copy(diagonal, variances)
    return apply_measured_row(P, W, diagonal, x, z, noise, left, Limits(*limits), degraded)


@compiled("W W f f f f f w r f")
def learn_number(
    P: Array,
    W: Array,
    noise: Scalar,
    ff: Any,
    max_rounding: Any,
    max_cancellation: Any,
    max_variance: Any,
    degraded: Array,
    x: Array,
    y: Scalar,
) -> Any:
    """Learn one row x with one target y; returns 1, or 0 if it is refused and nothing has changed."""
    z = np.empty(1, P.dtype)
    z[0] = y - dot(x, W[0])
    if apply_row(P, W, x, z, noise, noise, Limits(ff, max_rounding, max_cancellation, max_variance), degraded):
        return 1
    return 0


@compiled("W W f f f f f w f r i")
def learn_label(
    P: Array,
    w: Array,
    noise: Scalar,
    ff: Any,
    max_rounding: Any,
    max_cancellation: Any,
    max_variance: Any,
    degraded: Array,
    y: Scalar,
    x: Array,
    label: int,
) -> Any:
    """Learn a row x whose target is y for this class and 0 for others, with weights w (d, c).

    Returns 1, or 0 if it is refused and nothing has changed.
    """
    (d, c), z = w.shape, np.zeros(w.shape[1], w.dtype)
    W = np.empty((c, d), w.dtype)
    for k in range(c):
        for j in range(d):
            W[k, j] = w[j, k]
            z[k] -= x[j] * w[j, k]
    z[label] += y
    limits = Limits(ff, max_rounding, max_cancellation, max_variance)
    if not apply_row(P, W, x, z, noise, noise, limits, degraded):
        return 0
    for k in range(c):
        for j in range(d):
            w[j, k] = W[k, j]
    return 1


@inline
def apply_row(
    P: Array, W: Array, x: Array, z: Array, noise: Scalar, left: Scalar, limits: Limits, degraded: Array
) -> Any:
    """See `learn_row`; rounding is measured relative to the variances of P."""
    diagonal = np.empty(len(x), P.dtype)
    for i in range(len(x)):
        diagonal[i] = P[i, i]
    return apply_measured_row(P, W, diagonal, x, z, noise, left, limits, degraded)


@inline
def apply_measured_row(
    P: Array,
    W: Array,
    diagonal: Array,
    x: Array,
    z: Array,
    noise: Scalar,
    left: Scalar,
    limits: Limits,
    degraded: Array,
) -> Any:
    """See `learn_row`; `diagonal` contains the variances."""
    one, trace = P.dtype.type(1), P.dtype.type(0)
    u, v = np.empty(len(x), P.dtype), np.empty(len(x), P.dtype)
    multiply_symmetric(P, x, u)
    for i in range(len(x)):
        trace += abs(diagonal[i])
    verdict, gain, highest = judge_row(x, u, v, diagonal, trace, noise, left, one, limits)
    for k in range(len(z)):
        z[k] *= gain
    if verdict == REFUSED or not highest < limits.max_variance or not is_update_finite(W, v, z):
        return False
    for k in range(len(W)):
        for j in range(len(x)):
            W[k, j] += z[k] * v[j]
    if verdict == DEGRADED:
        degraded[0] = 1
    downdate_by_row(P, v, one / limits.ff)
    return True


@inline
def downdate_by_row(P: Array, v: Array, by: Scalar) -> None:
    """Compute P <- (P - v v') by."""
    for i in range(len(v)):
        v_i = v[i]
        for j in range(len(v)):
            P[i, j] = (P[i, j] - v_i * v[j]) * by


@inline_reordered
def multiply_symmetric(P: Array, x: Array, u: Array) -> None:
    """Compute u <- P x from the lower triangle, with half the memory traffic."""
    d = len(x)
    u[:] = 0
    for i in range(0, d - 3, 4):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        u0, u1, u2, u3 = u[i], u[i + 1], u[i + 2], u[i + 3]
        for j in range(i):
            u0 += P[i, j] * x[j]
            u1 += P[i + 1, j] * x[j]
            u2 += P[i + 2, j] * x[j]
            u3 += P[i + 3, j] * x[j]
            u[j] += P[i, j] * x0 + P[i + 1, j] * x1 + P[i + 2, j] * x2 + P[i + 3, j] * x3
        u[i], u[i + 1], u[i + 2], u[i + 3] = u0, u1, u2, u3
        for k in range(i, i + 4):
            for j in range(i, i + 4):
                u[k] += P[k, j] * x[j]
    for i in range(d - d % 4, d):
        for j in range(i):
            u[i] += P[i, j] * x[j]
            u[j] += P[i, j] * x[i]
        u[i] += P[i, i] * x[i]


@inline
def is_missing(y: Array) -> Any:
    """Whether an entry of y is missing (NaN)."""
    gaps = 0
    for k in range(len(y)):
        gaps += np.isnan(y[k])
    return gaps > 0


@inline
def is_update_finite(W: Array, v: Array, z: Array) -> Any:
    """Whether all of W + z v' is finite."""
    for k in range(len(z)):
        for j in range(len(v)):
            if not np.isfinite(W[k, j] + z[k] * v[j]):
                return False
    return True


@inline
def scale_errors(z: Array, y: Array, gain: Scalar) -> Any:
    """Compute z <- (y - z) gain; returns the sum of the |z_k|, or NaN if one is NaN."""
    total = z.dtype.type(0)
    for k in range(len(z)):
        z[k] = (y[k] - z[k]) * gain
        total += abs(z[k])
    return total

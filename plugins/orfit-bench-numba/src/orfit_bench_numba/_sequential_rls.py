"""Recursive least squares, row by row: s = r + x'P x, v = P x / sqrt(s), w <- w + v e / sqrt(s), P <- (P - v v') / ff.

Four rows share one pass over P, which subtracts the V'V of the previous four rows and multiplies the result by the next
four. The interaction between rows of one pass follows from their products with the earlier v, as in `_block_rls`. Per
entry of P and pass: sixteen flops, one load, one store. Arithmetic is the limit up to some hundred features, then the
cache.

W holds the weights by output, shape (c, d). Each output is computed on its own, so that its result does not depend on
the number of outputs. Writes P, W and lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._precision_guard import DEGRADED, REFUSED, copy, dot, judge_row


@compiled("W W R R r f f f i w W")
def learn_sequentially(
    P: Any, W: Any, X: Any, Y: Any, noise: Any, ff: Any, least: Any, most: Any, shared: Any, lost: Any, out: Any
) -> Any:
    """Learn rows seen with these noises; returns how many: the next one was refused. NaN in its y: not seen.

    least is the estimate of digits that is still accepted, most what every P_ii must stay below, and `shared`, up to 4,
    how many rows share a pass.
    """
    n, d = X.shape
    zero, one = P.dtype.type(0), P.dtype.type(1)
    A, U, V = np.zeros((4, d), P.dtype), np.empty((4, d), P.dtype), np.zeros((4, d), P.dtype)
    z, diagonal = np.empty(len(W), P.dtype), np.empty(d, P.dtype)
    wide, by, some, begin, learned = max_abs(W), one, 0, 0, n
    while begin < learned:
        waiting, some, end = some, 0, begin
        while end < n and some < shared:
            if not is_missing(Y[end]):
                copy(A[some], X[end])
                some += 1
            end += 1
        if waiting:
            downdate_and_multiply(P, V, A, U, by)
        else:
            for m in range(some):
                multiply_symmetric(P, A[m], U[m])
        trace = zero
        for i in range(d):
            diagonal[i] = P[i, i]
            trace += abs(diagonal[i])
        power, some = one, 0  # P, less what the rows of this pass have left so far, is power times the covariance
        V[:] = 0
        for t in range(begin, end):
            x = X[t]
            for k in range(len(W)):
                z[k] = dot(x, W[k])
            if len(out):
                copy(out[t], z)
            if is_missing(Y[t]):
                continue
            u, v = U[some], V[some]
            for m in range(some):
                along = dot(x, V[m])
                for j in range(d):
                    u[j] -= along * V[m, j]
            says, gain, highest = judge_row(x, u, v, diagonal, trace, noise[t], noise[t], least, power, ff)
            wide += scale_errors(z, Y[t], gain) * np.sqrt(dot(v, v))  # no weight is larger
            if says == REFUSED or not highest < most or not (wide < np.inf or is_update_finite(W, v, z)):
                v[:] = 0
                learned = t
                break
            for k in range(len(W)):
                w, z_k = W[k], z[k]
                for j in range(d):
                    w[j] += z_k * v[j]
            for j in range(d):
                diagonal[j] -= v[j] * v[j]
            if not wide < np.inf:
                wide = max_abs(W)
            if says == DEGRADED:
                lost[0] = 1
            power *= ff
            some += 1
        begin, by = end, one / power
    if some > 1:
        downdate(P, V, by)
    elif some:
        downdate_by_row(P, V[0], by)
    return learned


@compiled("W W r w f f f f f w")
def learn_row(P: Any, W: Any, x: Any, z: Any, noise: Any, left: Any, ff: Any, least: Any, most: Any, lost: Any) -> Any:
    """Correct by one row x with the errors z, which is used up; False, and nothing is changed, where it is refused.

    left is the variance along x that the next row finds at least; else as in `learn_sequentially`.
    """
    one, trace = P.dtype.type(1), P.dtype.type(0)
    u, v, diagonal = np.empty(len(x), P.dtype), np.empty(len(x), P.dtype), np.empty(len(x), P.dtype)
    multiply_symmetric(P, x, u)
    for i in range(len(x)):
        diagonal[i] = P[i, i]
        trace += abs(diagonal[i])
    says, gain, highest = judge_row(x, u, v, diagonal, trace, noise, left, least, one, ff)
    for k in range(len(z)):
        z[k] *= gain
    if says == REFUSED or not highest < most or not is_update_finite(W, v, z):
        return False
    for k in range(len(W)):
        for j in range(len(x)):
            W[k, j] += z[k] * v[j]
    if says == DEGRADED:
        lost[0] = 1
    downdate_by_row(P, v, one / ff)
    return True


@inline
def downdate_by_row(P: Any, v: Any, by: Any) -> None:
    """P <- (P - v v') by."""
    for i in range(len(v)):
        v_i = v[i]
        for j in range(len(v)):
            P[i, j] = (P[i, j] - v_i * v[j]) * by


@inline
def subtract_products(p: Any, v0: Any, v1: Any, v2: Any, v3: Any, w0: Any, w1: Any, w2: Any, w3: Any) -> Any:
    """P_ij - sum_k v_k w_k in this order, so that P_ij and P_ji stay equal to the last bit: see decision 0004."""
    return p - v0 * w0 - v1 * w1 - v2 * w2 - v3 * w3


@inline_reordered
def downdate_and_multiply(P: Any, V: Any, A: Any, U: Any, by: Any) -> None:
    """P <- (P - V'V) by, U <- A P, for four rows each."""
    d, zero = len(P), P.dtype.type(0)
    for i in range(d):
        v0, v1, v2, v3 = V[0, i], V[1, i], V[2, i], V[3, i]
        u0, u1, u2, u3 = zero, zero, zero, zero
        for j in range(d):
            left = subtract_products(P[i, j], v0, v1, v2, v3, V[0, j], V[1, j], V[2, j], V[3, j]) * by
            P[i, j] = left
            u0 += left * A[0, j]
            u1 += left * A[1, j]
            u2 += left * A[2, j]
            u3 += left * A[3, j]
        U[0, i], U[1, i], U[2, i], U[3, i] = u0, u1, u2, u3


@inline
def downdate(P: Any, V: Any, by: Any) -> None:
    """P <- (P - V'V) by, for four rows."""
    for i in range(len(P)):
        v0, v1, v2, v3 = V[0, i], V[1, i], V[2, i], V[3, i]
        for j in range(len(P)):
            P[i, j] = subtract_products(P[i, j], v0, v1, v2, v3, V[0, j], V[1, j], V[2, j], V[3, j]) * by


@inline_reordered
def multiply_symmetric(P: Any, x: Any, u: Any) -> None:
    """u <- P x, from the lower triangle alone: half the bytes."""
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
def is_missing(y: Any) -> Any:
    """Whether a number of y is missing."""
    gaps = 0
    for k in range(len(y)):
        gaps += np.isnan(y[k])
    return gaps > 0


@inline
def max_abs(W: Any) -> Any:
    """The largest |W_kj|."""
    found = W.dtype.type(0)
    for k in range(W.shape[0]):
        for j in range(W.shape[1]):
            found = max(found, abs(W[k, j]))
    return found


@inline
def is_update_finite(W: Any, v: Any, z: Any) -> Any:
    """Whether all of W + z v' is finite."""
    for k in range(len(z)):
        for j in range(len(v)):
            if not np.isfinite(W[k, j] + z[k] * v[j]):
                return False
    return True


@inline
def scale_errors(z: Any, y: Any, gain: Any) -> Any:
    """z <- (y - z) gain; the sum of their sizes, NaN where one is none."""
    total = z.dtype.type(0)
    for k in range(len(z)):
        z[k] = (y[k] - z[k]) * gain
        total += abs(z[k])
    return total

"""Recursive least squares, row by row: s = r + x'P x, v = P x / sqrt(s), w <- w + v e / sqrt(s), P <- (P - v v') / ff.

Four rows share one pass over P, which subtracts the V'V of the previous four rows and multiplies the result by the next
four. The interaction between rows of one pass follows from their products with the earlier v, as in `_block_rls`. Per
entry of P and pass: sixteen flops, one load, one store. Arithmetic is the limit up to a few hundred features, beyond
that the cache.

W contains the weights by output, shape (c, d). Each output is computed separately, so that its result does not depend
on the number of outputs. Writes P, W and degraded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.guards import DEGRADED, REFUSED, Limits
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._covariance_row import (
    downdate_by_row,
    is_missing,
    is_update_finite,
    multiply_symmetric,
    scale_errors,
)
from orfit_bench_numba._precision_guard import copy, dot, judge_row

MAX_SHRINK = 32
"""Factor by which the rows of a pass may shrink a variance, except the last: the error of P - V'V is relative to P."""


@compiled("W W R R r (f f f f) i w W")
def learn_sequentially(
    P: Array, W: Array, X: Array, Y: Array, noise: Array, limits: Limits, shared: int, degraded: Array, out: Array
) -> Any:
    """Learn rows with these noises until one is refused; returns how many. Rows with NaN in y are only predicted.

    shared, at most 4, is the number of rows that share a pass over P.
    """
    n, d = X.shape
    limits = Limits(*limits)
    zero, one = P.dtype.type(0), P.dtype.type(1)
    rows = np.zeros((4, d), P.dtype), np.empty((4, d), P.dtype), np.zeros((4, d), P.dtype)
    owner = rows, (np.empty(len(W), P.dtype), np.empty(d, P.dtype))
    (A, U, V), (z, diagonal) = borrowed(owner)
    reach, by, some, begin, learned = max_abs(W), one, 0, 0, n
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
        power, shrink, some = one, one, 0  # power times the covariance is P minus the changes by the rows of this pass
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
            for m in range(some):  # u = (P - V'V) x
                along = dot(x, V[m])
                for j in range(d):
                    u[j] -= along * V[m, j]
            verdict, gain, highest = judge_row(x, u, v, diagonal, trace, noise[t], noise[t], power, limits)
            reach += scale_errors(z, Y[t], gain) * np.sqrt(dot(v, v))  # a bound of all weights
            too_large = not highest < limits.max_variance or not (reach < np.inf or is_update_finite(W, v, z))
            if verdict == REFUSED or too_large:
                v[:] = 0
                learned = t
                break
            for k in range(len(W)):  # w <- w + v e / sqrt(s)
                w, z_k = W[k], z[k]
                for j in range(d):
                    w[j] += z_k * v[j]
            for j in range(d):
                diagonal[j] -= v[j] * v[j]
            if not reach < np.inf:
                reach = max_abs(W)
            if verdict == DEGRADED:
                degraded[0] = 1
            shrink /= gain * noise[t] * power * gain  # P_ii shrinks by at most s / r
            power *= limits.ff
            some += 1
            if not shrink <= MAX_SHRINK and has_shrunk(P, diagonal):
                end = t + 1
                break
        begin, by = end, one / power
    if some > 1:
        downdate(P, V, by)
    elif some:
        downdate_by_row(P, V[0], by)
    hold(owner)
    return learned


@inline
def max_abs(W: Array) -> Any:
    """The largest |W_kj|."""
    found = W.dtype.type(0)
    for k in range(W.shape[0]):
        for j in range(W.shape[1]):
            found = max(found, abs(W[k, j]))
    return found


@inline
def has_shrunk(P: Array, diagonal: Array) -> Any:
    """Whether a variance is smaller than that in P by more than a factor MAX_SHRINK."""
    kept = True
    for i in range(len(P)):
        kept = kept and P[i, i] <= MAX_SHRINK * diagonal[i]
    return not kept


@inline
def subtract_products(
    p: Scalar, v0: Scalar, v1: Scalar, v2: Scalar, v3: Scalar, w0: Scalar, w1: Scalar, w2: Scalar, w3: Scalar
) -> Any:
    """p - sum_k v_k w_k in this order, so that P_ij and P_ji stay exactly equal (docs/decisions/0004)."""
    return p - v0 * w0 - v1 * w1 - v2 * w2 - v3 * w3


@inline_reordered
def downdate_and_multiply(P: Array, V: Array, A: Array, U: Array, by: Scalar) -> None:
    """Compute P <- (P - V'V) by and U <- A P, for four rows each."""
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
def downdate(P: Array, V: Array, by: Scalar) -> None:
    """Compute P <- (P - V'V) by for four rows."""
    for i in range(len(P)):
        v0, v1, v2, v3 = V[0, i], V[1, i], V[2, i], V[3, i]
        for j in range(len(P)):
            P[i, j] = subtract_products(P[i, j], v0, v1, v2, v3, V[0, j], V[1, j], V[2, j], V[3, j]) * by

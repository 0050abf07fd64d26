"""Recursive least squares for few features and one output: w <- w + u e / s, P <- (P - u u' / s) / ff with u = P x.

Row by row, in two passes over P, which lies in the fastest cache. A row is learned only if cheap bounds show that P
keeps its digits along it (`_precision_guard`); all others are left to `_sequential_rls`, whose passes over P for four
rows take longer up to MAX_FEATURES.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._gradient import NOT_FINITE, is_finite
from orfit_bench_numba._precision_guard import copy, is_clearly_safe

MAX_FEATURES = 32


@compiled("W w f R r w")
def learn_safe_rows(P: Array, w: Array, ff: Scalar, X: Array, y: Array, out: Array) -> Any:
    """Learn rows up to the first that is not clearly safe; returns how many: none if w would not be finite.

    NOT_FINITE if X or y is not finite; then nothing has changed.
    """
    one, trace = w.dtype.type(1), w.dtype.type(0)
    if not (is_finite(X.reshape(-1)) and is_finite(y)):
        return NOT_FINITE
    w_before, P_before, u = w.copy(), P.copy(), np.empty_like(w)
    learned = len(X)
    for i in range(len(w)):
        trace += P[i, i]
    for t in range(len(X)):
        safe, f, s = measure_row(P, X[t], u, w, trace, ff)
        if len(out):
            out[t] = f
        if not safe:
            learned = t
            break
        trace = update(P, w, u, (y[t] - f) / s, one / s, one / ff)
    if is_finite(w):
        return learned
    copy(w, w_before)
    copy(P.reshape(-1), P_before.reshape(-1))
    return 0


@inline
def measure_row(P: Array, x: Array, u: Array, w: Array, trace: Scalar, ff: Scalar) -> Any:
    """u <- P x; whether the row is clearly safe for a P of this trace, f = x'w, and s = ff + x'P x."""
    one = w.dtype.type(1)
    eps = np.finfo(type(one)).eps
    least, most = ff * (one - np.sqrt(eps)), ff / eps ** (2 / 3)  # of a variance that `judge` accepts
    multiply(P, x, u)
    along, f, energy = inner_products(x, u, w)
    s = ff + along
    return is_clearly_safe(energy, trace, s, min(one, ff)) and least <= s <= most, f, s


@inline_reordered
def multiply(P: Array, x: Array, u: Array) -> None:
    """u <- P x."""
    for i in range(len(u)):
        total = x.dtype.type(0)
        for j in range(len(x)):
            total += P[i, j] * x[j]
        u[i] = total


@inline_reordered
def inner_products(x: Array, u: Array, w: Array) -> Any:
    """x'u, x'w and x'x."""
    along, f, energy = x.dtype.type(0), x.dtype.type(0), x.dtype.type(0)
    for j in range(len(x)):
        along += x[j] * u[j]
        f += x[j] * w[j]
        energy += x[j] * x[j]
    return along, f, energy


@inline
def update(P: Array, w: Array, u: Array, z: Scalar, share: Scalar, by: Scalar) -> Any:
    """w <- w + z u, P <- (P - share u u') by; returns the new trace. (u_i u_j) first: P stays symmetric to the bit."""
    trace = w.dtype.type(0)
    for i in range(len(u)):
        w[i] += z * u[i]
        for j in range(len(u)):
            P[i, j] = (P[i, j] - (u[i] * u[j]) * share) * by
        trace += P[i, i]
    return trace

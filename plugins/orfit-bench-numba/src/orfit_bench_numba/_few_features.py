"""Recursive least squares for few features and one output: w <- w + u e / s, P <- (P - u u' / s) / ff with u = P x.

Rows are learned one by one, in two passes over P, which fits in the fastest cache. A row is learned only if cheap
bounds show that P keeps its digits along it (`_precision_guard`). All other rows are left to `_sequential_rls`, whose
passes over P for four rows take longer up to MAX_FEATURES.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._finite import NOT_FINITE, is_finite
from orfit_bench_numba._precision_guard import accepted_variances, copy, is_clearly_safe
from orfit_bench_numba._products import multiply

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
    least, most = accepted_variances(ff)
    for t in range(len(X)):
        x = X[t]
        multiply(P, x, u)  # a common helper for this and the lines below would take a third longer
        along, f, energy = inner_products(x, u, w)
        s = ff + along
        if len(out):
            out[t] = f
        if not (is_clearly_safe(energy, trace, s, min(one, ff)) and least <= s <= most):
            learned = t
            break
        trace = update(P, w, u, (y[t] - f) / s, one / s, one / ff)
    if is_finite(w):
        return learned
    copy(w, w_before)
    copy(P.reshape(-1), P_before.reshape(-1))
    return 0


@inline_reordered
def inner_products(x: Array, u: Array, w: Array) -> Any:
    """The products x'u, x'w and x'x."""
    along, f, energy = x.dtype.type(0), x.dtype.type(0), x.dtype.type(0)
    for j in range(len(x)):
        along += x[j] * u[j]
        f += x[j] * w[j]
        energy += x[j] * x[j]
    return along, f, energy


@inline
def update(P: Array, w: Array, u: Array, z: Scalar, share: Scalar, by: Scalar) -> Any:
    """w <- w + z u, P <- (P - share u u') by; returns the new trace. u_i u_j comes first, so P is exactly symmetric."""
    trace = w.dtype.type(0)
    for i in range(len(u)):
        w[i] += z * u[i]
        for j in range(len(u)):
            P[i, j] = (P[i, j] - (u[i] * u[j]) * share) * by
        trace += P[i, i]
    return trace

"""Recursive least squares for a block of rows at once, by matrix products.

For b rows X with noises R_j and forgetting factor ff let r_j = ff^j R_j, X P X' + diag(r) = L L' and V = L^-1 X P.
In exact arithmetic, learning row after row gives P = ff^-b (P - V'V) and w + V'z with z = L^-1 (y - X w). Row j was
predicted as y_j - L_jj z_j, had variance s_j = L_jj^2 / ff^j, and was learned with the covariance
ff^-j (P - V'V of the rows before it). Thus all reasons to refuse a row are known before anything is written, and a
block with such a row changes nothing.

A row costs 3 d^2 + 4 b d flops, near the rate of matrix products; memory traffic matters little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, REFUSED, Limits
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._cholesky import factor, solve_lower
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._covariance_row import is_missing, scale_errors
from orfit_bench_numba._precision_guard import copy, is_clearly_safe, judge, measure_rounding
from orfit_bench_numba._symmetric import downdate_lower, multiply_lower

STRIP = 24
"""Number of columns of S that are computed at a time, down to the diagonal: only its upper triangle is needed."""


def learn_block(
    P: Array,
    W: Array,
    X: Array,
    Y: Array,
    noise: Array,
    limits: Limits,
    degraded: Array,
    out: Array,
    V: Array,
) -> bool:
    """Learn rows as `learn_sequentially` does; if one of them might be refused, return False and change nothing.

    Reads and writes only the lower triangle of P; V (b, d) is work space.
    """
    b, gaps = len(X), np.isnan(Y).any(axis=1)
    multiply_lower(X, P, V)
    S = np.zeros((b, b), X.dtype)
    for i in range(0, b, STRIP):
        end = min(i + STRIP, b)
        np.matmul(V[:end], X[i:end].T, out=S[:end, i:end])
    V[gaps], S[gaps], S[:, gaps] = 0, 0, 0
    S.flat[:: b + 1] += np.where(gaps, 1, noise * limits.ff ** np.arange(b, dtype=X.dtype))
    if not factor(S):
        return False
    solve_lower(S, V)
    S[gaps] = X[gaps] @ V.T
    Z = np.stack([X @ w for w in W], axis=1)
    diagonal = np.diagonal(P).copy()
    verdict = judge_rows(S, V, X, Y, noise, tuple(limits), diagonal.copy(), Z, out)
    moved = W + np.stack([z @ V for z in Z.T])
    # a bound of all weights on the way
    reach = float(np.abs(W).max()) + float(np.abs(Z).sum()) * float(np.vdot(V, V)) ** 0.5
    shrunk = diagonal - np.einsum("ij,ij->j", V, V)
    if not (shrunk * np.finfo(X.dtype).eps ** -0.25 >= diagonal).all():  # the error of P - V'V is relative to P
        return False
    if verdict == REFUSED or not (reach < np.finfo(X.dtype).max and np.isfinite(moved).all()):
        return False
    W[...] = moved
    downdate_lower(P, V, limits.ff**b)
    if verdict == DEGRADED:
        degraded[...] = 1
    return True


@compiled("R R R R r (f f f f) w W W")
def judge_rows(
    L: Array, V: Array, X: Array, Y: Array, noise: Array, limits: Limits, diagonal: Array, Z: Array, out: Array
) -> Any:
    """The worst verdict on the rows; Z, X w before, becomes L^-1 (y - X w); `diagonal`, that of P, is overwritten."""
    limits = Limits(*limits)
    one: Any = L.dtype.type(1)
    trace, power, worst, taken = np.abs(diagonal).sum(), one, ACCEPTED, 0
    for j in range(len(X)):
        x, z = X[j], Z[j]
        for i in range(j):  # x'w after the rows before: sum_i L_ji z_i
            for k in range(len(z)):
                z[k] += L[j, i] * Z[i, k]
        if len(out):
            copy(out[j], z)
        if is_missing(Y[j]):
            z[:] = 0
            continue
        s, rounded, widest, highest = L[j, j] * L[j, j], one - one, one - one, one - one
        if not is_clearly_safe(np.dot(x, x), trace, s, power * min(one, limits.ff)):
            for i in range(taken, j):
                for m in range(len(diagonal)):
                    diagonal[m] -= V[i, m] * V[i, m]
            taken = j
            rounded, widest, highest = measure_rounding(diagonal, V[j], x, s)
        verdict = judge(s / power, noise[j], noise[j], rounded, widest / power, limits)
        scale_errors(z, Y[j], one / L[j, j])
        power *= limits.ff
        if verdict == REFUSED or not highest / power < limits.max_variance:
            return REFUSED
        worst = max(worst, verdict)
    return worst

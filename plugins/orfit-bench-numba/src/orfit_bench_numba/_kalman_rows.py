"""The rows of a Kalman filter whose state moves: P <- F P F' + Q, then the correction by the row, or neither.

If F and Q are numbers or diagonals, P is read for u = P x and written once, 7 flops an entry. A matrix F takes 3 d^3
flops, for F P and one triangle of (F P)F', near the rate of matrix products. Nothing is written before a row is
accepted. Writes P, W, scale and lost; for matrices allocates a (d, d) array and some rows of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._gradient import is_finite
from orfit_bench_numba._precision_guard import ACCEPTED, DEGRADED, REFUSED, copy, dot, judge_row
from orfit_bench_numba._sequential_rls import is_missing, is_update_finite, multiply_symmetric, scale_errors
from orfit_bench_numba._symmetric import mirror_lower, multiply_lower_triangle


@compiled("W W R R r R C R C R i w w W")
def learn_moving_rows(
    P: Any,
    W: Any,
    X: Any,
    Y: Any,
    noise: Any,
    f: Any,
    F: Any,
    q: Any,
    Q: Any,
    moves: Any,
    begun: Any,
    scale: Any,
    lost: Any,
    out: Any,
) -> Any:
    """Learn rows seen with these noises; returns how many: the next one was refused. NaN in its y: not seen.

    f (n, 1 or d) or F (n, d, d) are the transitions, q or Q the process noises, the other of size 0; moves (n, 2) says
    whether they do anything. One entry may stand for all rows. begun: the rows before; nothing moves to the first.
    """
    n, d = X.shape
    one, zero = P.dtype.type(1), P.dtype.type(0)
    size = max(F.shape[1], Q.shape[1])
    N, tile = np.empty((size, size), P.dtype), np.empty(112 * size, P.dtype)
    A, z, u, v = np.empty(W.shape, P.dtype), np.empty(len(W), P.dtype), np.empty(d, P.dtype), np.empty(d, P.dtype)
    g, h, diagonal = np.empty(d, P.dtype), np.empty(d, P.dtype), np.empty(d, P.dtype)
    for t in range(n):
        x, F_t, Q_t, moved = X[t], F[t % len(F)], Q[t % len(Q)], begun + t > 0
        turned, shaken = moves[t % len(moves), 0] > 0, moves[t % len(moves), 1] > 0
        fill_diagonal(g, f[t % len(f)], turned, one)
        fill_diagonal(h, q[t % len(q)], shaken, zero)
        left, least = noise[t], one
        if turned:  # it brings other directions here, and may grow what is wrong, as forgetting does
            left, least = one * np.inf, one / 100
        elif shaken:  # the variance along x that the next row finds
            left += process_noise_along(Q_t, h, x)
        if not moved:
            turned = shaken = False
            g[:] = 1
            h[:] = 0
        by_matrix = (turned and len(F_t) > 0) or (shaken and len(Q_t) > 0)
        if turned and len(F_t) > 0:
            np.dot(W, F_t.T, A)
        else:
            for k in range(len(W)):
                for j in range(d):
                    A[k, j] = W[k, j] * g[j]
        if by_matrix:
            predict_into(N, P, g, h, F_t[: size * turned], Q_t[: size * shaken], tile)
            copy(v, x)
            multiply_symmetric(N, v, u)
        else:
            for j in range(d):
                v[j] = g[j] * x[j]
            multiply_symmetric(P, v, u)
            for j in range(d):
                u[j] = g[j] * u[j] + h[j] * x[j]
        trace, widest = zero, zero
        for j in range(d):
            diagonal[j] = N[j, j] if by_matrix else P[j, j] * (g[j] * g[j]) + h[j]
            trace += abs(diagonal[j])
            widest = max(widest, abs(diagonal[j]))
        good = widest < np.inf and not np.isnan(trace) and (not by_matrix or is_finite(N.reshape(-1)))
        for k in range(len(W)):
            z[k] = dot(x, A[k])
        if len(out):
            copy(out[t], z)
        gap, says = is_missing(Y[t]), ACCEPTED
        v[:] = 0
        if gap:
            z[:] = 0
        else:
            says, gain, _ = judge_row(x, u, v, diagonal, trace, noise[t], left, least, one, one)
            scale_errors(z, Y[t], gain)
        if not (good and says != REFUSED and is_update_finite(A, v, z)):
            return t
        if says == DEGRADED:
            lost[0] = 1
        for k in range(len(W)):
            for j in range(d):
                W[k, j] = A[k, j] + z[k] * v[j]
        if turned or shaken:
            copy(scale, diagonal)
        elif gap:
            continue
        for i in range(d):
            v_i, g_i = v[i], g[i]
            if by_matrix:
                for j in range(d):
                    P[i, j] = N[i, j] - v_i * v[j]
            else:
                for j in range(d):
                    P[i, j] = P[i, j] * (g_i * g[j]) - v_i * v[j]
                P[i, i] += h[i]
    return n


@compiled("W R R R")
def predict_covariance(N: Any, P: Any, F: Any, Q: Any) -> None:
    """N <- F P F' + Q; of size 0, F is the identity and Q zero."""
    one, zero, tile = np.ones(len(P), P.dtype), np.zeros(len(P), P.dtype), np.empty(112 * len(P), P.dtype)
    predict_into(N, P, one, zero, F, Q, tile)


@inline
def predict_into(N: Any, P: Any, g: Any, h: Any, F: Any, Q: Any, tile: Any) -> None:
    """N <- F P F' + Q; of size 0, F is the diagonal g and Q the diagonal h."""
    if len(F):
        np.dot(F, P, N)
        multiply_lower_triangle(N, F, tile)
    for i in range(len(P)):
        if len(F) == 0:
            for j in range(i + 1):
                N[i, j] = P[i, j] * (g[i] * g[j])
        if len(Q):
            for j in range(i + 1):
                N[i, j] += Q[i, j]
        else:
            N[i, i] += h[i]
    mirror_lower(N)


@inline_reordered
def process_noise_along(Q: Any, h: Any, x: Any) -> Any:
    """x'Q x, where Q is the diagonal h if it has size 0."""
    total = x.dtype.type(0)
    for i in range(len(x)):
        along = h[i] * x[i]
        for j in range(len(Q)):
            along += Q[i, j] * x[j]
        total += along * x[i]
    return total


@inline
def fill_diagonal(g: Any, entry: Any, used: Any, other: Any) -> None:
    """g <- a number or a vector where it is used and given, else another number."""
    for j in range(len(g)):
        g[j] = entry[j % len(entry)] if used and len(entry) else other

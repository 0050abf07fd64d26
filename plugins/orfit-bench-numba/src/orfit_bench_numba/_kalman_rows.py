"""The rows of a Kalman filter whose state moves: P <- F P F' + Q, then the correction by the row, or neither.

If F and Q are numbers or diagonals, P is read for u = P x and written once, 7 flops an entry. A matrix F takes 3 d^3
flops, for F P and one triangle of (F P)F', near the rate of matrix products. Nothing is written before a row is
accepted. Writes P, W, scale and degraded; for matrices allocates a (d, d) array and some rows of one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, REFUSED, Limits
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._precision_guard import copy, dot, judge_row
from orfit_bench_numba._sequential_rls import is_missing, is_update_finite, multiply_symmetric, scale_errors
from orfit_bench_numba._symmetric import mirror_lower, multiply_lower_triangle


class Motion(NamedTuple):
    """How the state moves before each row; a matrix or a vector of size 0 is not given, one entry may stand for all.

    f (n, 1 or d) or F (n, d, d) are the transitions, q (n, 1 or d) or Q (n, d, d) the process noises, and moves (n, 2)
    tells which of both take effect. The controls U (n, c, d) are added to the means; none if n is 0.
    """

    f: Array
    F: Array
    q: Array
    Q: Array
    moves: Array
    U: Array


@compiled("W W R R r (R C R C R C) i w w W (M M M M)")
def learn_moving_rows(
    P: Array,
    W: Array,
    X: Array,
    Y: Array,
    noise: Array,
    motion: Motion,
    n_before: int,
    scale: Array,
    degraded: Array,
    out: Array,
    records: tuple[Array, Array, Array, Array],
) -> Any:
    """Learn rows with these noises; returns how many: the next one was refused. Rows with NaN in y are only predicted.

    The records (n, d, c) and (n, d, d) of the moments before and after each correction are not filled if n is 0.

    n_before is the number of rows before this call; the state does not move before the very first row.
    """
    work = allocate(W, max(motion[1].shape[1], motion[3].shape[1]))
    return move_rows(P, W, X, Y, noise, motion, n_before, scale, degraded, out, records, work)


@inline
def allocate(W: Array, size: int) -> Any:
    """Work space for means W (c, d), and for matrices of motion (size, size)."""
    N, tile = np.empty((size, size), W.dtype), np.empty(112 * size, W.dtype)
    return N, tile, np.empty(W.shape, W.dtype), np.empty((6, max(W.shape)), W.dtype)


@inline
def move_rows(
    P: Array,
    W: Array,
    X: Array,
    Y: Array,
    noise: Array,
    motion: Motion,
    n_before: int,
    scale: Array,
    degraded: Array,
    out: Array,
    records: tuple[Array, Array, Array, Array],
    work: tuple[Array, Array, Array, Array],
) -> Any:
    """See `learn_moving_rows`; with the work space of `allocate`."""
    n, d = X.shape
    f, F, q, Q, moves, U = motion
    m_pred, P_pred, m_corrected, P_corrected = records
    zero = P.dtype.type(0)
    one: Any = P.dtype.type(1)
    size = max(F.shape[1], Q.shape[1])
    N, tile, A, room = work
    z, u, v, g, h, diagonal = room[0, : len(W)], room[1, :d], room[2, :d], room[3, :d], room[4, :d], room[5, :d]
    for t in range(n):
        x, F_t, Q_t, moved = X[t], F[t % len(F)], Q[t % len(Q)], n_before + t > 0
        has_transition, has_noise = moves[t % len(moves), 0] > 0, moves[t % len(moves), 1] > 0
        fill_diagonal(g, f[t % len(f)], has_transition, one)
        fill_diagonal(h, q[t % len(q)], has_noise, zero)
        left, max_error = noise[t], one
        if has_transition:  # it moves variance here from other directions, and may amplify errors as forgetting does
            left, max_error = one * np.inf, one / 100
        elif has_noise:  # the least variance along x that the next row finds
            left += process_noise_along(Q_t, h, x)
        if not moved:
            has_transition = has_noise = False
            g[:] = 1
            h[:] = 0
        by_matrix = (has_transition and len(F_t) > 0) or (has_noise and len(Q_t) > 0)
        if has_transition and len(F_t) > 0:  # A = W F'
            np.dot(W, F_t.T, A)
        else:
            for k in range(len(W)):
                for j in range(d):
                    A[k, j] = W[k, j] * g[j]
        if moved and len(U):
            for k in range(len(W)):
                for j in range(d):
                    A[k, j] += U[t, k, j]
        if by_matrix:  # u = (F P F' + Q) x
            predict_into(N, P, g, h, F_t[: size * has_transition], Q_t[: size * has_noise], tile)
            copy(v, x)
            multiply_symmetric(N, v, u)
        else:
            for j in range(d):
                v[j] = g[j] * x[j]
            multiply_symmetric(P, v, u)
            for j in range(d):
                u[j] = g[j] * u[j] + h[j] * x[j]
        if len(m_pred):
            for i in range(d):
                for k in range(len(W)):
                    m_pred[t, i, k] = A[k, i]
                for j in range(d):
                    P_pred[t, i, j] = N[i, j] if by_matrix else P[i, j] * (g[i] * g[j])
                if not by_matrix:
                    P_pred[t, i, i] += h[i]
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
        missing, verdict = is_missing(Y[t]), ACCEPTED
        v[:] = 0
        if missing:
            z[:] = 0
        else:
            limits = Limits(one, max_error, np.inf)
            verdict, gain, _ = judge_row(x, u, v, diagonal, trace, noise[t], left, one, limits)
            scale_errors(z, Y[t], gain)
        if not (good and verdict != REFUSED and is_update_finite(A, v, z)):
            return t
        if verdict == DEGRADED:
            degraded[0] = 1
        for k in range(len(W)):
            for j in range(d):
                W[k, j] = A[k, j] + z[k] * v[j]
        if has_transition or has_noise:
            copy(scale, diagonal)
        changed = has_transition or has_noise or not missing
        for i in range(d if changed else 0):
            v_i, g_i = v[i], g[i]
            if by_matrix:
                for j in range(d):
                    P[i, j] = N[i, j] - v_i * v[j]
            else:
                for j in range(d):
                    P[i, j] = P[i, j] * (g_i * g[j]) - v_i * v[j]
                P[i, i] += h[i]
        if len(m_pred):
            for i in range(d):
                for k in range(len(W)):
                    m_corrected[t, i, k] = W[k, i]
                for j in range(d):
                    P_corrected[t, i, j] = P[i, j]
    return n


@compiled("W R R R")
def predict_covariance(N: Array, P: Array, F: Array, Q: Array) -> None:
    """N <- F P F' + Q; F of size 0 is the identity and Q of size 0 is zero."""
    one, zero, tile = np.ones(len(P), P.dtype), np.zeros(len(P), P.dtype), np.empty(112 * len(P), P.dtype)
    predict_into(N, P, one, zero, F, Q, tile)


@inline
def predict_into(N: Array, P: Array, g: Array, h: Array, F: Array, Q: Array, tile: Array) -> None:
    """N <- F P F' + Q; F of size 0 is diag(g) and Q of size 0 is diag(h)."""
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
def process_noise_along(Q: Array, h: Array, x: Array) -> Any:
    """x'Q x; Q of size 0 is diag(h)."""
    total = x.dtype.type(0)
    for i in range(len(x)):
        along = h[i] * x[i]
        for j in range(len(Q)):
            along += Q[i, j] * x[j]
        total += along * x[i]
    return total


@inline
def fill_diagonal(g: Array, entry: Array, used: bool, other: Scalar) -> None:
    """g <- entry, a number or a vector, if it is used and given, otherwise the number `other`."""
    for j in range(len(g)):
        g[j] = entry[j % len(entry)] if used and len(entry) else other

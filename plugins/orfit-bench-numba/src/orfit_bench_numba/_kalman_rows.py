"""The rows of a Kalman filter whose state moves: P <- F P F' + Q, then the correction by the row, or neither.

If F and Q are numbers or diagonals, P is read for u = P x and written once, 7 flops an entry. A matrix F takes 3 d^3
flops, for F P and one triangle of (F P)F', near the rate of matrix products. Nothing is written before a row is
accepted. Writes P, W, scale and degraded; for matrices allocates three arrays like P.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, REFUSED, Limits
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._moving_state import (
    add_control,
    correct_covariance,
    entry,
    fill_diagonal,
    multiply_predicted,
    predict_into,
    predict_mean,
    process_noise_along,
    record_correction,
    record_prediction,
)
from orfit_bench_numba._precision_guard import copy, dot, judge_row
from orfit_bench_numba._sequential_rls import is_missing, is_update_finite, scale_errors
from orfit_bench_numba._symmetric import allocate_tile


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


@compiled("W W f R R b b w w r f")
def learn_moving_row(
    P: Array,
    W: Array,
    noise: Scalar,
    transition: Array,
    process_noise: Array,
    has_transition: bool,
    has_noise: bool,
    scale: Array,
    degraded: Array,
    x: Array,
    y: Scalar,
) -> Any:
    """Learn one row x with one target y, not the very first; returns 1, or 0 if it is refused and nothing has changed.

    The transition and the process noise are (1, 0) if not given, (1, 1), (1, d) or (d, d). Ten arrays fewer than
    `learn_moving_rows` has, which take half of a microsecond to pass.
    """
    numbers, moves, none = np.empty((2, 1), P.dtype), np.empty((1, 2), P.dtype), P.reshape(1, len(P), len(P))[:0]
    numbers[0, 0], numbers[1, 0], moves[0, 0], moves[0, 1] = y, noise, has_transition, has_noise
    f, F = split_entry(transition, len(x))
    q, Q = split_entry(process_noise, len(x))
    work = allocate(W, max(F.shape[1], Q.shape[1]))
    motion, records = Motion(f, F, q, Q, moves, none), (none, none, none, none)
    rows, Y, unused = x.reshape(1, len(x)), numbers[:1], numbers[:0]
    return move_rows(P, W, rows, Y, numbers[1], motion, 1, scale, degraded, unused, records, work)


@inline
def split_entry(values: Array, d: int) -> Any:
    """A number or a diagonal as (1, 1 or d) and no matrix, or no number and a matrix as (1, d, d)."""
    if len(values) == d > 1:
        return values[:0].reshape(1, 0), values.reshape(1, d, d)
    return values, values[:0].reshape(1, 0, 0)


@inline
def allocate(W: Array, size: int) -> Any:
    """Work space for means W (c, d), and for matrices of motion (size, size)."""
    N, tile = np.empty((size, size), W.dtype), allocate_tile(size, W)
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
    zero: Any = P.dtype.type(0)
    one: Any = P.dtype.type(1)
    N, tile, A, room = work
    z, u, v, g, h, diagonal = room[0, : len(W)], room[1, :d], room[2, :d], room[3, :d], room[4, :d], room[5, :d]
    for t in range(n):
        x, F_t, Q_t, moved = X[t], entry(F, t), entry(Q, t), entry(moves, t)
        has_transition, has_noise = moved[0] > 0, moved[1] > 0
        fill_diagonal(g, entry(f, t), has_transition, one)
        fill_diagonal(h, entry(q, t), has_noise, zero)
        left, max_error = noise[t], one
        if has_transition:  # it moves variance here from other directions, and may amplify errors as forgetting does
            left, max_error = one * np.inf, one / 100
        elif has_noise:  # the least variance along x that the next row finds
            left += process_noise_along(Q_t, h, x)
        if n_before + t == 0:
            has_transition = has_noise = False
            g[:] = 1
            h[:] = 0
        by_matrix = (has_transition and len(F_t) > 0) or (has_noise and len(Q_t) > 0)
        predict_mean(A, W, F_t[: len(F_t) * has_transition], g)
        if len(U) and n_before + t > 0:
            add_control(A, U[t])
        if by_matrix:
            predict_into(N, P, g, h, F_t[: len(F_t) * has_transition], Q_t[: len(Q_t) * has_noise], tile)
        trace, finite = multiply_predicted(u, diagonal, P, N, x, g, h, v, by_matrix)
        if len(records[0]):
            record_prediction(records[0][t], records[1][t], A, P, N, g, h, by_matrix)
        for k in range(len(W)):
            z[k] = dot(x, A[k])
        if len(out):
            copy(out[t], z)
        missing, verdict = is_missing(Y[t]), ACCEPTED
        if missing:
            z[:] = 0
            v[:] = 0
        else:
            limits = Limits(one, max_error, np.inf)
            verdict, gain, _ = judge_row(x, u, v, diagonal, trace, noise[t], left, one, limits)
            scale_errors(z, Y[t], gain)
        if not (finite and verdict != REFUSED and is_update_finite(A, v, z)):
            return t
        if verdict == DEGRADED:
            degraded[0] = 1
        if has_transition or has_noise:
            copy(scale, diagonal)
        if has_transition or has_noise or not missing:
            correct_covariance(P, N, v, g, h, by_matrix)
        for k in range(len(W)):
            for j in range(d):
                W[k, j] = A[k, j] + z[k] * v[j]
        if len(records[0]):
            record_correction(records[2][t], records[3][t], W, P)
    return n

"""Rows of a Kalman filter with a moving state: P <- F P F' + Q, then the correction; a refused row does neither.

If F and Q are numbers or diagonals, P is read for u = P x and written once, 7 flops an entry. A matrix F takes 3 d^3
flops, for F P and one triangle of (F P)F', near the rate of matrix products. Nothing is written before a row is
accepted. Writes P, W, scale and degraded; allocates the work space of one row, for matrices up to three times P.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._borrow import hold
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._kalman_step import Work, allocate, correct_row, find_limits, predict_outputs, predict_row
from orfit_bench_numba._moving_state import add_control, entry, record_correction, record_prediction
from orfit_bench_numba._precision_guard import copy


class Motion(NamedTuple):
    """How the state moves before each row; arrays of size 0 are not given, and one entry can stand for all rows.

    f (n, 1 or d) or F (n, d, d) are the transitions, q (n, 1 or d) or Q (n, d, d) the process noises, and moves (n, 2)
    says which of the two take effect. The controls U (n, c, d) are added to the means; none if n is 0.
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
    """Learn rows with these noises until one is refused; returns how many. Rows with NaN in y are only predicted.

    The records (n, d, c) and (n, d, d) of the moments before and after each correction are not filled if n is 0.

    n_before is the number of rows before this call; the state does not move before the very first row.
    """
    work, owner = allocate(W, max(motion[1].shape[1], motion[3].shape[1]))
    learned = move_rows(P, W, X, Y, noise, motion, n_before, scale, degraded, out, records, work)
    hold(owner)
    return learned


@compiled("W W f R C R C b b w w r f")
def learn_moving_row(
    P: Array,
    W: Array,
    noise: Scalar,
    f: Array,
    F: Array,
    q: Array,
    Q: Array,
    has_transition: bool,
    has_noise: bool,
    scale: Array,
    degraded: Array,
    x: Array,
    y: Scalar,
) -> Any:
    """Learn one row x with one target y, but not the first row; returns 1, or 0 if it is refused and nothing changed.

    The motion is that of one row, see `Motion`. If y is missing, x is in no sum and is checked separately.
    """
    if np.isnan(y) and not is_finite(x):
        return 0
    work, owner = allocate(W, max(F.shape[1], Q.shape[1]))
    target, moving = np.full(1, y, P.dtype), (has_transition, has_noise)
    limits = find_limits(x, noise, q[0], Q[0], has_transition, has_noise, work)
    predicted = predict_row(P, W, x, f[0], F[0], q[0], Q[0], moving, work)
    predict_outputs(x, work)
    learned = int(correct_row(P, W, x, target, noise, limits, predicted, moving, scale, degraded, work))
    hold(owner)
    return learned


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
    work: Work,
) -> Any:
    """See `learn_moving_rows`; with the work space of `allocate`."""
    f, F, q, Q, moves, U = motion
    means, covariances, corrected_means, corrected = records
    for t in range(len(X)):
        x, q_t, Q_t, moved, first = X[t], entry(q, t), entry(Q, t), entry(moves, t), n_before + t == 0
        has_transition, has_noise = moved[0] > 0, moved[1] > 0
        limits = find_limits(x, noise[t], q_t, Q_t, has_transition, has_noise, work)
        moving = has_transition and not first, has_noise and not first
        predicted = predict_row(P, W, x, entry(f, t), entry(F, t), q_t, Q_t, moving, work)
        if len(U) and not first:
            add_control(work.A, U[t])
        if len(means):
            record_prediction(means[t], covariances[t], work.A, P, work.N, work.g, work.h, predicted[0])
        predict_outputs(x, work)
        if len(out):
            copy(out[t], work.z)
        if not correct_row(P, W, x, Y[t], noise[t], limits, predicted, moving, scale, degraded, work):
            return t
        if len(means):
            record_correction(corrected_means[t], corrected[t], W, P)
    return len(X)

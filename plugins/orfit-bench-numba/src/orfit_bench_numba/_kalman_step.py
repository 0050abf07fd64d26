"""One row of a Kalman filter with a moving state: its prediction, in work space, and its correction.

Shapes: P (d, d), W (c, d) the means by output, x (d,), y (c,); f, F, q and Q are the motion of one row, see
`_kalman_rows.Motion`, and `moving` says whether the transition and the process noise take effect.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, MAX_GROWING_ERROR, REFUSED, Limits
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._borrow import borrowed
from orfit_bench_numba._compile import inline
from orfit_bench_numba._covariance_row import is_missing, is_update_finite, scale_errors
from orfit_bench_numba._moving_state import (
    correct_covariance,
    fill_diagonal,
    include_terms,
    multiply_predicted,
    predict_into,
    predict_mean,
    process_noise_along,
)
from orfit_bench_numba._precision_guard import copy, dot, judge_row
from orfit_bench_numba._symmetric import tile_size
from orfit_bench_numba._work_space import aligned


class Work(NamedTuple):
    """Work space for one row, and the results of its prediction: A (c, d) the means, M the covariance.

    N (d, d) is M if a matrix moves the state, otherwise it has shape (0, 0); tile is work space for its product. u (d,)
    is M x, `diagonal` is the diagonal of M, or the larger variances of the terms from which it was computed, and g and
    h are the diagonals of a motion without matrices. z (c,) are predictions of y, then its errors, and v (d,) is the
    gain.
    """

    N: Array
    tile: Array
    A: Array
    z: Array
    u: Array
    v: Array
    g: Array
    h: Array
    diagonal: Array


@inline
def allocate(W: Array, size: int) -> Any:
    """Allocate work space for means W (c, d) and matrices of motion (size, size); returns it and its owner to hold."""
    c, d = W.shape
    owner = aligned(1, size * size + tile_size(size) + (c + 5) * d + c, W)
    room: Array = borrowed(owner)[0]
    tile, vectors = size * size, size * size + tile_size(size)
    N, A = room[:tile].reshape(size, size), room[vectors : vectors + c * d].reshape(c, d)
    rest = room[vectors + c * d :]
    u, v, g, h, diagonal = rest[:d], rest[d : 2 * d], rest[2 * d : 3 * d], rest[3 * d : 4 * d], rest[4 * d : 5 * d]
    return Work(N, room[tile:vectors], A, rest[5 * d :], u, v, g, h, diagonal), owner


@inline
def find_limits(
    x: Array, noise: Scalar, q: Array, Q: Array, has_transition: bool, has_noise: bool, work: Work
) -> tuple[Any, Any]:
    """The smallest variance along x before the next row, and the accepted errors of a variance."""
    one: Any = x.dtype.type(1)
    max_rounding: Any = x.dtype.type(MAX_GROWING_ERROR)
    unlimited: Any = x.dtype.type(np.inf)
    kept = Limits(one, one, one, unlimited)
    if has_transition:  # as guards.TRANSITION_LIMITS
        kept = Limits(one, max_rounding, unlimited, unlimited)
    if not has_noise:
        return noise, kept
    fill_diagonal(work.h, q, True, one - one)
    return noise + process_noise_along(Q, work.h, x), kept


@inline
def predict_row(
    P: Array,
    W: Array,
    x: Array,
    f: Array,
    F: Array,
    q: Array,
    Q: Array,
    moving: tuple[bool, bool],
    work: Work,
) -> Any:
    """Move the state into the work space; returns whether by a matrix, the trace of M, and whether M is finite."""
    has_transition, has_noise = moving
    zero: Any = P.dtype.type(0)
    by_matrix = (has_transition and len(F) > 0) or (has_noise and len(Q) > 0)
    F, Q = F[: len(F) * has_transition], Q[: len(Q) * has_noise]
    fill_diagonal(work.g, f, has_transition, zero + 1)
    fill_diagonal(work.h, q, has_noise, zero)
    predict_mean(work.A, W, F, work.g)
    if by_matrix:
        predict_into(work.N, P, work.g, work.h, F, Q, work.tile)
    trace, finite = multiply_predicted(work.u, work.diagonal, P, work.N, x, work.g, work.h, work.v, by_matrix)
    if len(F):
        trace = include_terms(work.diagonal, F, P, work.v)
    return by_matrix, trace, finite


@inline
def predict_outputs(x: Array, work: Work) -> None:
    """Compute z <- A x."""
    for k in range(len(work.z)):
        work.z[k] = dot(x, work.A[k])


@inline
def correct_row(
    P: Array,
    W: Array,
    x: Array,
    y: Array,
    noise: Scalar,
    limits: tuple[Any, Any],
    predicted: tuple[bool, Scalar, bool],
    moving: tuple[bool, bool],
    scale: Array,
    degraded: Array,
    work: Work,
) -> Any:
    """Write the moved state, corrected unless y has a NaN, to P and W; if refused, change nothing and return False."""
    by_matrix, trace, finite = predicted
    left, kept = limits
    one: Any = P.dtype.type(1)
    A, z, v = work.A, work.z, work.v
    missing, verdict = is_missing(y), ACCEPTED
    if missing:
        z[:] = 0
        v[:] = 0
    else:
        verdict, gain, _ = judge_row(x, work.u, v, work.diagonal, trace, noise, left, one, kept)
        scale_errors(z, y, gain)
    if not (finite and verdict != REFUSED and is_update_finite(A, v, z)):
        return False
    if verdict == DEGRADED:
        degraded[0] = 1
    moves = moving[0] or moving[1]
    if moves:
        copy(scale, work.diagonal)
    if moves or not missing:
        correct_covariance(P, work.N, v, work.g, work.h, by_matrix)
    for k in range(len(W)):
        for j in range(len(v)):
            W[k, j] = A[k, j] + z[k] * v[j]
    return True

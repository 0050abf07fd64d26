"""Rows of a Kalman filter in square-root form: S lower triangular, S S' = P, transformed by rotations from the right.

Before a row, a moving state triangularizes [F S, Q^(1/2)]. With N the result, or S itself, and v = N'x, a rotation of
(sqrt(r), v_d, ..., v_1) into (sqrt(x'P x + r), 0, ..., 0), from the last column of N to the first, leaves N lower
triangular and the gain times sqrt(x'P x + r) in the column of the noise.

A row takes 6 d^2 flops. A move takes 4/3 d^3 flops, or 10/3 d^3 with process noise, and d^3 more for a matrix F.
Nothing is written before a row is accepted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, MAX_GROWING_ERROR, REFUSED
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._covariance_row import is_missing
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._kalman_rows import Motion
from orfit_bench_numba._moving_state import add_control, entry, fill_diagonal, predict_mean
from orfit_bench_numba._precision_guard import copy, dot
from orfit_bench_numba._triangularize import triangularize


class Work(NamedTuple):
    """Work space for one row.

    N (d, d or 2 d) is the predicted root, next to the root of the process noise before both are made triangular. A
    (c, d) are the means by output, and z (c,) the predictions of y. Rounding is relative to `variances` (d,). The
    rotations have the cosines c (d,) and the sines s (d,). g (d,), h (d or 2 d,) and, before a correction, gain (d,)
    are work space.
    """

    N: Array
    A: Array
    z: Array
    variances: Array
    c: Array
    s: Array
    gain: Array
    g: Array
    h: Array


@compiled("W W R R r (R C R C R C) i w w W")
def learn_root_rows(
    S: Array,
    W: Array,
    X: Array,
    Y: Array,
    noise: Array,
    motion: Motion,
    n_before: int,
    scale: Array,
    degraded: Array,
    out: Array,
) -> Any:
    """Learn rows with these noises until one is refused; returns how many. Rows with NaN in y are only predicted.

    The motion is that of `_kalman_rows`, with roots of the process noises in place of these.
    """
    f, F, q, Q, moves, U = motion
    (c, d), adds = W.shape, moves[:, 1].any()
    wide, vectors = np.zeros((d, 2 * d if adds else d), S.dtype), np.zeros((5, d), S.dtype)
    A, z, h = np.empty((c, d), S.dtype), np.empty(c, S.dtype), np.empty(wide.shape[1], S.dtype)
    work = Work(wide, A, z, vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], h)
    for t in range(len(X)):
        x, q_t, Q_t, first = X[t], entry(q, t), entry(Q, t), n_before + t == 0
        has_transition, has_noise = entry(moves, t)[0] > 0, entry(moves, t)[1] > 0
        moving = (has_transition or has_noise) and not first
        f_t, F_t = entry(f, t), entry(F, t)
        finite = move_root(S, W, f_t, F_t, q_t, Q_t, has_transition and not first, has_noise and not first, work)
        if len(U) and not first:
            add_control(work.A, U[t])
        for k in range(c):
            work.z[k] = dot(x, work.A[k])
            if len(out):
                out[t, k] = work.z[k]
        verdict = ACCEPTED
        if not is_missing(Y[t]):
            regained = regained_variance(x, q_t, Q_t, has_noise, work)
            verdict = rotate_row(x, Y[t], noise[t], regained, has_transition, work)
        if not finite or verdict == REFUSED or not is_finite(work.A.reshape(-1)):
            return t
        if verdict == DEGRADED:
            degraded[0] = 1
        for k in range(c):
            copy(W[k], work.A[k])
        if moving:
            copy(scale, work.variances)
        for i in range(d):
            for j in range(i + 1):
                S[i, j] = work.N[i, j]
    return len(X)


@inline
def move_root(
    S: Array,
    W: Array,
    f: Array,
    F: Array,
    q: Array,
    Q: Array,
    has_transition: bool,
    has_noise: bool,
    work: Work,
) -> Any:
    """Predict the means, the root and the variances to which rounding is relative; returns whether P is finite."""
    (d, _), N, one = S.shape, work.N, S.dtype.type(1)
    F, Q = F[: len(F) * has_transition], Q[: len(Q) * has_noise]
    fill_diagonal(work.g, f, has_transition, one)
    predict_mean(work.A, W, F, work.g)
    N[:] = 0
    for i in range(d):
        for k in range(i, i + 1) if len(F) == 0 else range(d):
            along = F[i, k] if len(F) else work.g[i]
            for j in range(k + 1):
                N[i, j] += along * S[k, j]
    total = one - one
    for i in range(d):
        work.variances[i] = dot(N[i, :d], N[i, :d])
    if has_noise:
        fill_diagonal(work.h[:d], q, True, one - one)
        for i in range(d):
            if len(Q):
                copy(N[i, d:], Q[i])
            else:
                N[i, d + i] = work.h[i]
            work.variances[i] += dot(N[i, d:], N[i, d:])
    for i in range(d):
        total += work.variances[i] * 0
    if has_transition or has_noise:
        include_term_deviations(S, F, work)
        triangularize(N, work.h)
    return total == 0


@inline
def include_term_deviations(S: Array, F: Array, work: Work) -> None:
    """Raise the variances of F S to those of the terms F_ik S_kl of its sums, which may cancel."""
    d = len(S)
    for k in range(d):
        work.gain[k] = np.sqrt(dot(S[k, : k + 1], S[k, : k + 1]))
    for i in range(d):
        terms = work.gain[i]
        if len(F):
            terms = S.dtype.type(0)
            for k in range(d):
                terms += abs(F[i, k]) * work.gain[k]
        elif work.g[i] != 1:
            terms *= abs(work.g[i])
        work.variances[i] = max(work.variances[i], terms * terms)


@inline
def regained_variance(x: Array, q: Array, Q: Array, has_noise: bool, work: Work) -> Any:
    """The variance x'Q x that the process noise adds before the next row, for its root Q, or deviations q."""
    total = x.dtype.type(0)
    if not has_noise:
        return total
    if len(Q):
        work.h[:] = 0
        for i in range(len(x)):
            for j in range(len(x)):
                work.h[j] += Q[i, j] * x[i]
    else:
        fill_diagonal(work.h[: len(x)], q, True, total)
        for i in range(len(x)):
            work.h[i] *= x[i]
    return dot(work.h[: len(x)], work.h[: len(x)])


@inline
def rotate_row(x: Array, y: Array, noise: Scalar, regained: Scalar, has_transition: bool, work: Work) -> Any:
    """Correct the predicted means and root by a row, and return the verdict; if REFUSED, they are of no use."""
    N, c, s, d, eps = work.N, work.c, work.s, len(x), np.finfo(x.dtype).eps
    s[:] = 0
    for i in range(d):
        for j in range(i + 1):
            s[j] += N[i, j] * x[i]  # v = N'x
    size = np.sqrt(noise)
    for m in range(d):
        j = d - 1 - m
        turned = np.hypot(size, s[j])
        c[j], s[j], size = size / turned, s[j] / turned, turned
    rounding = x.dtype.type(0)
    for i in range(d):
        rounding += abs(x[i]) * np.sqrt(work.variances[i])
    rounding *= eps / size
    rounding *= rounding
    limit = x.dtype.type(MAX_GROWING_ERROR) if has_transition else x.dtype.type(1)
    rotate_columns(N, c, s, work.gain)
    for k in range(len(y)):
        error = (y[k] - work.z[k]) / size
        for i in range(d):
            work.A[k, i] += work.gain[i] * error
    if not (size < np.inf and rounding <= limit and is_finite(work.gain)):
        return REFUSED
    lost = rounding > np.sqrt(eps) or (eps * size) ** 2 > (noise + regained) * x.dtype.type(0.1)
    return DEGRADED if lost else ACCEPTED


@inline
def rotate_columns(N: Array, c: Array, s: Array, gain: Array) -> None:
    """Rotate the columns of N, from the last to the first, with a column of zeros, which becomes `gain`."""
    d = len(c)
    fours = d - d % 4  # four rows at a time, whose sums do not wait for one another
    for i in range(0, fours, 4):
        k0, k1, k2, k3 = c[0] * 0, c[0] * 0, c[0] * 0, c[0] * 0
        for m in range(i + 4):
            j = i + 3 - m
            n0, n1, n2, n3 = N[i, j], N[i + 1, j], N[i + 2, j], N[i + 3, j]
            N[i, j], N[i + 1, j] = c[j] * n0 - s[j] * k0, c[j] * n1 - s[j] * k1
            N[i + 2, j], N[i + 3, j] = c[j] * n2 - s[j] * k2, c[j] * n3 - s[j] * k3
            k0, k1 = c[j] * k0 + s[j] * n0, c[j] * k1 + s[j] * n1
            k2, k3 = c[j] * k2 + s[j] * n2, c[j] * k3 + s[j] * n3
        gain[i], gain[i + 1], gain[i + 2], gain[i + 3] = k0, k1, k2, k3
    for i in range(fours, d):
        k = c[0] * 0
        for m in range(i + 1):
            j = i - m
            n = N[i, j]
            N[i, j], k = c[j] * n - s[j] * k, c[j] * k + s[j] * n
        gain[i] = k

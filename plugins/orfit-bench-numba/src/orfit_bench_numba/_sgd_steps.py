"""Steps of sgd: w <- Proj(v - step (A'S / batch + ridge v)), for single rows or several rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.spec.kernel_arguments import State
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._losses import CROSS_ENTROPY, become_slopes_of_cross_entropy, loss_slope
from orfit_bench_numba._products import row_times
from orfit_bench_numba._sgd_moves import leave, look_ahead, move_along, project_to_ball, update_average

FEW_FEATURES = 64
"""Largest number of features for which loops over a row with several outputs are faster than BLAS."""


class Weights(NamedTuple):
    """The fields of the state as vectors; all except w have size 0 if they are not used."""

    w: Array
    previous: Array
    average: Array
    total: Array


class Schedule(NamedTuple):
    """For each step its size, the momentum, and the weight of its iterate in the average."""

    step: Array
    beta: Array
    counts: Array


def fields_of(s: State) -> tuple[Array, Array, Array, Array]:
    """w, previous, average and the weight of the average as vectors; fields that s does not have are of size 0."""
    none = np.empty(0, s.w.dtype)
    previous, average = getattr(s, "previous", none), getattr(s, "average", none)
    return s.w.reshape(-1), previous.reshape(-1), average.reshape(-1), getattr(s, "average_weight", none).reshape(-1)


@compiled("R R R (w w w w) (r r r) (i f) (f f) i i b W")
def descend(
    X: Array,
    Y: Array,
    E: Array,
    weights: Weights,
    schedule: Schedule,
    loss: tuple[int, Scalar],
    penalty: tuple[Scalar, Scalar],
    rows: int,
    batch: int,
    careful: bool,
    out: Array,
) -> Any:
    """w <- Proj(v - step (A'S / batch + ridge v)), with the slopes S of the losses on A, the next `rows` rows of X.

    loss is the kind and parameter of the loss, penalty the ridge and the radius of the ball onto which w is projected.
    Stops before an error that is not finite, and with `careful` before a step that would make w non-finite. Returns the
    number of rows learned.
    """
    w, previous, average, total = weights
    step, beta, counts = schedule
    kind, parameter = loss
    ridge, radius = penalty
    n, c = Y.shape
    S, ahead = np.empty((rows, c), w.dtype), np.empty_like(w)
    if rows == 1 and batch == 1 and len(E) == 0 and (c == 1 or X.shape[1] <= FEW_FEATURES):
        fields, numbers = (w, previous, average, total), (kind, parameter, ridge, radius)
        return learn_rows(0, n, X, Y, *fields, step, beta, counts, *numbers, careful, S, ahead, out)
    G = np.empty((X.shape[1], c), w.dtype)
    g = G.reshape(len(w))
    for i in range(n // rows):
        A, B = X[i * rows : (i + 1) * rows], Y[i * rows : (i + 1) * rows]
        v = w
        if beta[i] > 0:
            look_ahead(ahead, w, previous, beta[i])
            v = ahead
        np.dot(A, v.reshape(G.shape), S)
        if len(out):
            predictor = average if len(average) and total[0] > 0 else w
            np.dot(A, predictor.reshape(G.shape), out[i * rows : (i + 1) * rows])
        for r in range(rows):
            for k in range(c):
                e = B[r, k] - S[r, k] if len(E) == 0 else E[r, k]
                if not np.isfinite(e):
                    return i * rows
                S[r, k] = B[r, k] - e if kind == CROSS_ENTROPY else loss_slope(kind, e, B[r, k], parameter) / batch
        if kind == CROSS_ENTROPY:
            become_slopes_of_cross_entropy(S, B, batch)
        for r in range(rows):
            for k in range(c):
                S[r, k] *= step[i]  # step g is finite even if g would overflow
        np.dot(A.T, S, G)
        shrink = step[i] * ridge
        if not move_along(w, previous, average, total, ahead, g, shrink, beta[i], counts[i], radius, careful):
            return i * rows
    return n


@inline
def learn_rows(
    begin: int,
    end: int,
    X: Array,
    Y: Array,
    w: Array,
    previous: Array,
    average: Array,
    total: Array,
    step: Array,
    beta: Array,
    counts: Array,
    kind: int,
    parameter: Any,
    ridge: Any,
    radius: Any,
    careful: bool,
    S: Array,
    ahead: Array,
    out: Array,
) -> Any:
    """Take a step for each of the rows begin to end, with work space for the slopes S (1, c) and v.

    Only entries of arrays are used: creating a view counts references, which takes longer than a row of few features.
    """
    c = Y.shape[1]
    for t in range(begin, end):
        if beta[t] > 0:
            look_ahead(ahead, w, previous, beta[t])
            predict(S, 0, X, t, ahead)
        else:
            predict(S, 0, X, t, w)
        if len(out) and len(average) and total[0] > 0:
            predict(out, t, X, t, average)
        elif len(out):
            predict(out, t, X, t, w)
        for k in range(c):
            e = Y[t, k] - S[0, k]
            if not np.isfinite(e):
                return t - begin
            if kind != CROSS_ENTROPY:
                S[0, k] = loss_slope(kind, e, Y[t, k], parameter)
        if kind == CROSS_ENTROPY:
            become_slopes_of_cross_entropy(S, Y[t : t + 1], 1)
        shrink = step[t] * ridge
        if careful and beta[t] > 0 and not stays_finite(ahead, X, t, S, step[t], shrink):
            return t - begin
        if careful and not beta[t] > 0 and not stays_finite(w, X, t, S, step[t], shrink):
            return t - begin
        if len(average) and counts[t] > 0 and not update_average(average, total, w, counts[t]):
            return t - begin
        if len(previous):
            leave(w, previous, ahead, beta[t])
        move(w, X, t, S, step[t], shrink)
        if radius < np.inf:
            project_to_ball(w, radius)
    return end - begin


@inline
def predict(F: Array, i: int, X: Array, t: int, v: Array) -> None:
    """Compute F[i] <- v'x for row t of X."""
    c = F.shape[1]
    if c == 1:
        F[i, 0] = row_times(X, t, v)
        return
    for k in range(c):
        F[i, k] = 0
    for j in range(X.shape[1]):
        for k in range(c):
            F[i, k] += X[t, j] * v[j * c + k]


@inline
def stays_finite(v: Array, X: Array, t: int, S: Array, step: Any, shrink: Any) -> Any:
    """Whether all of v - (step x S + shrink v) is finite for row t of X."""
    finite, c = True, S.shape[1]
    for k in range(c):
        rate = step * S[0, k]
        for j in range(X.shape[1]):
            finite &= np.isfinite(v[j * c + k] - (rate * X[t, j] + shrink * v[j * c + k]))
    return finite


@inline
def move(w: Array, X: Array, t: int, S: Array, step: Any, shrink: Any) -> None:
    """Compute w <- w - (step x S + shrink w) for row t of X."""
    c = S.shape[1]
    if c == 1:
        rate = step * S[0, 0]
        for j in range(len(w)):
            w[j] -= rate * X[t, j] + shrink * w[j]
        return
    for j in range(X.shape[1]):
        for k in range(c):
            w[j * c + k] -= step * S[0, k] * X[t, j] + shrink * w[j * c + k]

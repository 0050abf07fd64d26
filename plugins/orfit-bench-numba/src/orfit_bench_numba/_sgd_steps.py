"""Steps of sgd: w <- Proj(v - step (A'S / batch + ridge v)), row by row or of several rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline

SQUARE, ABSOLUTE, HUBER, HINGE, LOGISTIC, INSENSITIVE, QUANTILE, CROSS_ENTROPY = range(8)
LOSSES = {
    "square": SQUARE,
    "absolute": ABSOLUTE,
    "huber": HUBER,
    "hinge": HINGE,
    "logistic": LOGISTIC,
    "epsilon_insensitive": INSENSITIVE,
    "quantile": QUANTILE,
    "cross_entropy": CROSS_ENTROPY,
}
LOSS_PARAMETERS = {"huber": "delta", "epsilon_insensitive": "epsilon", "quantile": "tau"}
"""The setting that is the parameter of a loss."""


class Weights(NamedTuple):
    """The fields of the state, as vectors; all but w have size 0 if they are not used."""

    w: Array
    previous: Array
    average: Array
    total: Array


class Schedule(NamedTuple):
    """Per step: its size, the momentum, and the weight of its iterate in the average."""

    step: Array
    beta: Array
    counts: Array


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
    """Take the steps of `take_steps`; returns the number of rows learned."""
    return take_steps(X, Y, E, weights, schedule, loss, penalty, rows, batch, careful, out)


@inline
def take_steps(
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
    """w <- Proj(v - step (A'S / batch + ridge v)), S the slopes of the losses on A, the next `rows` rows of X.

    loss is its kind and its parameter, penalty the ridge and the radius of the ball onto which w is projected. With
    careful, stops before a step after which w would not be finite. Returns the number of rows learned.
    """
    w, previous, average, total = weights
    step, beta, counts = schedule
    kind, parameter = loss
    ridge, radius = penalty
    n, c = Y.shape
    p, one = X.shape[1], w.dtype.type(1)
    S, G, ahead = np.empty((rows, c), w.dtype), np.empty((p, c), w.dtype), np.empty_like(w)
    for i in range(n // rows):
        A, B = X[i * rows : (i + 1) * rows], Y[i * rows : (i + 1) * rows]
        v = w
        if beta[i] > 0:  # Nesterov: v_t = w_t + beta_t (w_t - w_(t-1))
            v = ahead
            for j in range(len(w)):
                v[j] = w[j] + beta[i] * (w[j] - previous[j])
        predict(S, A, v)
        if len(out):
            predict(out[i * rows : (i + 1) * rows], A, average if len(average) and total[0] > 0 else w)
        for r in range(rows):
            for k in range(c):
                e = B[r, k] - S[r, k] if len(E) == 0 else E[r, k]
                S[r, k] = B[r, k] - e if kind == CROSS_ENTROPY else loss_slope(kind, e, B[r, k], parameter) / batch
        if kind == CROSS_ENTROPY:
            become_slopes_of_cross_entropy(S, B, batch)
        g, rate = A[0], step[i] * S[0, 0]
        if rows * c > 1:
            np.dot(A.T, S, G)
            g, rate = G.reshape(p * c), step[i]
        shrink = step[i] * ridge  # 1 - shrink would be rounded to a multiple of eps
        if careful and not stays_finite(v, shrink, rate, g):
            return i * rows
        if len(average) and counts[i] > 0:
            grown = total[0] + counts[i]
            if not grown < np.inf:
                return i * rows
            share = counts[i] / grown
            for j in range(len(w)):
                average[j] = (one - share) * average[j] + share * w[j]
            total[0] = grown
        for j in range(len(previous)):
            previous[j] = w[j]
        if beta[i] > 0:
            for j in range(len(w)):
                w[j] = ahead[j]
        for j in range(len(w)):
            w[j] -= rate * g[j] + shrink * w[j]
        if radius < np.inf:
            project_to_ball(w, radius)
    return n


@inline
def stays_finite(v: Array, shrink: Any, rate: Any, g: Array) -> Any:
    """Whether all of v - (rate g + shrink v) is finite."""
    finite = True
    for j in range(len(v)):
        finite &= np.isfinite(v[j] - (rate * g[j] + shrink * v[j]))
    return finite


@inline
def predict(F: Array, A: Array, v: Array) -> None:
    """F <- A v."""
    np.dot(A, v.reshape(A.shape[1], F.shape[1]), F)


@inline
def loss_slope(loss: int, e: Any, y: Any, parameter: Any) -> Any:
    """The derivative of the loss l(y, f) by f, as a function of e = y - f; 0 at a kink, NaN if e is NaN."""
    if loss == SQUARE or np.isnan(e):
        return -e
    if loss == HUBER:
        return -min(max(e, -parameter), parameter)
    if loss == HINGE:
        return -y if y * e > 0 else 0 * y  # 1 - y f = y (y - f), for y is -1 or 1
    if loss == LOGISTIC:
        return -y / (1 + np.exp(1 - y * e))
    if loss == QUANTILE:
        return -parameter * (e > 0) + (1 - parameter) * (e < 0)
    return -np.sign(e) * (abs(e) > parameter)  # absolute has the parameter 0, insensitive epsilon


@inline
def become_slopes_of_cross_entropy(S: Array, B: Array, batch: int) -> None:
    """S <- (q - y) / batch, q the softmax of each row's m outputs; S is (batch m, 1) on a model, else (batch, m)."""
    c = S.shape[1]
    m = len(S) * c // batch
    for begin in range(0, len(S) * c, m):
        top, total = S[begin // c, 0], S.dtype.type(0)
        for j in range(begin, begin + m):
            top = top if S[j // c, j % c] <= top else S[j // c, j % c]
        for j in range(begin, begin + m):
            S[j // c, j % c] = np.exp(S[j // c, j % c] - top)
            total += S[j // c, j % c]
        for j in range(begin, begin + m):
            S[j // c, j % c] = (S[j // c, j % c] / total - B[j // c, j % c]) / batch


@inline
def project_to_ball(v: Array, radius: Any) -> None:
    """v <- its projection onto the ball of this radius."""
    square, size = np.dot(v, v), v.dtype.type(1)
    safe = np.finfo(v.dtype).tiny / np.finfo(v.dtype).eps < square < np.inf
    if not safe:  # a square overflowed or underflowed; those of v / size, size = max |v_j|, do not
        size = square = v.dtype.type(0)
        for j in range(len(v)):
            size = max(size, abs(v[j]))
        for j in range(len(v)):
            square += (v[j] / size) * (v[j] / size)
    inside = radius / math.sqrt(square)
    if size > inside:
        for j in range(0 if safe else len(v)):
            v[j] /= size
        for j in range(len(v)):
            v[j] *= inside

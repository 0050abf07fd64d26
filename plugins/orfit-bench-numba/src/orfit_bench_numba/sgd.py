"""SGD and its variants (slides, "SGD beyond least square" to "SGD convergence"; signs and means corrected).

The plainest setting is computed by the kernel of `lms`. Others read w and x twice a step, for the prediction and for
the step, write w once, and pass over w once more for each of momentum, averaging and projection; all from the cache,
whose bandwidth is the limit. Finite weights are checked once a chunk, as in `learn_by_gradient`. Allocated once a call:
copies of the fields, v and the gradient, and the slopes of a step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from orfit_bench_numba import _complex_rows, _gradient
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._gradient import learn_by_gradient
from orfit_bench_numpy.sgd import is_plain, slopes
from orfit_bench_numpy.sgd import learn as learn_complex

__all__ = ["ahead", "bind_row", "bind_rows", "learn", "move", "slopes", "step", "update"]

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
CHECKS_ROWS = True
COMPLEX = True
"""With the loss e^2 / 2. Only the setting that is the step of `lms` is compiled for complex numbers; all others are
computed by the reference."""


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Each b rows A are the gradients of a step, y - A v its errors; predictions are the average's."""
    if X.dtype.kind == "c":
        return _learn_complex(s, X, Y, p, out)
    if is_plain(s, p):
        return learn_by_gradient(s, X, Y, p.step_size, None, out)
    before = [a.copy() for a in s]
    predictions = np.empty((0, 0), X.dtype) if out is None else out
    none = np.empty((0, 1), X.dtype)
    learned = _descend(s, X, Y, none, p, p.batch_size, predictions, False)
    if np.isfinite(s.w).all():
        return learned
    for a, was in zip(s, before, strict=True):
        a[...] = was
    if not np.isfinite(X).all():
        return NOT_FINITE
    return _descend(s, X, Y, none, p, p.batch_size, predictions, True)


def bind_row(s: Any, p: Any) -> Any:
    """The same for one row of real numbers with one output, where it is the step of `lms`; otherwise None."""
    is_real = s.w.dtype.kind == "f"
    return _gradient.bind_row(s, p.step_size[0], None) if is_real and is_plain(s, p) else None


def bind_rows(s: Any, p: Any) -> Any:
    """The same for rows of real numbers with one output."""
    is_real = s.w.dtype.kind == "f"
    return _gradient.bind_rows(s, p.step_size[0], None) if is_real and is_plain(s, p) else None


def _learn_complex(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    if is_plain(s, p):
        return _complex_rows.learn_by_gradient(s, X, Y, p.step_size, None, out)
    return learn_complex(s, X, Y, p, out) if np.isfinite(X).all() else NOT_FINITE


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """One step on gradients and errors at v_t."""
    return _descend(s, J, p.targets, E, p, len(J), np.empty((0, 0), J.dtype), True) == len(J)


def move(s: Any, g: Array, p: Any) -> bool:
    """One step along the sum g (p, 1) of gradients at v_t, as the gradient of one row of slope 1."""
    error = np.full((1, 1), -1, g.dtype)
    return _descend(s, g.T, 0 * error, error, p._replace(loss="square"), 1, np.empty((0, 0), g.dtype), True) == 1


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as one step."""
    return learn(s, A, Y, p, None) == len(A)


def ahead(s: Any, p: Any) -> Array:
    """v_t = w_t + beta_t (w_t - w_(t-1)), v_1 = w_1: where Nesterov takes the gradient."""
    w: Array = s.w
    return w if p.t == 1 or not hasattr(s, "previous") else w + p.momentum[0] * (w - s.previous)


def _descend(s: Any, X: Array, Y: Array, E: Array, p: Any, rows: int, out: Array, careful: bool) -> int:
    """The number of rows learned, in steps of `rows` rows; a single step if the errors E at v are given."""
    none = np.empty(0, X.dtype)
    weights = [getattr(s, name, none).reshape(-1) for name in ("w", "previous", "average", "average_weight")]
    counts = p.weights
    if p.averaging != "weighted":
        counts = np.ones_like(counts)
        counts[: max(0, p.tail_start - p.t) if p.averaging == "tail" else 0] = 0
    beta = p.momentum if p.t > 1 else np.append(0, p.momentum[1:]).astype(X.dtype)
    parameter = getattr(p, LOSS_PARAMETERS[p.loss]) if p.loss in LOSS_PARAMETERS else 0.0
    schedule, loss, penalty = (p.step_size, beta, counts), (LOSSES[p.loss], parameter), (p.ridge, p.radius)
    return int(descend(X, Y, E, tuple(weights), schedule, loss, penalty, rows, p.batch_size, careful, out))


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

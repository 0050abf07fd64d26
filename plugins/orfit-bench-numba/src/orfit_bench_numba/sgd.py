"""SGD and its variants (slides, "SGD beyond least square" to "SGD convergence"; signs and means corrected).

The plainest setting is computed by the kernel of `lms`. Others read w and x twice a step, for the prediction and for
the step, write w once, and pass over w once more for each of momentum, averaging and projection; all from the cache,
whose bandwidth is the limit. Finite weights are checked once a chunk, as in `learn_by_gradient`. Allocated once a call:
copies of the fields, v and the gradient, and the slopes of a step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._gradient import NOT_FINITE, Array, learn_by_gradient, stays_finite

SQUARE, ABSOLUTE, HUBER, HINGE, LOGISTIC, INSENSITIVE, QUANTILE = range(7)
LOSSES = {
    "square": SQUARE,
    "absolute": ABSOLUTE,
    "huber": HUBER,
    "hinge": HINGE,
    "logistic": LOGISTIC,
    "epsilon_insensitive": INSENSITIVE,
    "quantile": QUANTILE,
}
LOSS_PARAMETERS = {"huber": "delta", "epsilon_insensitive": "epsilon", "quantile": "tau"}
"""The setting that bends a loss."""
CHECKS_ROWS = True


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Each b rows A are the gradients of a step, y - A v its errors; predictions are the average's."""
    plain = p.loss == "square" and len(s) == 1 and not p.ridge and p.radius == math.inf
    if plain and p.batch_size == 1:
        return learn_by_gradient(s, X, Y, p.step_size, None, out)
    before = [a.copy() for a in s]
    told = np.empty((0, 0), X.dtype) if out is None else out
    none = np.empty((0, 1), X.dtype)
    learned = _descend(s, X, Y, none, p, p.batch_size, told, False)
    if np.isfinite(s.w).all():
        return learned
    for a, was in zip(s, before, strict=True):
        a[...] = was
    if not np.isfinite(X).all():
        return NOT_FINITE
    return _descend(s, X, Y, none, p, p.batch_size, told, True)


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """One step on gradients and errors at v_t."""
    return _descend(s, J, p.targets, E, p, len(J), np.empty((0, 0), J.dtype), True) == len(J)


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as one step."""
    return learn(s, A, Y, p, None) == len(A)


def ahead(s: Any, p: Any) -> Array:
    """v_t = w_t + beta_t (w_t - w_(t-1)), v_1 = w_1: where Nesterov takes the gradient."""
    w: Array = s.w
    return w if p.t == 1 or not hasattr(s, "previous") else w + p.momentum[0] * (w - s.previous)


def _descend(s: Any, X: Array, Y: Array, E: Array, p: Any, rows: int, told: Array, careful: bool) -> int:
    """The rows learned, in steps of so many; with errors E at v, of one step."""
    none = np.empty(0, X.dtype)
    fields = [getattr(s, name, none).reshape(-1) for name in ("w", "previous", "average", "average_weight")]
    counts = p.weights
    if p.averaging != "weighted":
        counts = np.ones_like(counts)
        counts[: max(0, p.tail_start - p.t) if p.averaging == "tail" else 0] = 0
    beta = p.momentum if p.t > 1 else np.append(0, p.momentum[1:]).astype(X.dtype)
    bend = getattr(p, LOSS_PARAMETERS[p.loss]) if p.loss in LOSS_PARAMETERS else 0.0
    how = p.step_size, beta, counts, LOSSES[p.loss], bend, rows, p.batch_size, p.ridge, p.radius, careful
    return int(descend(*fields, X, Y, E, *how, told))


@compiled("w w w w R R R r r r i f i f f f b W")
def descend(
    w: Any,
    previous: Any,
    average: Any,
    total: Any,
    X: Any,
    Y: Any,
    E: Any,
    step: Any,
    beta: Any,
    counts: Any,
    loss: Any,
    bend: Any,
    rows: Any,
    batch: Any,
    ridge: Any,
    radius: Any,
    careful: Any,
    told: Any,
) -> Any:
    """w <- Proj(v - step (A'S + ridge v)), S the slopes of the losses over `batch`, A the next so many rows of X."""
    n, c = Y.shape
    p, one = X.shape[1], w.dtype.type(1)
    S, G, ahead = np.empty((rows, c), w.dtype), np.empty((p, c), w.dtype), np.empty_like(w)
    for i in range(n // rows):
        A, B = X[i * rows : (i + 1) * rows], Y[i * rows : (i + 1) * rows]
        v = w
        if beta[i] > 0:
            v = ahead
            for j in range(len(w)):
                v[j] = w[j] + beta[i] * (w[j] - previous[j])
        predict(S, A, v)
        if len(told):
            predict(told[i * rows : (i + 1) * rows], A, average if len(average) and total[0] > 0 else w)
        for r in range(rows):
            for k in range(c):
                e = B[r, k] - S[r, k] if len(E) == 0 else E[r, k]
                S[r, k] = loss_slope(loss, e, B[r, k], bend) / batch
        g, rate = A[0], step[i] * S[0, 0]
        if rows * c > 1:
            np.dot(A.T, S, G)
            g, rate = G.reshape(p * c), step[i]
        keep = one - step[i] * ridge
        if careful and not stays_finite(v, keep, g, -rate):
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
            w[j] = keep * w[j] - rate * g[j]
        if radius < np.inf:
            project_to_ball(w, radius)
    return n


@inline
def predict(F: Any, A: Any, v: Any) -> None:
    """F <- A v."""
    np.dot(A, v.reshape(A.shape[1], F.shape[1]), F)


@inline
def loss_slope(loss: Any, e: Any, y: Any, bend: Any) -> Any:
    """l'(y, f) as a function of e = y - f; 0 at a kink, and NaN where e is."""
    if loss == SQUARE or np.isnan(e):
        return -e
    if loss == HUBER:
        return -min(max(e, -bend), bend)
    if loss == HINGE:
        return -y if y * e > 0 else 0 * y  # 1 - y f = y (y - f), for y is -1 or 1
    if loss == LOGISTIC:
        return -y / (1 + np.exp(1 - y * e))
    if loss == QUANTILE:
        return -bend * (e > 0) + (1 - bend) * (e < 0)
    return -np.sign(e) * (abs(e) > bend)  # absolute, with a bend of 0, and insensitive to less than epsilon


@inline
def project_to_ball(v: Any, radius: Any) -> None:
    """v <- the point nearest to it in the ball of this radius."""
    square, size = np.dot(v, v), v.dtype.type(1)
    safe = np.finfo(v.dtype).tiny / np.finfo(v.dtype).eps < square < np.inf
    if not safe:  # a square over- or underflowed: of v / size, size the largest |v_j|, none does
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

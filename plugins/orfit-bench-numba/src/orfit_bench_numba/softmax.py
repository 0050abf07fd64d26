"""Softmax regression (slides, SGD beyond least square, with the multinomial logistic loss).

Models other than networks use the rule of NumPy, where the product with the gradients takes most of the time.

A row takes two flops per entry of w for the scores and two for the step; w is read once more to check that the step is
finite.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import FleetParams, Params, State
from orfit_bench_numba._arrays import Array, BoundLabel, Indices, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._fleets import on_threads
from orfit_bench_numba._losses import CROSS_ENTROPY
from orfit_bench_numba._network_descent import Descent, LabelDescent
from orfit_bench_numpy.softmax import move, slopes, update

__all__ = ["bind_label", "fleet_learn", "for_network", "learn", "move", "slopes", "step", "update"]


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """For each row: w_k <- w_k - step ((q_k - y_k) x + ridge w_k) for the classes that were seen."""
    predictions = np.empty((0, 0), X.dtype) if out is None else out
    return int(learn_all_rows(s.w, s.seen, X, Y, p.step_size, p.ridge, predictions))


def bind_label(s: State, p: Params) -> BoundLabel | None:
    """A function that learns one row of a known class."""
    return partial(learn_label.entry_point(s.w.dtype), s.w, s.seen, p.step_size, float(p.ridge))


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn all rows of A in one step on their mean loss."""
    return bool(take_step(s.w, s.seen, A, Y, p.step_size[0], p.ridge))


def for_network(network: Any, d: int, c: int, settings: Any) -> LabelDescent:
    """The rule for rows of a network."""
    return LabelDescent(network, d, c, _describe)


def _describe(s: State, p: Params, begun: bool) -> Descent:
    none, zeros = s.w[:0, 0], np.zeros_like(p.step_size)
    penalty = float(p.ridge), np.inf
    return Descent((s.w[:, 0], none, none, none), (p.step_size, zeros, zeros), (CROSS_ENTROPY, 0.0), penalty, s.seen)


def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
    """Learn the rows of all members, each with separate steps."""
    learned, dtype = np.zeros(len(p.members), np.int64), X.dtype
    step, ridge = np.ascontiguousarray(p.step_size, dtype), np.ascontiguousarray(p.ridge, dtype)
    predictions = np.empty((0, 0), dtype) if out is None else out
    given = s.w, s.seen, X, Y, p.members, p.starts, step, ridge, learned, predictions
    on_threads(lambda begin, end: learn_members(*given, begin, end), len(learned), 8.0 * X.size * Y.shape[1])
    return learned


@compiled("M W R R I I r r I W i i")
def learn_members(
    W: Array,
    seen: Array,
    X: Array,
    Y: Array,
    members: Indices,
    starts: Indices,
    step: Array,
    ridge: Array,
    learned: Indices,
    out: Array,
    begin: int,
    end: int,
) -> None:
    """Learn the rows of members[begin:end], W (N, d, c), seen (N, c); counts them in `learned`."""
    e, known = np.empty(Y.shape[1], W.dtype), np.empty(Y.shape[1], np.bool_)
    for j in range(begin, end):
        i = members[j]
        learned[j] = learn_rows(starts[j], starts[j + 1], W[i], seen[i], X, Y, step, ridge[j], e, known, out)


@compiled("W w R R r f W")
def learn_all_rows(w: Array, seen: Array, X: Array, Y: Array, step: Array, ridge: Scalar, out: Array) -> Any:
    """Learn row by row until a step would not be finite; returns the number of rows learned."""
    e, known = np.empty(w.shape[1], w.dtype), np.empty(w.shape[1], np.bool_)
    return learn_rows(0, len(X), w, seen, X, Y, step, ridge, e, known, out)


@compiled("W w r f r i")
def learn_label(w: Array, seen: Array, step: Array, ridge: Scalar, x: Array, label: int) -> Any:
    """Learn a row of this class; returns 1, or 0 if the step would not be finite and nothing has changed."""
    d, c = w.shape
    e, Y = np.empty(c, w.dtype), np.zeros((1, c), w.dtype)
    Y[0, label] = 1
    return learn_rows(0, 1, w, seen, x.reshape((1, d)), Y, step, ridge, e, np.empty(c, np.bool_), Y[:0])


@inline
def learn_rows(
    begin: int,
    end: int,
    w: Array,
    seen: Array,
    X: Array,
    Y: Array,
    step: Array,
    ridge: Any,
    e: Array,
    known: Any,
    out: Array,
) -> Any:
    """Learn the rows begin to end, with work space e (c,) and known (c,).

    Only entries of arrays are used: creating a view counts references, which takes longer than a row of few features.
    """
    (d, c), one = w.shape, w.dtype.type(1)  # an integer would make the numbers below float64
    for t in range(begin, end):
        for k in range(c):
            known[k] = seen[k] > 0 or Y[t, k] > 0
        score(e, X, t, w)
        for k in range(c if len(out) else 0):
            out[t, k] = e[k]
        if not subtract_probabilities(e, Y, t, known):
            return t - begin
        keep, finite = one - step[t] * ridge, True
        for j in range(d):
            for k in range(c):
                finite &= np.isfinite(keep * w[j, k] + step[t] * (X[t, j] * e[k]))
        if not finite:
            return t - begin
        for j in range(d):
            for k in range(c):
                w[j, k] = keep * w[j, k] + step[t] * (X[t, j] * e[k])
        for k in range(c):
            seen[k] += Y[t, k]
    return end - begin


@compiled("W w R R f f")
def take_step(w: Array, seen: Array, A: Array, Y: Array, step: Scalar, ridge: Scalar) -> Any:
    """Take one step on the mean loss of all rows; returns whether it is finite and was applied."""
    (n, d), c = A.shape, w.shape[1]
    e, G, known = np.empty(c, w.dtype), np.zeros((d, c), w.dtype), seen > 0
    for t in range(n):
        for k in range(c):
            known[k] |= Y[t, k] > 0
    for t in range(n):
        score(e, A, t, w)
        if not subtract_probabilities(e, Y, t, known):
            return False
        for j in range(d):
            for k in range(c):
                G[j, k] += A[t, j] * e[k]
    changed = (w.dtype.type(1) - step * ridge) * w + step / w.dtype.type(n) * G
    if not np.isfinite(changed).all():
        return False
    w[:] = changed
    for t in range(n):
        for k in range(c):
            seen[k] += Y[t, k]
    return True


@inline
def score(e: Array, X: Array, t: int, w: Array) -> None:
    """Compute e <- w'x for row t of X."""
    for k in range(len(e)):
        e[k] = 0
    for j in range(X.shape[1]):
        for k in range(len(e)):
            e[k] += X[t, j] * w[j, k]


@inline
def subtract_probabilities(e: Array, Y: Array, t: int, known: Any) -> Any:
    """e <- y - q for the label y of row t, with q from the scores e of known classes; returns whether e is finite."""
    top, total = -e.dtype.type(np.inf), e.dtype.type(0)
    for k in range(len(e)):
        if known[k] and not e[k] <= top:
            top = e[k]
    for k in range(len(e)):
        e[k] = np.exp(e[k] - top) if known[k] else 0
        total += e[k]
    for k in range(len(e)):
        e[k] = Y[t, k] - e[k] / total
    return total >= 1

"""Softmax regression (slides, SGD beyond least square, with the multinomial logistic loss).

Nonlinear models take the rule of NumPy, whose time is in the product with the gradients.

A row takes two flops an entry of w for the scores and two for the step; w is read and written once more to see whether
the step stays finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Indices, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._fleets import on_threads
from orfit_bench_numpy.softmax import move, slopes, update

__all__ = ["fleet_learn", "learn", "move", "slopes", "step", "update"]


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Each row: w_k <- w_k - step ((q_k - y_k) x + ridge w_k) for the classes that were seen."""
    predictions = np.empty((0, 0), X.dtype) if out is None else out
    return int(descend(s.w, s.seen, X, Y, p.step_size, p.ridge, 1, predictions))


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as one step on their mean loss."""
    return int(descend(s.w, s.seen, A, Y, p.step_size, p.ridge, len(A), np.empty((0, 0), A.dtype))) == len(A)


def fleet_learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> Indices:
    """Learn the rows of all members, each by its own steps."""
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
    for j in range(begin, end):
        i, rows = members[j], slice(starts[j], starts[j + 1])
        learned[j] = take_steps(W[i], seen[i], X[rows], Y[rows], step[rows], ridge[j], 1, out[rows])


@compiled("W w R R r f i W")
def descend(w: Array, seen: Array, X: Array, Y: Array, step: Array, ridge: Scalar, rows: int, out: Array) -> Any:
    """Take the steps of `take_steps`; returns the number of rows learned."""
    return take_steps(w, seen, X, Y, step, ridge, rows, out)


@inline
def take_steps(w: Array, seen: Array, X: Array, Y: Array, step: Array, ridge: Any, rows: int, out: Array) -> Any:
    """Learn steps of `rows` rows; returns the number of rows learned: the next step would not be finite."""
    n, d = X.shape
    c = w.shape[1]
    e, G = np.empty(c, w.dtype), np.empty((d, c), w.dtype)
    known: Any = np.empty(c, np.bool_)
    for i in range(n // rows):
        G[:] = 0
        for k in range(c):
            known[k] = seen[k] > 0
            for t in range(i * rows, (i + 1) * rows):
                known[k] = known[k] or Y[t, k] > 0
        for t in range(i * rows, (i + 1) * rows):
            x = X[t]
            score(e, x, w)
            for k in range(c if len(out) else 0):
                out[t, k] = e[k]
            if not subtract_probabilities(e, Y[t], known):
                return i * rows
            for j in range(d):
                for k in range(c):
                    G[j, k] += x[j] * e[k]
        rate, keep, finite = step[i] / rows, 1 - step[i] * ridge, True
        for j in range(d):
            for k in range(c):
                finite &= np.isfinite(keep * w[j, k] + rate * G[j, k])
        if not finite:
            return i * rows
        for j in range(d):
            for k in range(c):
                w[j, k] = keep * w[j, k] + rate * G[j, k]
        for t in range(i * rows, (i + 1) * rows):
            for k in range(c):
                seen[k] += Y[t, k]
    return n


@inline
def score(e: Array, x: Array, w: Array) -> None:
    """e <- w'x."""
    for k in range(len(e)):
        e[k] = 0
    for j in range(len(x)):
        for k in range(len(e)):
            e[k] += x[j] * w[j, k]


@inline
def subtract_probabilities(e: Array, y: Array, known: Array) -> Any:
    """e <- y - q for the scores e, q over the classes known; returns whether the scores are finite."""
    top, total = -e.dtype.type(np.inf), e.dtype.type(0)
    for k in range(len(e)):
        if known[k] and not e[k] <= top:
            top = e[k]
    for k in range(len(e)):
        e[k] = np.exp(e[k] - top) if known[k] else 0
        total += e[k]
    for k in range(len(e)):
        e[k] = y[k] - e[k] / total
    return total >= 1

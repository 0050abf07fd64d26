"""SGD and its variants (slides, "SGD beyond least square" to "SGD convergence"; signs and means corrected).

The plain setting is computed by the kernel of `lms`. Other settings read w and x twice per step, for the prediction and
for the step, write w once, and pass over w once more for each of momentum, averaging and projection; the limit is the
bandwidth of the cache. Finite weights are checked once per chunk, as in `learn_by_gradient`. Allocated once per call:
copies of the fields, v and the gradient, and the slopes of a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import FleetParams, Params, State
from orfit_bench_numba import _complex_rows, _gradient, _sgd_fleets, _sgd_row, lms
from orfit_bench_numba._arrays import Array, BoundRow, BoundRows, Indices
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._gradient import learn_by_gradient
from orfit_bench_numba._losses import loss_of
from orfit_bench_numba._network_descent import Descent, NumberDescent
from orfit_bench_numba._sgd_steps import descend, fields_of
from orfit_bench_numpy.sgd import is_plain, slopes
from orfit_bench_numpy.sgd import learn as learn_complex

__all__ = [
    "ahead",
    "bind_members",
    "bind_row",
    "bind_rows",
    "fleet_learn",
    "for_network",
    "learn",
    "move",
    "slopes",
    "step",
    "update",
]

CHECKS_ROWS = True
COMPLEX = True
"""For the squared loss. The plain step, that of `lms`, is compiled; with other settings the reference kernel learns."""


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Take one step for every b rows A with errors y - A v; predict with the averaged weights."""
    if X.dtype.kind == "c":
        return _learn_complex(s, X, Y, p, out)
    if is_plain(s, p):
        return learn_by_gradient(s, X, Y, p.step_size, None, out)
    before = [a.copy() for a in s]
    predictions = np.empty((0, 0), X.dtype) if out is None else out
    none = np.empty((0, 1), X.dtype)
    learned = _descend(s, X, Y, none, p, p.batch_size, predictions, False)
    if learned == len(X) and np.isfinite(s.w).all():
        return learned
    for a, was in zip(s, before, strict=True):
        a[...] = was
    if not np.isfinite(X).all():
        return NOT_FINITE
    return _descend(s, X, Y, none, p, p.batch_size, predictions, True)


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row of real numbers with one output; None if no such function is compiled."""
    if s.w.dtype.kind != "f":
        return None
    return _gradient.bind_row(s, p.step_size, None) if is_plain(s, p) else _sgd_row.bind_row(s, p)


def bind_rows(s: State, p: Params) -> BoundRows | None:
    """A function that learns rows of real numbers with one output, if the step is that of `lms`; otherwise None."""
    is_real = s.w.dtype.kind == "f"
    return _gradient.bind_rows(s, p.step_size, None) if is_real and is_plain(s, p) else None


def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
    """Learn the rows of the members of a fleet."""
    learn_members = lms.fleet_learn if _are_plain(s, p) else _sgd_fleets.fleet_learn
    learned: Indices = learn_members(s, X, Y, p, out)
    return learned


def bind_members(s: State, p: FleetParams) -> BoundRows | None:
    """A function that learns a row of each member with one output, if the step is that of `lms`; otherwise None."""
    return lms.bind_members(s, p) if _are_plain(s, p) else None


def _are_plain(s: State, p: FleetParams) -> bool:
    """Whether `is_plain` holds for all members that have rows; they share one loss."""
    has_more = p.ridge.any() or hasattr(s, "previous") or hasattr(s, "average")
    return set(p.loss[:1]) <= {"square"} and not has_more and bool(np.isinf(p.radius).all())


def _learn_complex(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    if is_plain(s, p):
        return _complex_rows.learn_by_gradient(s, X, Y, p.step_size, None, out)
    return learn_complex(s, X, Y, p, out) if np.isfinite(X).all() else NOT_FINITE


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step with the gradients and errors at v_t."""
    return _descend(s, J, p.targets, E, p, len(J), np.empty((0, 0), J.dtype), True) == len(J)


def move(s: State, g: Array, p: Params) -> bool:
    """Take one step against the sum g (p, 1) of gradients at v_t, treated as the gradient of one row with slope 1."""
    error = np.full((1, 1), -1, g.dtype)
    return _descend(s, g.T, 0 * error, error, p._replace(loss="square"), 1, np.empty((0, 0), g.dtype), True) == 1


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn all rows of A in one step."""
    return learn(s, A, Y, p, None) == len(A)


def ahead(s: State, p: Params) -> Array:
    """The point v_t = w_t + beta_t (w_t - w_(t-1)), v_1 = w_1, at which Nesterov's method evaluates the gradient."""
    w: Array = s.w
    return w if p.t == 1 or not hasattr(s, "previous") else w + p.momentum[0] * (w - s.previous)


def for_network(network: Any, d: int, c: int, settings: Any) -> NumberDescent:
    """The rule for rows of a network, one per step."""
    return NumberDescent(network, d, c, _describe)


def _describe(s: State, p: Params, begun: bool) -> Descent:
    penalty = float(p.ridge), float(p.radius)
    return Descent(fields_of(s), _schedule(p, begun), loss_of(p), penalty, s.w[:0, 0], p.averaging == "tail")


def _descend(s: State, X: Array, Y: Array, E: Array, p: Params, rows: int, out: Array, careful: bool) -> int:
    """Learn in steps of `rows` rows, or in one step if the errors E at v are given; returns the number of rows."""
    schedule, penalty = _schedule(p, p.t > 1), (p.ridge, p.radius)
    return int(descend(X, Y, E, fields_of(s), schedule, loss_of(p), penalty, rows, p.batch_size, careful, out))


def _schedule(p: Params, begun: bool) -> tuple[Array, Array, Array]:
    """For each step its size, the momentum (0 in the first step), and its weight in the average."""
    counts = p.weights
    if p.averaging != "weighted":
        counts = np.ones_like(counts)
        counts[: max(0, p.tail_start - p.t) if p.averaging == "tail" else 0] = 0
    beta = p.momentum if begun else np.append(0, p.momentum[1:]).astype(p.momentum.dtype)
    return p.step_size, beta, counts

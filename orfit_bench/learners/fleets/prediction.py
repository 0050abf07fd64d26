"""Predictions of a fleet and their deviations: all members at once if matrix products suffice, else one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from orfit_bench.errors import recorded_warnings, warn
from orfit_bench.learners import uncertainty
from orfit_bench.learners.filtering.dynamics import NO_INPUTS
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.rows import FleetRows
from orfit_bench.learners.fleets.solving import solved_weights
from orfit_bench.learners.fleets.state import FleetState, in_host_memory
from orfit_bench.spec.arrays import take, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState


def predict_rows(members: Members, state: FleetState, rows: FleetRows) -> Array:
    """Predictions (n, c) for rows sorted by member, in host memory."""
    out = np.empty((len(rows.X), state.sizes.n_outputs), members.shared.dtype)
    with np.errstate(all="ignore"):
        if (w := _weights_of_members(members, state, rows)) is not None:
            X = members.shared.place(rows.X)
            if rows.rows_each is not None:
                return to_host((X.reshape(*rows.shape, X.shape[1]) @ w).reshape(out.shape))
            of = np.repeat(np.arange(len(rows.members)), rows.counts)
            return to_host((X[:, None] @ take(w, of))[:, 0])
    for i, part, one in _states_of_members(members, state, rows):
        out[part] = members.for_host.rule(i).predict(one, to_host(rows.X)[part])
    return out


def _weights_of_members(members: Members, state: FleetState, rows: FleetRows) -> Array | None:
    """The weights (m, d, c) with which members that have rows predict; None if each member must compute its own."""
    method = members.shared.method
    spec = method.state
    if spec.predict:
        return None
    if spec.solution:
        return members.shared.place(solved_weights(members, state, rows.members))
    if spec.weights not in spec.names:
        return None
    if isinstance(members.shared, FilterRule):
        return _next_means(members, state, rows)
    if not spec.prediction_weights or state.arrays._fields == (spec.weights,):
        w = getattr(state.arrays, spec.weights)
        return w if rows.rows_each is not None else take(w, rows.members)
    if not members.shared.on_host:
        return None
    choose, chosen = spec.prediction_weights, rows.members.tolist()
    found = [choose(state.member_arrays(i), members.settings(i)) for i in chosen]
    none = getattr(state.arrays, spec.weights)[:0]
    return np.stack(found) if found else none


def _next_means(members: Members, state: FleetState, rows: FleetRows) -> Array:
    """The means (m, p, r) after the next transition of members that have learned a row."""
    rule, chosen = members.shared, rows.members
    p, mean = members.dynamics(state.sizes), getattr(state.arrays, rule.method.state.weights)
    mean = mean if rows.rows_each is not None else take(mean, chosen)
    F: Any = p.transition
    moves = p.is_dynamic[:, 0] & (state.n_steps > 0)
    if F is None or not moves[chosen].any():
        return mean
    F = rule.place(F if len(F) == 1 or rows.rows_each is not None else F[chosen])
    moved = F @ mean if F.ndim == 3 else F.reshape(len(F), -1, 1) * mean
    return rule.namespace.where(rule.namespace.asarray(moves[chosen])[:, None, None], moved, mean)


def deviations_of_rows(members: Members, state: FleetState, rows: FleetRows, noise_variance: float) -> Array:
    """Standard deviations (n, c) of the targets of rows sorted by member, in host memory, if each were the next row."""
    rule, shape = members.shared, (len(rows.X), state.sizes.n_outputs)
    is_filter = isinstance(rule, FilterRule)
    covariance = None if is_filter else uncertainty.require(rule.method, rule.dtype)
    if covariance and rows.rows_each is not None and covariance.field in state.arrays._fields:
        return _deviations_of_all(members, state, rows, noise_variance)
    out, inaccurate = np.empty(shape, rule.dtype), list[tuple[str, type[Warning]]]()
    for i, part, one in _states_of_members(members, state, rows):
        own, X = members.for_host.rule(i), to_host(rows.X)[part]
        with _member_named_in_errors(i), recorded_warnings(inaccurate):
            if isinstance(own, FilterRule):
                out[part] = own.forecast_deviations(one, X, NO_INPUTS)
            else:
                out[part] = uncertainty.standard_deviations(own, one, X, noise_variance)
    if inaccurate:
        text, category = inaccurate[0]
        warn(f"{text} ({len(inaccurate)} members of the fleet)", category)
    return out


def _deviations_of_all(members: Members, state: FleetState, rows: FleetRows, noise_variance: float) -> Array:
    """The deviations for rows of all members, from a field P (N, d, d) of covariances: sqrt(v (1 + x'P x))."""
    rule = members.shared
    xp, P = rule.namespace, getattr(state.arrays, uncertainty.require(rule.method, rule.dtype).field)
    scale = np.empty((members.size, 1), rule.dtype)
    for i, steps in enumerate(state.n_steps.tolist()):
        with _member_named_in_errors(i):
            scale[i] = uncertainty.scale_of(members.rule(i), steps)
    with np.errstate(all="ignore"):
        J = rule.place(rows.X).reshape(*rows.shape, state.sizes.n_features)  # (N, n, d)
        variances = rule.place(scale) * xp.sum((J @ P) * J, axis=2)
        found = to_host(math.sqrt(noise_variance) * xp.sqrt(1 + variances)).reshape(-1, 1)
    return np.repeat(found, state.sizes.n_outputs, axis=1)


@contextmanager
def _member_named_in_errors(i: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        error.args = (f"member {i}: {error}",)
        raise


def _states_of_members(
    members: Members, state: FleetState, rows: FleetRows
) -> Iterator[tuple[int, slice, LearnerState]]:
    """Each member that has rows, the slice of its rows, and its state in host memory."""
    own = state if members.shared.on_host else in_host_memory(members, state.select(rows.members))
    for j, i in enumerate(rows.members.tolist()):
        arrays = own.member_arrays(i if own is state else j)
        blank = members.for_host.rule(i).no_rows(state.sizes)
        one = LearnerState(state.sizes, arrays, blank, int(state.n_steps[i]))
        one.has_warned = bool(state.has_warned[i])
        yield i, slice(int(rows.starts[j]), int(rows.starts[j + 1])), one

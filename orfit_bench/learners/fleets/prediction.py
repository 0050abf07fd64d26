"""Predictions of a fleet: one product for all members where it suffices, member by member elsewhere."""

from __future__ import annotations

import numpy as np

from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.rows import FleetRows
from orfit_bench.learners.fleets.state import FleetState, in_host_memory
from orfit_bench.spec.arrays import take, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState


def predict_rows(members: Members, state: FleetState, rows: FleetRows, solved: dict[int, Array]) -> Array:
    """Predictions (n, c) for rows sorted by member, in host memory.

    `solved` keeps the weights of members that have to solve for them, until they learn rows.
    """
    method, dtype = members.shared.method, members.shared.dtype
    spec, out = method.state, np.empty((len(rows.X), state.sizes.n_outputs), dtype)
    with np.errstate(all="ignore"):
        if spec.weights in spec.names and not (spec.prediction_weights or spec.predict or method.traits.gaps):
            X, w = members.shared.place(rows.X), getattr(state.arrays, spec.weights)
            if len(rows.shape) == 2:
                return to_host((X.reshape(*rows.shape, X.shape[1]) @ w).reshape(out.shape))
            of = np.repeat(rows.members, rows.counts)
            return to_host((X[:, None] @ take(w, of))[:, 0])
    X, own = to_host(rows.X), state if members.shared.on_host else in_host_memory(members, state.select(rows.members))
    for j, i in enumerate(rows.members.tolist()):
        part = slice(int(rows.starts[j]), int(rows.starts[j + 1]))
        arrays = own.member_arrays(i if own is state else j)
        out[part] = _predict_member(members.on_reference, state, i, arrays, X[part], solved)
    return out


def _predict_member(
    members: Members, state: FleetState, i: int, arrays: Array, X: Array, solved: dict[int, Array]
) -> Array:
    """Predictions (n, c) of member i, whose fields lie in host memory."""
    rule = members.rule(i)
    one = LearnerState(state.sizes, arrays, rule.no_rows(state.sizes), int(state.n_steps[i]))
    one.has_warned, one.solved_weights = bool(state.has_warned[i]), solved.get(i)
    found = rule.predict(one, X)
    if one.solved_weights is not None:
        solved[i], state.has_warned[i] = one.solved_weights, one.has_warned
    return found

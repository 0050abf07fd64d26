"""Weights of the members of a fleet that are not a field, solved for when predictions need them."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.learners.fleets.accuracy import warn_of_weights
from orfit_bench.learners.fleets.members import HostArray, Members
from orfit_bench.learners.fleets.state import FleetState, SolvedWeights, in_host_memory


def solved_weights(members: Members, state: FleetState, chosen: HostArray) -> HostArray:
    """The weights (m, p, r) of these members, in host memory; those that have learned nothing since are stored."""
    solved = state.solved
    old = chosen if solved is None else chosen[solved.steps[chosen] != state.n_steps[chosen]]
    if len(old) or solved is None:
        steps = state.n_steps[old]  # not valid if another thread learns meanwhile
        w, precision = _solve(members, in_host_memory(members, state.select(old)))
        if solved is None:
            solved = SolvedWeights(np.full(members.size, -1), np.empty((members.size, *w.shape[1:]), w.dtype))
        solved.weights[old], solved.steps[old] = w, steps
        state.solved = solved
        warn_of_weights(members, state, old, w, precision)
    found: HostArray = solved.weights[chosen]
    return found


def _solve(members: Members, state: FleetState) -> tuple[HostArray, HostArray]:
    """The weights (m, p, r) of all members of a state in host memory, and the precision (m,) of each."""
    kernel: Any = members.for_host.shared.kernel
    with np.errstate(all="ignore"):  # a weight may be inf
        if hasattr(kernel, "fleet_solve"):
            w, precision = kernel.fleet_solve(state.arrays)
            return w, precision
        found = [kernel.solve(state.member_arrays(i)) for i in range(len(state.n_steps))]
    none = np.empty((0, state.sizes.n_features, state.sizes.n_outputs), members.shared.dtype)
    return np.array([w for w, _ in found] or none), np.array([precision for _, precision in found])

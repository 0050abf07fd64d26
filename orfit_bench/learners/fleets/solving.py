"""Weights of the members of a fleet that are not a field, solved for when predictions need them."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from orfit_bench.learners.fleets.accuracy import warn_of_weights
from orfit_bench.learners.fleets.members import HostArray, Members
from orfit_bench.learners.fleets.state import FleetState, SolvedWeights, in_host_memory

STORING = Lock()
"""Held while stored weights are written or read."""


def solved_weights(members: Members, state: FleetState, chosen: HostArray) -> HostArray:
    """The weights (m, p, r) of these members, in host memory; those that have learned nothing since are stored."""
    solved = state.solved
    old = chosen if solved is None else chosen[solved.steps[chosen] != state.n_steps[chosen]]
    if not len(old) and solved is not None:
        with STORING:
            return np.asarray(solved.weights[chosen])
    steps = state.n_steps[old]  # before the state is read: another thread may learn meanwhile
    w, precision = _solve(members, in_host_memory(members, state.select(old)))
    warn_of_weights(members, state, old, w, precision)
    with STORING:
        if state.solved is None:
            state.solved = SolvedWeights(np.full(members.size, -1), np.empty((members.size, *w.shape[1:]), w.dtype))
        solved = state.solved
        is_newer = steps > solved.steps[old]  # not if another thread has stored later weights
        solved.weights[old[is_newer]], solved.steps[old[is_newer]] = w[is_newer], steps[is_newer]
        return np.asarray(solved.weights[chosen])


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

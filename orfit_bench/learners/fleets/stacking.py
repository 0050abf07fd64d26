"""Settings and states of learners joined to those of a fleet."""

from __future__ import annotations

from typing import Any

from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.state import FleetState, from_states
from orfit_bench.learners.learner import Learner


def stacked(learners: list[Any], like: Members | None = None) -> tuple[Members, FleetState | None]:
    """The settings and the state of a fleet of these learners."""
    for learner in learners:
        if not isinstance(learner, Learner):
            raise TypeError(f"fleet: got a {type(learner).__name__}, want a learner")
        if learner.pending:
            raise ValueError("fleet: rows are pending in one of the learners: call flush() first")
    members = join([Members(learner.rule, 1, {}) for learner in learners]) if learners else like
    assert members is not None
    states = [learner.live_state for learner in learners]
    begun = next((state for state in states if state), None)
    if begun is None:
        return members, None
    sizes = begun.sizes if not members.shared.method.traits.labels else begun.sizes._replace(n_outputs=0)
    ready = [state or members.rule(i).init(sizes) for i, state in enumerate(states)]
    return members, from_states(members, ready)


def join(parts: list[Members]) -> Members:
    """All members in this order, joined in pairs: N log N in place of N^2 comparisons."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [pair[0].joined(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]

"""Settings and states of learners joined to those of a fleet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.learners.fleets.classes import with_new_classes
from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.state import (
    FleetState,
    check_same_sizes,
    common_names,
    from_states,
    initial_state,
    room_of,
    with_room,
)
from orfit_bench.learners.learner import Learner
from orfit_bench.state.state import LearnerState, Sizes


def learners_of(given: object, verb: str) -> list[Learner]:
    """The learners that a verb was given: one, several, or the members of a fleet."""
    if isinstance(given, Learner):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"{verb}: got a {type(given).__name__}, want learners or a fleet")
    found = list(given)
    for learner in found:
        if not isinstance(learner, Learner):
            raise TypeError(f"{verb}: got a {type(learner).__name__} among them, want learners")
        if learner.pending:
            raise ValueError(f"{verb}: rows are pending in one of the learners: call flush() first")
    return found


def stacked(learners: list[Learner]) -> tuple[Members, FleetState | None]:
    """The settings and the state of a fleet of these learners, at least one."""
    members = join([Members(learner.rule, 1, {}) for learner in learners])
    states = [learner.live_state for learner in learners]
    begun = next((state for state in states if state), None)
    return members, None if begun is None else _joint_state(members, states, _without_classes(members, begun.sizes))


def appended(members: Members, state: FleetState | None, learners: list[Learner]) -> tuple[Members, FleetState | None]:
    """A fleet with learners added after its members: existing arrays are copied, and only new ones are converted."""
    if not learners:
        return members, state
    new = join([Members(learner.rule, 1, {}) for learner in learners])
    both, states = members.joined(new), [learner.live_state for learner in learners]
    begun = state or next((found for found in states if found), None)
    if begun is None:
        return both, None
    sizes = _without_classes(members, begun.sizes)
    before = state or initial_state(members, sizes)
    after = _joint_state(new, states, sizes, before.classes)
    wide = with_new_classes(before, both.shared.layout(before.sizes).fields, after.classes)
    return both, _concatenated(both, wide, after)


def _without_classes(members: Members, sizes: Sizes) -> Sizes:
    """The sizes of a state before the first row; those of classifiers have no outputs yet."""
    return sizes._replace(n_outputs=0) if members.shared.method.traits.labels else sizes


def _joint_state(
    members: Members, states: list[LearnerState | None], sizes: Sizes, known: tuple[Any, ...] = ()
) -> FleetState:
    """The joint state of learners, some of which may have seen no row; new classes come after the known ones."""
    return from_states(members, [state or members.rule(i).init(sizes) for i, state in enumerate(states)], known)


def _concatenated(members: Members, a: FleetState, b: FleetState) -> FleetState:
    """The state of the members of two fleets with the same classes; ValueError if the sizes differ."""
    check_same_sizes(a.sizes, b.sizes)
    layout = members.shared.layout(a.sizes)
    names = common_names([a.feature_names, b.feature_names], "feature names")
    targets = common_names([a.target_names, b.target_names], "target names")
    room = max(room_of(layout, a.arrays), room_of(layout, b.arrays))
    pairs = zip(with_room(layout, a.arrays, room), with_room(layout, b.arrays, room), strict=True)
    return replace(
        a,
        arrays=type(a.arrays)(*(one.__array_namespace__().concat([one, other]) for one, other in pairs)),
        n_steps=np.concatenate([a.n_steps, b.n_steps]),
        n_samples=np.concatenate([a.n_samples, b.n_samples]),
        has_warned=np.concatenate([a.has_warned, b.has_warned]),
        order=np.concatenate([a.order, b.order]),
        feature_names=names,
        target_names=targets,
    )


def join(parts: list[Members]) -> Members:
    """All members in this order, joined in pairs: N log N instead of N^2 comparisons."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [pair[0].joined(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]

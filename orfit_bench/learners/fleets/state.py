"""The state of a fleet: every field of its members as one array with a leading axis, on the backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.fleets.members import HostArray, Members
from orfit_bench.learners.fleets.rows import FleetRows
from orfit_bench.learners.targets import check_same_kind, with_classes
from orfit_bench.spec.arrays import enlarged, take, to_host
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.state import Label, LearnerState, Sizes

UNKNOWN = -1
"""The place in `order` of a class that a member has not seen."""


class SolvedWeights(NamedTuple):
    """The weights of members that were solved for, in host memory."""

    steps: HostArray
    """The steps of each member when its weights were solved for (N,); -1 if they never were and `weights` is unset."""
    weights: HostArray
    """(N, p, r)."""


@dataclass(slots=True)
class FleetState:
    """The part of a fleet of N members that changes. Kernels write to `arrays` in place."""

    sizes: Sizes
    arrays: Any
    """One array (N, ...) for each field, by name; growing fields have room for the longest of them.

    `count` (N, 1) and fields without further dimensions lie in host memory, all others on the backend.
    """
    n_steps: Any
    """Steps done by each member (N,)."""
    n_samples: Any
    """Rows learned by each member (N,)."""
    has_warned: Any
    """Whether the user was warned that the precision of a member is lost (N,)."""
    classes: tuple[Label, ...] = ()
    """The classes of all members."""
    order: Any = None
    """The place of each class in the order in which a member saw the classes (N, classes), or UNKNOWN."""
    interrupted: str = ""
    """The exception that interrupted a kernel, after which the arrays cannot be trusted."""
    feature_names: tuple[str, ...] = ()
    """The names of the columns of X, which all members share, once rows came as a table."""
    target_names: tuple[str, ...] = ()
    """The names of the columns of y, likewise."""
    has_warned_of_names: bool = False
    """Whether the user was warned that rows came without names where the first ones had names, or the reverse."""
    most_steps: int = field(init=False, compare=False)
    """An upper bound of `n_steps`; it does not decrease if the member with the most steps is removed."""
    bound: Callable[[FleetState, object, object, HostArray | None], int] | None = field(
        default=None, init=False, compare=False
    )
    """A function that learns a row for each member in `arrays` (orfit_bench/learners/fleets/bound_members.py).

    None until it is needed; a copy or replacement starts without it.
    """
    solved: SolvedWeights | None = field(default=None, init=False, compare=False)
    """The weights that followed from `arrays`, as `LearnerState.solved`."""

    def __post_init__(self) -> None:
        self.most_steps = int(self.n_steps.max(initial=0))

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.sizes.n_features

    @property
    def has_rows(self) -> bool:
        """Whether some member has learned a row."""
        return bool(self.n_samples[0] or self.n_samples.any())

    def copy(self) -> FleetState:
        """An independent state of the same value."""
        return self.select(slice(None))

    def select(self, members: slice | Sequence[int] | HostArray) -> FleetState:
        """The states of some members, by an index of NumPy; copies."""
        arrays = type(self.arrays)(*(take(a, members) for a in self.arrays))
        steps, samples, warned, order = (
            np.array(a[members]) for a in (self.n_steps, self.n_samples, self.has_warned, self.order)
        )
        return replace(self, arrays=arrays, n_steps=steps, n_samples=samples, has_warned=warned, order=order)

    def member_arrays(self, i: int) -> Any:
        """The arrays of member i as a kernel of one learner gets them: views."""
        return type(self.arrays)(*(a[i, ...] for a in self.arrays))


def initial_state(members: Members, sizes: Sizes) -> FleetState:
    """The state of a fleet before the first row."""
    states = members.initial_states(sizes)
    if len(states) == members.size:
        return from_states(members, states)
    return from_states(replace(members, size=1), states).select(np.zeros(members.size, int))


def from_states(members: Members, states: Sequence[LearnerState], known: tuple[Label, ...] = ()) -> FleetState:
    """The state of a fleet from those of its members, which have the same features and outputs (or labels).

    New classes come after those that are known.
    """
    first, labels = states[0], members.shared.method.traits.labels
    every = [*known, *(label for state in states for label in state.classes)]
    check_same_kind(every, "fleet")
    classes = tuple(dict.fromkeys(every))
    order, column = np.full((len(states), len(classes)), UNKNOWN), {label: i for i, label in enumerate(classes)}
    for row, state in zip(order, states, strict=True):
        row[[column[label] for label in state.classes]] = range(len(state.classes))
    if labels:
        states = [with_classes(members.rule(i), state, classes) for i, state in enumerate(states)]
    sizes = states[0].sizes
    for state in states:
        check_same_sizes(sizes, state.sizes)
    layout = members.shared.layout(sizes)
    if layout.grows:
        room = max(layout.count(state.arrays) for state in states)
        records = [_with_room(layout, layout.arrays(state.arrays), room) for state in states]
        counts = np.array([[layout.count(state.arrays)] for state in states], np.int64)
        stacked = [np.stack([record[f.name] for record in records]) for f in layout.fields] + [counts]
    else:
        stacked = [np.stack([to_host(a) for a in each]) for each in zip(*(s.arrays for s in states), strict=True)]
    return FleetState(
        sizes,
        placed(members, sizes, type(first.arrays)(*stacked)),
        np.array([state.n_steps for state in states], np.int64),
        np.array([state.n_samples for state in states], np.int64),
        np.array([state.has_warned for state in states], bool),
        classes,
        order,
        feature_names=common_names([state.feature_names for state in states], "feature names"),
        target_names=common_names([state.target_names for state in states], "target names"),
    )


def check_same_sizes(one: Sizes, other: Sizes) -> None:
    """Raise ValueError if learners have different features or outputs."""
    if one != other:
        raise ValueError(
            f"fleet: the learners differ in features or outputs: {_described(one)} and {_described(other)}"
        )


def _described(sizes: Sizes) -> str:
    outputs = "y (n,)" if sizes.y_is_1d else f"y (n, {sizes.n_outputs})"
    return f"X (n, {sizes.n_features}) with {outputs}"


def placed(members: Members, sizes: Sizes, record: Any) -> Any:
    """The record with its fields on the backend."""
    fields = members.shared.layout(sizes).fields
    return record._replace(**{f.name: members.shared.place(getattr(record, f.name)) for f in fields if f.dims})


def common_names(names: Sequence[tuple[str, ...]], what: str) -> tuple[str, ...]:
    """The names that all learners with names share; ValueError if they differ, or have another order."""
    found = list(dict.fromkeys(filter(None, names)))
    if len(found) > 1:
        raise ValueError(f"fleet: the learners differ in {what}: {found[0]} and {found[1]}")
    return found[0] if found else ()


def _with_room(layout: StateLayout, fields: dict[str, Any], room: int) -> dict[str, Any]:
    """The fields of one learner, growing ones padded with zeros to this length."""
    for f in layout.fields:
        if layout.grows in f.dims:
            a = fields[f.name]
            fields[f.name] = np.concatenate([a, np.zeros((room - len(a), *a.shape[1:]), a.dtype)])
    return fields


def in_host_memory(members: Members, state: FleetState) -> FleetState:
    """The state with all fields in host memory; unchanged if they are already there."""
    rule = members.shared
    if rule.on_host:
        return state
    names = [f.name for f in rule.layout(state.sizes).fields if f.dims]
    fields = {name: rule.backend.asnumpy(getattr(state.arrays, name)) for name in names}
    return replace(state, arrays=state.arrays._replace(**fields))


def member_state(members: Members, state: FleetState, i: int) -> LearnerState:
    """The state of one member as that of a learner: a copy, with the classes that it has seen in its own order."""
    rule, steps, samples = members.rule(i), int(state.n_steps[i]), int(state.n_samples[i])
    layout = rule.layout(state.sizes)
    arrays = layout.place(layout.arrays(state.member_arrays(i)))
    found = LearnerState(state.sizes, arrays, rule.no_rows(state.sizes), steps, samples, state.classes)
    found.feature_names, found.target_names = state.feature_names, state.target_names
    found.has_warned, found.interrupted = bool(state.has_warned[i]), state.interrupted
    own = [label for place, label in sorted(zip(state.order[i].tolist(), state.classes, strict=True), key=_place)]
    known = tuple(own[len(own) - int((state.order[i] != UNKNOWN).sum()) :])
    return with_classes(rule, found, known) if rule.method.traits.labels else found


def _place(entry: tuple[int, Label]) -> int:
    return entry[0]


def reserve(members: Members, state: FleetState, rows: FleetRows) -> None:
    """Make room for an entry for each of these rows in growing fields, at most up to the limit."""
    layout = members.shared.layout(state.sizes)
    if not layout.grows:
        return
    room = room_of(layout, state.arrays)
    want = int((state.arrays.count[rows.places, 0] + rows.counts).max(initial=0))
    want = want if layout.limit is None else min(want, layout.limit)
    if room < want:
        room = max(want, 2 * room) if layout.limit is None else min(max(want, 2 * room), layout.limit)
        state.arrays = with_room(layout, state.arrays, room)


def room_of(layout: StateLayout, arrays: Any) -> int:
    """How many entries fit into the growing fields of each member; 0 without such fields."""
    return max((getattr(arrays, f.name).shape[1] for f in layout.fields if layout.grows in f.dims), default=0)


def with_room(layout: StateLayout, arrays: Any, room: int) -> Any:
    """The record with room for this number of entries in its growing fields, if it has any."""
    growing = {f.name: getattr(arrays, f.name) for f in layout.fields if layout.grows in f.dims}
    return arrays._replace(**{name: enlarged(a, (len(a), room, *a.shape[2:])) for name, a in growing.items()})

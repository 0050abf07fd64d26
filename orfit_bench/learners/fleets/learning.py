"""Checks before a call of a fleet's kernel, and records after it: steps and divergence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from orfit_bench.errors import DivergedError
from orfit_bench.learners.fleets.members import HostArray, Members
from orfit_bench.learners.fleets.rows import FleetRows
from orfit_bench.learners.fleets.state import FleetState
from orfit_bench.spec.backend import Array
from orfit_bench.tables.names import first_of


class _NotedSettings(Mapping[str, Any]):
    """Settings that note which of them were read."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)


def validate_rows(members: Members, state: FleetState, rows: FleetRows, Y: Array) -> None:
    """Refuse the rows that the method's own check refuses, with the settings and the step of each member.

    A check that reads no setting in which the members differ is called once for all rows.
    """
    validate = members.shared.method.kernel.validate_rows
    if validate is None or not len(rows.X):
        return
    common = _NotedSettings(members.shared.settings)
    with suppress(ValueError):  # the checks of each member below find whose row it is
        validate(common, int(state.n_steps[rows.places].min()), rows.X, Y, False, True)
        if common.read.isdisjoint(members.varying):
            return
    for j, i in enumerate(rows.members.tolist()):
        part = slice(int(rows.starts[j]), int(rows.starts[j + 1]))
        try:
            validate(members.settings(i), int(state.n_steps[i]), rows.X[part], Y[part], False, True)
        except ValueError as error:
            raise ValueError(f"{error} (counting the rows of member {i} alone)") from None


def learned_all(learned: object, rows: FleetRows) -> bool:
    """Whether all members learned all their rows.

    ValueError unless a kernel returned, for each member that has rows, a number from 0 to the number of its rows.
    """
    counts = np.asarray(learned)
    is_count = counts.shape == rows.counts.shape and counts.dtype.kind in "iu"
    if is_count and _are_equal(counts, rows.counts):
        return True
    if not is_count or counts.min() < 0 or (counts > rows.counts).any():
        raise ValueError(
            f"fleet_learn returned {learned!r}, want the number of rows learned of each member, at most {rows.counts}"
        )
    return False


def _are_equal(a: HostArray, b: HostArray) -> bool:
    """Whether two arrays of one shape are equal; views of one number are compared as numbers."""
    if len(a) and not any((*a.strides, *b.strides)):
        return bool(a[0] == b[0])
    return bool((a == b).all())


def count_steps(members: Members, state: FleetState, rows: FleetRows, learned: Array) -> None:
    """Record how many steps each member has taken, and which members a transition or process noise has moved."""
    who = rows.places
    state.n_steps[who] += learned
    state.most_steps = max(state.most_steps, int(state.n_steps[who].max(initial=0)))
    if not hasattr(state.arrays, "moved"):
        return
    stepped = (learned > 0) & (state.n_steps[who] > 1)  # never before the very first row
    moves = members.dynamics(state.sizes).is_dynamic.any(axis=1)  # of each member, or of all
    moving = rows.members[stepped]
    state.arrays.moved[moving[moves[moving]] if len(moves) > 1 else moving[moves.repeat(len(moving))]] = 1


def describe_divergence(members: Members, state: FleetState, rows: FleetRows, learned: Array) -> DivergedError:
    """The error for members that have learned fewer rows than they got."""
    failed = np.flatnonzero(learned < rows.counts)
    diverged: list[int] = rows.members[failed].tolist()
    row = rows.row_in_call(int(failed[0]), int(learned[failed[0]]))
    step = int(state.n_steps[diverged[0]]) + 1
    return DivergedError(
        f"{members.shared.method.name}: {len(diverged)} of {members.size} members diverged ({first_of(diverged)}), "
        f"member {diverged[0]} at its step {step}, row {row} of this call: the step would not be finite, or its "
        f"numbers have too few digits left, so it was not applied; these members keep the state before it, the others "
        f"have learned all rows",
        step,
        row,
        tuple(diverged),
    )

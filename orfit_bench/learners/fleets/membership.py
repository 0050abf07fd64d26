"""The members of a fleet: indexing, adding, removing and merging them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orfit_bench.learners.factory import learner_of
from orfit_bench.learners.fleets.accuracy import warn_of_lost_precision
from orfit_bench.learners.fleets.attributes import Attributes
from orfit_bench.learners.fleets.stacking import appended, learners_of
from orfit_bench.learners.fleets.state import FleetState, from_states, in_host_memory, member_state
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.merging import merged
from orfit_bench.learners.permits import by_one_thread
from orfit_bench.state.state import LearnerState

if TYPE_CHECKING:
    from orfit_bench.learners.fleets.fleet import Fleet


class Membership(Attributes):
    """A fleet whose members can be taken out, added, removed and merged."""

    def __getitem__(self, i: int) -> Any:
        """A copy of member i as a learner of its own; negative i count from the end."""
        return self._member(self._index(i), self.live_state)

    def __iter__(self) -> Iterator[Any]:
        state = in_host_memory(self.members, self.live_state) if self.live_state else None
        return (self._member(i, state) for i in range(len(self)))

    def _member(self, i: int, state: FleetState | None) -> Any:
        """Member i as a learner, from the state of the fleet."""
        return learner_of(self.members.rule(i), member_state(self.members, state, i) if state else None)

    def _index(self, i: object) -> int:
        if isinstance(i, (bool, np.bool_)) or not isinstance(i, (int, np.integer)):
            raise TypeError(f"fleet: got the index {i!r}, want an integer")
        if not -len(self) <= i < len(self):
            raise IndexError(f"fleet: got member {i}, want one from 0 to {len(self) - 1}")
        return int(i) % len(self)

    @by_one_thread
    def add(self, others: Fleet | Learner | Iterable[Learner]) -> Self:
        """Append copies of learners, or of the members of another fleet, which get the next numbers.

        Parameters
        ----------
        others : Fleet, learner or iterable of learners
            Learners of the same method, backend and dtype, and of the same sizes once rows were seen.

        Returns
        -------
        Fleet
            This fleet.

        Raises
        ------
        TypeError
            If one of them is not a learner.
        ValueError
            If they do not fit; the fleet is unchanged.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 2, backend="numpy")
        >>> len(fleet.add(ob.create("lms", backend="numpy", step_size=0.5)))
        3
        """
        self.members, self.live_state = appended(self.members, self._usable(), learners_of(others, "add"))
        return self

    @by_one_thread
    def remove(self, members: int | Iterable[int]) -> Self:
        """Remove members; the members after them get lower numbers.

        Parameters
        ----------
        members : int or iterable of int
            Numbers of members; negative ones count from the end.

        Returns
        -------
        Fleet
            This fleet.

        Raises
        ------
        TypeError
            If a number is not an integer.
        IndexError
            If there is no such member.
        ValueError
            If no member would be left. The fleet is unchanged after each of these errors.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 3, backend="numpy", step_size=[0.1, 0.2, 0.5]).remove(1)
        >>> [float(member.settings["step_size"].value) for member in fleet]
        [0.1, 0.5]
        """
        gone = {self._index(i) for i in (members if isinstance(members, Iterable) else [members])}
        kept = [i for i in range(len(self)) if i not in gone]
        if not kept:
            raise ValueError(f"remove: got all {len(self)} members, want at least one that remains")
        self.members, self.live_state = self.members.select(kept), self.live_state and self.live_state.select(kept)
        return self

    @by_one_thread
    def merge(self, other: Fleet) -> Self:
        """Merge the states of two fleets member by member, as `Learner.merge` does for two learners.

        Parameters
        ----------
        other : Fleet
            A fleet of the same length and method, with the same settings member by member; it is not changed.

        Returns
        -------
        Fleet
            This fleet.

        Raises
        ------
        ValueError
            If the two do not fit, or the method has no rule for merging; the fleet is unchanged.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that a state cannot be trusted.

        Warns
        -----
        AccuracyWarning
            As in `Learner.merge`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> a, b = (ob.fleet("rls", 2, backend="numpy") for _ in range(2))
        >>> a = a.partial_fit([[[1.0]], [[1.0]]], [[2.0], [4.0]])
        >>> b = b.partial_fit([[[1.0]], [[1.0]]], [[2.0], [4.0]])
        >>> a.merge(b).n_samples_seen_
        array([2, 2])
        """
        if not isinstance(other, Membership) or len(other) != len(self):
            got = f"a fleet of {len(other)}" if isinstance(other, Membership) else type(other).__name__
            raise ValueError(f"merge: got {got}, want a fleet of {len(self)} members")
        pairs = [(a, a.live_state, b, b.live_state) for a, b in zip(self, other, strict=True)]
        states = [merged(a.rule, one, b.rule, two) for a, one, b, two in pairs]
        self.live_state = self._stack_states(states)
        if self.live_state:
            warn_of_lost_precision(self.members, self.live_state)
        return self

    def _stack_states(self, states: list[LearnerState | None]) -> FleetState | None:
        begun = [state for state in states if state]
        return from_states(self.members, begun) if begun else None

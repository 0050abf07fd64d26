"""A fleet: the verbs of a learner for many of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orfit_bench.learners.advice import FIXED, refuse_assignment
from orfit_bench.learners.factory import learner_of
from orfit_bench.learners.fleets import serialization
from orfit_bench.learners.fleets.learning import (
    count_steps,
    describe_divergence,
    learned_all,
    validate_rows,
    warn_of_lost_precision,
)
from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.parameters import FleetParameters
from orfit_bench.learners.fleets.prediction import predict_rows
from orfit_bench.learners.fleets.rows import FleetRows, read_rows
from orfit_bench.learners.fleets.stacking import appended, learners_of
from orfit_bench.learners.fleets.state import (
    FleetState,
    from_states,
    in_host_memory,
    initial_state,
    member_state,
    reserve,
)
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.merging import merged
from orfit_bench.learners.permits import by_one_thread
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState, Sizes

if TYPE_CHECKING:
    import xarray


class Fleet:
    """N independent learners of one method, learned by one call. Made by `orfit_bench.fleet`.

    Rows come with a leading axis, X (N, n, d), or as X (n, d) with `which` (n,), the member of each row. Each member
    equals a single learner of the same rows. `fleet[i]` is a copy of member i as a learner.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> fleet = ob.fleet("lms", 2, backend="numpy", step_size=0.5)
    >>> fleet.partial_fit([[1.0], [1.0], [1.0]], [4.0, 8.0, 4.0], which=[0, 1, 0])
    <fleet of 2 lms; numpy, float64, 3 rows seen>
    >>> fleet[0].predict([[1.0]])
    array([3.])
    """

    def __init__(self, members: Members, state: FleetState | None = None) -> None:
        rule = members.shared
        self.method, self.backend, self.dtype = rule.method, rule.backend, rule.dtype
        self._weights: dict[int, Array] = {}
        self.permit: list[None] = [None]
        """Empty while a thread changes the fleet."""
        self.members, self.live_state = members, state  # after which the members' rules do not change

    if not TYPE_CHECKING:  # types know that there is no such attribute

        def __setattr__(self, name: str, value: object) -> None:
            """Refuse settings and what follows from them: the members' rules would not change."""
            members = vars(self).get("members")
            if members is not None and (name in FIXED or name in members.shared.settings):
                refuse_assignment(self, name, members.shared.method)
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self.members.size

    def __repr__(self) -> str:
        rows = int(self.n_samples_seen_.sum())
        return f"<fleet of {len(self)} {self.method.name}; {self.backend.name}, {self.dtype}, {rows} rows seen>"

    @property
    def n_features_in_(self) -> int:
        """Number of features d, once a chunk was seen."""
        if self.live_state is None:
            raise AttributeError("n_features_in_ is known after the first call of partial_fit")
        return self.live_state.sizes.n_features

    @property
    def feature_names_in_(self) -> np.ndarray[Any, Any]:
        """Names of the columns of X (d,), an array of objects, once rows came as a table; all members share them."""
        if self.live_state is None or not self.live_state.feature_names:
            raise AttributeError("feature_names_in_ is known once the first rows come as a table with named columns")
        return np.array(self.live_state.feature_names, object)

    @property
    def n_samples_seen_(self) -> np.ndarray[Any, Any]:
        """Rows that each member has learned (N,)."""
        return np.zeros(len(self), np.int64) if self.live_state is None else self.live_state.n_samples.copy()

    # ------------------------------------------------------------------ members

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
            raise IndexError(f"fleet: there is no member {i}, it has {len(self)}")
        return int(i) % len(self)

    @by_one_thread
    def add(self, others: Fleet | Learner | Iterable[Learner]) -> Self:
        """Append copies of learners, or of the members of another fleet, which get the next numbers.

        Parameters
        ----------
        others : Fleet, learner or iterable of learners
            Of the same method, backend and dtype, and of the same sizes once rows were seen.

        Returns
        -------
        Fleet
            This fleet.

        Raises
        ------
        TypeError
            If something else than a learner is among them.
        ValueError
            If they do not fit; the fleet is unchanged.
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 2, backend="numpy")
        >>> len(fleet.add(ob.create("lms", backend="numpy", step_size=0.5)))
        3
        """
        self.members, self.live_state = appended(self.members, self._usable(), learners_of(others, "add"))
        self._weights = {}
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
            raise ValueError("remove: a fleet keeps at least one member")
        self.members = self.members.select(kept)
        self.live_state = self.live_state and self.live_state.select(kept)
        self._weights = {}
        return self

    @by_one_thread
    def merge(self, other: Fleet) -> Self:
        """Merge the states of two fleets member by member, as `Learner.merge` does for two learners.

        Parameters
        ----------
        other : Fleet
            Of the same length and method, with the same settings member by member; it is not changed.

        Returns
        -------
        Fleet
            This fleet.

        Raises
        ------
        ValueError
            If the two do not fit, or the method has no rule for merging; the fleet is unchanged.

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
        if not isinstance(other, Fleet) or len(other) != len(self):
            got = f"a fleet of {len(other)}" if isinstance(other, Fleet) else type(other).__name__
            raise ValueError(f"merge: got {got}, want a fleet of {len(self)} members")
        pairs = [(a, a.live_state, b, b.live_state) for a, b in zip(self, other, strict=True)]
        states = [merged(a.rule, one, b.rule, two) for a, one, b, two in pairs]
        self.live_state = self._stack_states(states)
        self._weights = {}
        if self.live_state:
            warn_of_lost_precision(self.members, self.live_state)
        return self

    def _stack_states(self, states: list[LearnerState | None]) -> FleetState | None:
        begun = [state for state in states if state]
        return from_states(self.members, begun) if begun else None

    # ------------------------------------------------------------------ the state outside of it

    def copy(self) -> Self:
        """Return an independent fleet in the same state.

        Returns
        -------
        Fleet
            Of the same class. What one of the two learns does not change the other.

        Raises
        ------
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 2, backend="numpy")
        >>> before = fleet.copy()
        >>> fleet.partial_fit([[1.0]], [4.0], which=[1]).n_samples_seen_, before.n_samples_seen_
        (array([0, 1]), array([0, 0]))
        """
        state = self._usable()
        return type(self)(self.members, state.copy() if state else None)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        from orfit_bench.learners.restoring import from_bytes

        return from_bytes, (self.to_bytes(),)

    def state(self) -> xarray.Dataset:
        """Return a copy of the state.

        Returns
        -------
        xarray.Dataset
            The arrays of all members in host memory, with the dimension "member"; settings and versions in `attrs`.
            `orfit_bench.restore` reads it.

        Raises
        ------
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 2, backend="numpy", step_size=0.5)
        >>> fleet.partial_fit([[1.0], [1.0]], [4.0, 8.0], which=[0, 1]).state()["w"].dims
        ('member', 'parameter', 'output')
        """
        return serialization.to_dataset(self.members, self._usable())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to an .npz file without pickle; `orfit_bench.load` reads it.

        Parameters
        ----------
        path : str or path
            As in `Learner.save`.

        Raises
        ------
        ValueError, RuntimeError, OSError
            As in `Learner.save`.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import orfit_bench as ob
        >>> path = Path(tempfile.mkdtemp(), "fleet.npz")
        >>> ob.fleet("lms", 2, backend="numpy").save(path)
        >>> len(ob.load(path))
        2
        """
        serialization.save(self.members, self._usable(), path)

    def to_bytes(self) -> bytes:
        """Return the state as bytes with a checksum, without pickle.

        Returns
        -------
        bytes
            What `orfit_bench.from_bytes` reads.

        Raises
        ------
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> len(ob.from_bytes(ob.fleet("lms", 2, backend="numpy").to_bytes()))
        2
        """
        return serialization.to_bytes(self.members, self._usable())

    # ------------------------------------------------------------------ learning

    def _usable(self) -> FleetState | None:
        """The state; RuntimeError where an interrupted kernel may have left it half written."""
        state = self.live_state
        if state and state.interrupted:
            raise RuntimeError(
                f"{self.method.name}: {state.interrupted} interrupted the kernel of the fleet, so that its state may "
                f"be half written: continue from an earlier copy() or a saved state"
            )
        return state

    def _begun(self) -> FleetState:
        state = self._usable()
        if state is None:
            raise ValueError(f"{self.method.name} has seen no chunk yet: call partial_fit first")
        return state

    def _ready(self, sizes: Sizes) -> FleetState:
        """The state, or that before the first row."""
        return self._usable() or initial_state(self.members, sizes)

    def _read_rows(self, X: object, which: object, state: FleetState | None, learns: bool = False) -> FleetRows:
        """The rows of a call, checked and sorted by member; many rows to learn on the backend."""
        return read_rows(X, which, len(self), state, self.members.shared, learns)

    def _learn(self, state: FleetState, rows: FleetRows, Y: Array, predict: bool) -> Array | None:
        """Learn rows in this state, which becomes that of the fleet; DivergedError for the members that diverged."""
        rule = self.members.shared
        validate_rows(self.members, state, rows, Y)
        reserve(self.members, state, rows)
        X, Y_there, out = rule.place(rows.X), rule.place(Y), rule.empty(Y.shape) if predict else None
        self._weights = {}
        try:
            with np.errstate(all="ignore"):
                p = FleetParameters(self.members, state, rows)
                learned = rule.kernel.fleet_learn(state.arrays, X, Y_there, p, out)
                complete = learned_all(learned, rows)
        except BaseException as error:
            state.interrupted = type(error).__name__
            self.live_state = state
            raise
        self.live_state = state
        state.feature_names, state.target_names = rows.names, rows.target_names
        count_steps(self.members, state, rows, learned)
        self._note_classes(state, rows, Y, learned)
        diverged = None if complete else describe_divergence(self.members, state, rows, learned)
        warn_of_lost_precision(self.members, state)
        if diverged:
            raise diverged
        return None if out is None else to_host(out)

    def _note_classes(self, state: FleetState, rows: FleetRows, Y: Array, learned: Array) -> None:
        """Note the classes of learned rows; only fleets of classifiers have any."""

    def _predict(self, state: FleetState, rows: FleetRows) -> Array:
        """Predictions (n, c) for rows sorted by member."""
        return predict_rows(self.members, state, rows, self._weights)

"""A fleet: the verbs of a learner for many of them at once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.learners.factory import learner_of
from orfit_bench.learners.fleets import serialization
from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.parameters import FleetParameters
from orfit_bench.learners.fleets.rows import FleetRows
from orfit_bench.learners.fleets.state import FleetState, from_states, initial_state, member_state, reserve
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.merging import merged
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState, Sizes

if TYPE_CHECKING:
    import xarray

NAMED = 5
"""Members that a message names, at most."""


class Fleet:
    """N independent learners of one method, learned by one call. Made by `orfit_bench.fleet`.

    Rows come with a leading axis, X (N, n, d), or as X (n, d) with `which` (n,), the member of each row. Each member
    equals the learner that learned the same rows alone.
    """

    def __init__(self, members: Members, state: FleetState | None = None) -> None:
        self.members, self.live_state = members, state
        rule = members.shared
        self.method, self.backend, self.dtype = rule.method, rule.backend, rule.dtype
        self._weights: dict[int, Array] = {}

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
    def n_samples_seen_(self) -> np.ndarray[Any, Any]:
        """Rows that each member has learned (N,)."""
        return np.zeros(len(self), np.int64) if self.live_state is None else self.live_state.n_samples.copy()

    # ------------------------------------------------------------------ members

    def __getitem__(self, i: int) -> Any:
        """A copy of member i as a learner of its own; negative i count from the end."""
        i = self._index(i)
        state = None if self.live_state is None else member_state(self.members, self.live_state, i)
        return learner_of(self.members.rule(i), state)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def _index(self, i: object) -> int:
        if isinstance(i, (bool, np.bool_)) or not isinstance(i, (int, np.integer)):
            raise TypeError(f"fleet: got the index {i!r}, want an integer")
        if not -len(self) <= i < len(self):
            raise IndexError(f"fleet: there is no member {i}, it has {len(self)}")
        return int(i) % len(self)

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
        ValueError
            If they do not fit; the fleet is unchanged.
        """
        learners = [others] if isinstance(others, Learner) else list(others)
        self.members, self.live_state = stacked([*self, *learners], self.members)
        self._weights = {}
        return self

    def remove(self, members: int | Iterable[int]) -> Self:
        """Remove a member, or several; those behind them move up. Returns the fleet itself."""
        gone = {self._index(i) for i in ([members] if isinstance(members, (int, np.integer)) else members)}
        kept = [i for i in range(len(self)) if i not in gone]
        if not kept:
            raise ValueError("remove: a fleet keeps at least one member")
        self.members = self.members.select(kept)
        self.live_state = self.live_state and self.live_state.select(kept)
        self._weights = {}
        return self

    def merge(self, other: Fleet) -> Self:
        """Merge member by member: each takes in what the other fleet's member of its number has learned.

        Parameters
        ----------
        other : Fleet
            Of the same length and method, with the same settings member by member; it stays as it is.

        Returns
        -------
        Fleet
            This fleet.

        Raises
        ------
        ValueError
            If the two do not fit, or the method has no rule for merging; the fleet is unchanged.
        """
        if not isinstance(other, Fleet) or len(other) != len(self):
            got = f"a fleet of {len(other)}" if isinstance(other, Fleet) else type(other).__name__
            raise ValueError(f"merge: got {got}, want a fleet of {len(self)} members")
        pairs = [(a, a.live_state, b, b.live_state) for a, b in zip(self, other, strict=True)]
        states = [merged(a.rule, one, b.rule, two) for a, one, b, two in pairs]
        self.live_state = self._stack_states(states)
        self._weights = {}
        return self

    def _stack_states(self, states: list[LearnerState | None]) -> FleetState | None:
        begun = [state for state in states if state]
        return from_states(self.members, begun) if begun else None

    # ------------------------------------------------------------------ the state outside of it

    def copy(self) -> Self:
        """An independent fleet in the same state."""
        return type(self)(self.members, self._usable() and self.live_state.copy() if self.live_state else None)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        from orfit_bench.learners.restoring import from_bytes

        return from_bytes, (self.to_bytes(),)

    def state(self) -> xarray.Dataset:
        """A copy of the state with the dimension "member"; settings and versions in attrs."""
        return serialization.to_dataset(self.members, self._usable())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to an .npz file without pickle; `orfit_bench.load` reads it."""
        serialization.save(self.members, self._usable(), path)

    def to_bytes(self) -> bytes:
        """The state as bytes with a checksum, without pickle; `orfit_bench.from_bytes` reads them."""
        return serialization.to_bytes(self.members, self._usable())

    # ------------------------------------------------------------------ learning

    def _usable(self) -> FleetState | None:
        """The state; RuntimeError where an interrupted kernel may have left it half written."""
        state = self.live_state
        if state and state.interrupted:
            raise RuntimeError(
                f"{self.method.name}: {state.interrupted} interrupted the kernel of the fleet, so that its state may "
                f"be half written: go on from an earlier copy() or a saved state"
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

    def _learn(self, state: FleetState, rows: FleetRows, Y: Array, predict: bool) -> Array | None:
        """Learn rows in this state, which becomes that of the fleet; DivergedError for the members that diverged."""
        rule = self.members.shared
        self._validate(state, rows, Y)
        more = np.zeros(len(self), np.int64)
        more[rows.members] = rows.counts
        reserve(self.members, state, more)
        out = np.empty(Y.shape, self.dtype) if predict else None
        before = state.n_steps[rows.members]
        self._weights = {}
        try:
            with np.errstate(all="ignore"):
                p = FleetParameters(self.members, state, rows)
                learned = rule.kernel.fleet_learn(state.arrays, rows.X, Y, p, out)
        except BaseException as error:
            state.interrupted = type(error).__name__
            self.live_state = state
            raise
        self.live_state = state
        state.n_steps[rows.members] += learned
        state.n_samples[rows.members] += learned
        self._mark_moved(state, rows, before, learned)
        self._note_classes(state, rows, Y, learned)
        failed = np.flatnonzero(learned < rows.counts)
        if len(failed):
            diverged = self._divergence(state, rows, learned, failed)
            self._warn(state)
            raise diverged
        self._warn(state)
        return out

    def _validate(self, state: FleetState, rows: FleetRows, Y: Array) -> None:
        validate = self.method.kernel.validate_rows
        if validate is None or not len(rows.X):
            return
        if not self.members.varying:
            validate(self.members.shared.settings, int(state.n_steps[rows.members].min()), rows.X, Y, False, True)
            return
        for j, i in enumerate(rows.members.tolist()):
            part = slice(int(rows.starts[j]), int(rows.starts[j + 1]))
            validate(self.members.settings(i), int(state.n_steps[i]), rows.X[part], Y[part], False, True)

    def _mark_moved(self, state: FleetState, rows: FleetRows, before: Array, learned: Array) -> None:
        """Note which members a transition or process noise has moved: never before their very first row."""
        if not hasattr(state.arrays, "moved"):
            return
        stepped = (learned > 0) & (before + learned > 1)
        for i in rows.members[stepped] if self.members.varying else rows.members[:0]:
            if self.members.rule(int(i)).is_dynamic(state.sizes):
                state.arrays.moved[i] = 1
        if not self.members.varying and self.members.shared.is_dynamic(state.sizes):
            state.arrays.moved[rows.members[stepped]] = 1

    def _note_classes(self, state: FleetState, rows: FleetRows, Y: Array, learned: Array) -> None:
        """Note the classes of learned rows; only fleets of classifiers have any."""

    def _divergence(self, state: FleetState, rows: FleetRows, learned: Array, failed: Array) -> DivergedError:
        members = tuple(rows.members[failed].tolist())
        row = rows.row_in_call(int(failed[0]), int(learned[failed[0]]))
        step = int(state.n_steps[members[0]]) + 1
        shown = ", ".join(map(str, members[:NAMED])) + (", ..." if len(members) > NAMED else "")
        return DivergedError(
            f"{self.method.name}: {len(members)} of {len(self)} members diverged ({shown}), member {members[0]} at its "
            f"step {step}, row {row} of this call: the step would not be finite, or its numbers have too few digits "
            f"left, so it was not applied; these members keep the state before it, the others have learned all rows",
            step,
            row,
            members,
        )

    def _warn(self, state: FleetState) -> None:
        """Warn once for each member that precision is lost."""
        warning = self.method.state.warning
        if warning is None or not hasattr(state.arrays, warning[0]):
            return
        new = np.flatnonzero((getattr(state.arrays, warning[0]) != 0) & ~state.has_warned)
        if len(new):
            state.has_warned[new] = True
            shown = ", ".join(map(str, new[:NAMED].tolist())) + (", ..." if len(new) > NAMED else "")
            text = f"{self.method.name}, {len(new)} members of the fleet ({shown}): {warning[1]}"
            warnings.warn(text, AccuracyWarning, stacklevel=5)

    # ------------------------------------------------------------------ answers

    def _predict(self, state: FleetState, rows: FleetRows) -> Array:
        """Predictions (n, c) for rows sorted by member."""
        spec, out = self.method.state, np.empty((len(rows.X), state.sizes.n_outputs), self.dtype)
        with np.errstate(all="ignore"):
            if spec.weights in spec.names and not (spec.prediction_weights or spec.predict or self.method.traits.gaps):
                w = getattr(state.arrays, spec.weights)
                if len(rows.shape) == 2:
                    return (rows.X.reshape(*rows.shape, -1) @ w).reshape(out.shape)
                of = np.repeat(rows.members, rows.counts)
                return (rows.X[:, None] @ w[of])[:, 0]
        for j, i in enumerate(rows.members.tolist()):
            part = slice(int(rows.starts[j]), int(rows.starts[j + 1]))
            out[part] = self._predict_one(state, i, rows.X[part])
        return out

    def _predict_one(self, state: FleetState, i: int, X: Array) -> Array:
        """Predictions (n, c) of member i, whose solved weights are kept until rows are learned."""
        rule, arrays = self.members.rule(i), state.member_arrays(i)
        steps = int(state.n_steps[i])
        one = LearnerState(state.sizes, arrays, rule.no_rows(state.sizes), steps)
        one.has_warned, one.solved_weights = bool(state.has_warned[i]), self._weights.get(i)
        found = rule.predict(one, X)
        if one.solved_weights is not None:
            self._weights[i], state.has_warned[i] = one.solved_weights, one.has_warned
        return found


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
    if any(state and (state.feature_names or state.target_names) for state in states):
        states = [state and replace(state, feature_names=(), target_names=()) for state in states]
    sizes = begun.sizes if not members.shared.method.traits.labels else begun.sizes._replace(n_outputs=0)
    ready = [state or members.rule(i).init(sizes) for i, state in enumerate(states)]
    return members, from_states(members, ready)


def join(parts: list[Members]) -> Members:
    """All members in this order, joined in pairs: N log N in place of N^2 comparisons."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [pair[0].joined(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]

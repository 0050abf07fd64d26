"""A fleet: the methods of a learner for many learners at once."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orfit_bench.learners.fleets import serialization
from orfit_bench.learners.fleets.accuracy import warn_of_lost_precision
from orfit_bench.learners.fleets.learning import (
    count_steps,
    describe_divergence,
    learned_all,
    validate_rows,
)
from orfit_bench.learners.fleets.membership import Membership
from orfit_bench.learners.fleets.parameters import FleetParameters
from orfit_bench.learners.fleets.prediction import predict_rows
from orfit_bench.learners.fleets.rows import FleetRows, HostArray, read_rows
from orfit_bench.learners.fleets.state import FleetState, initial_state, reserve
from orfit_bench.learners.fleets.weighted_rows import weigh_rows
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Sizes

if TYPE_CHECKING:
    import xarray


class Fleet(Membership):
    """N independent learners of one method that learn in one call. Made by `orfit_bench.fleet`.

    Rows come with a leading axis, X (N, n, d), or as X (n, d) with `which` (n,), the member of each row. Each member
    equals a single learner of the same rows. `fleet[i]` is a copy of member i as a learner.

    Notes
    -----
    Use a fleet for a few tens of learners or more with few features each, where a loop would spend its time in calls.
    Use single learners for nonlinear models and `learn_one`.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> fleet = ob.fleet("lms", 2, backend="numpy", step_size=0.5)
    >>> fleet.partial_fit([[1.0], [1.0], [1.0]], [4.0, 8.0, 4.0], which=[0, 1, 0])
    <fleet of 2 lms; numpy, float64, 3 rows seen>
    >>> fleet[0].predict([[1.0]])
    array([3.])
    """

    # ------------------------------------------------------------------ the state outside of it

    def copy(self) -> Self:
        """Return an independent fleet in the same state.

        Returns
        -------
        Fleet
            A fleet of the same class. What one of the two learns does not change the other.

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
            The state, which `orfit_bench.from_bytes` reads.

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

    def _ready(self, sizes: Sizes) -> FleetState:
        """The state, or the initial state before the first row."""
        return self._usable() or initial_state(self.members, sizes)

    def _read_rows(self, X: object, which: object, state: FleetState | None, learns: bool = False) -> FleetRows:
        """The rows of a call, checked and sorted by member; many rows to learn are placed on the backend."""
        return read_rows(X, which, len(self), state, self.members.shared, learns)

    def _learn(
        self, state: FleetState, rows: FleetRows, Y: Array, predict: bool, weights: HostArray | None = None
    ) -> Array | None:
        """Learn rows in this state, which becomes the state of the fleet; DivergedError if members diverged."""
        rule = self.members.shared
        validate_rows(self.members, state, rows, Y)
        work = weigh_rows(rule, rows, Y, weights)
        reserve(self.members, state, work.rows)
        X, Y_there, out = rule.place(work.rows.X), rule.place(work.Y), rule.empty(work.Y.shape) if predict else None
        try:
            with np.errstate(all="ignore"):
                p = FleetParameters(self.members, state, work.rows, work.factors)
                learned = rule.kernel.fleet_learn(state.arrays, X, Y_there, p, out)
            complete = learned_all(learned, work.rows)
            state.feature_names, state.target_names = rows.names, rows.target_names
            count_steps(self.members, state, work.rows, learned)
            samples = work.rows_of_call(rows, learned)
            state.n_samples[rows.places] += samples
            self._note_classes(state, rows, Y, samples)
        except BaseException as error:
            state.interrupted = type(error).__name__
            raise
        finally:
            self.live_state = state
        diverged = None if complete else describe_divergence(self.members, state, work.rows, learned)
        warn_of_lost_precision(self.members, state)
        if diverged:
            raise diverged
        return None if out is None else work.predictions(out)

    def _note_classes(self, state: FleetState, rows: FleetRows, Y: Array, learned: Array) -> None:
        """Note the classes of learned rows; only fleets of classifiers have any."""

    def _predict(self, state: FleetState, rows: FleetRows) -> Array:
        """Predictions (n, c) for rows sorted by member."""
        return predict_rows(self.members, state, rows)

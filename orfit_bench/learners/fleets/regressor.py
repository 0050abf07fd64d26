"""Fleets of learners of numbers, and of filters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import uncertainty
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.learners.fleets.bound_members import bind
from orfit_bench.learners.fleets.prediction import deviations_of_rows
from orfit_bench.learners.fleets.rows import FleetRows, HostArray, read_target_columns, read_targets
from orfit_bench.learners.fleets.state import FleetState
from orfit_bench.learners.fleets.supervised import SupervisedFleet
from orfit_bench.learners.fleets.weighted_rows import read_weights
from orfit_bench.learners.permits import by_one_thread
from orfit_bench.learners.probabilities import class_probabilities
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Sizes
from orfit_bench.tables.integers import DOUBLE


class RegressorFleet(SupervisedFleet):
    """A fleet of learners of numbers, or of filters.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> fleet = ob.fleet("rls", 2, backend="numpy", ridge=1e-6)
    >>> X, y = np.array([[[1.0], [2.0]], [[1.0], [2.0]]]), np.array([[1.0, 2.0], [3.0, 6.0]])
    >>> fleet.partial_fit(X, y).predict([[1.0], [1.0]], which=[1, 0]).round(3)
    array([3., 1.])
    """

    @by_one_thread
    def _learn_rows(
        self, X: ArrayLike, y: ArrayLike, which: ArrayLike | None, sample_weight: ArrayLike | None, predict: bool
    ) -> Any:
        state, rule = self._usable(), self.members.shared
        if state and state.bound and which is None and sample_weight is None:
            out = np.empty((len(self), 1), rule.dtype) if predict else None
            learned = state.bound(state, X, y, out)
            if learned > 0:
                self._learn_rest(state, X, y, learned, out)
                return out
        sizes = state.sizes if state else None
        rows = self._read_rows(X, which, state, learns=True)
        outputs, vector = (sizes.n_outputs, sizes.y_is_1d) if sizes else (None, True)
        known = state.target_names if state else ()
        values, names = read_target_columns(X, y, which, known, rule, None if vector else outputs)
        Y, vector = read_targets(values, rows, rule, outputs, vector)
        rows = replace(rows, target_names=known or names)
        weights = read_weights(sample_weight, X, rows, rule, predict)
        found = self._learn(self._ready(Sizes(rows.X.shape[1], Y.shape[1], vector)), rows, Y, predict, weights)
        if rows.rows_each == 1 and rule.on_host:
            self._bind_members()
        return self._shaped(rows, found) if predict else None

    def _learn_rest(self, state: FleetState, X: Any, y: Any, begin: int, out: HostArray | None) -> None:
        """Learn a row of X (N, 1, d) with y (N, 1) for each of the members from `begin` to the last."""
        if begin == len(self):
            return
        members, left = np.arange(begin, len(self)), slice(begin, None)
        rows = FleetRows(X[left, 0], y[left].shape, given=(members, np.arange(len(members) + 1)))
        found = self._learn(state, rows, y[left], predict=out is not None)
        if out is not None:
            out[left] = found

    def _bind_members(self) -> None:
        """Let the kernel prepare further calls with a row for each member."""
        state = self._begun()
        if state.bound is None and state.n_steps.all():
            state.bound = bind(self.members, state)

    @overload
    def predict(self, X: ArrayLike, *, which: ArrayLike | None = None, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        *,
        which: ArrayLike | None = None,
        return_std: Literal[True],
        noise_variance: float = 1.0,
    ) -> tuple[Array, Array]: ...
    def predict(
        self,
        X: ArrayLike,
        *,
        which: ArrayLike | None = None,
        return_std: bool = False,
        noise_variance: float = 1.0,
    ) -> Array | tuple[Array, Array]:
        """Predict targets; the fleet is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows.
        which : array_like of int, shape (n,), optional
            The member that predicts each row.
        return_std : bool, default False
            Whether the standard deviations of the targets, noise included, are returned too (`rls`, `ridge`, `kalman`).
        noise_variance : float, default 1.0
            For `rls` and `ridge`, as in `Learner.predict`; a filter has its `observation_noise`.

        Returns
        -------
        ndarray, shape (N, n) or (N, n, c); or (n,) or (n, c) with which
            Predictions, in the shape that y had. With `return_std` a pair of arrays of this shape.

        Raises
        ------
        TypeError
            If standard deviations are asked for and the method has none, or a filter gets a `noise_variance`.
        ValueError
            If no chunk was learned yet, or the rows do not fit.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 2, backend="numpy", step_size=0.5)
        >>> fleet = fleet.partial_fit([[1.0], [1.0]], [4.0, 8.0], which=[0, 1])
        >>> fleet.predict([[[1.0]], [[1.0]]])
        array([[2.],
               [4.]])
        >>> fleet.predict([[1.0], [1.0], [3.0]], which=[1, 0, 0])
        array([4., 2., 6.])
        >>> fleet = ob.fleet("rls", 2, backend="numpy").partial_fit([[1.0], [3.0]], [4.0, 8.0], which=[0, 1])
        >>> fleet.predict([[1.0], [1.0]], which=[0, 1], return_std=True)[1].round(3)
        array([1.225, 1.049])
        """
        noise = uncertainty.validate_noise(noise_variance, self.dtype if return_std else DOUBLE)
        if noise != 1 and isinstance(self.members.shared, FilterRule):
            raise TypeError(f"noise_variance: the setting observation_noise of {self.method.name} is its noise")
        state = self._begun()
        rows = self._read_rows(X, which, state)
        mean = self._shaped(rows, self._predict(state, rows))
        if not return_std:
            return mean
        return mean, self._shaped(rows, deviations_of_rows(self.members, state, rows, noise))

    def predict_proba(self, X: ArrayLike, *, which: ArrayLike | None = None) -> Array:
        """Predict probabilities of classes, for `sgd` with the logistic loss or the cross-entropy.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows.
        which : array_like of int, shape (n,), optional
            The member that predicts each row.

        Returns
        -------
        ndarray, shape (N, n, 2) or (N, n, c); or (n, 2) or (n, c) with which
            As in `Learner.predict_proba`.

        Raises
        ------
        TypeError
            If the method or its loss defines no probabilities.
        ValueError
            If y had several columns with the logistic loss, or as in `predict`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("sgd", 2, backend="numpy", loss="logistic", step_size=1.0)
        >>> fleet = fleet.partial_fit([[1.0], [1.0]], [1.0, -1.0], which=[0, 1])
        >>> fleet.predict_proba([[2.0], [2.0]], which=[0, 1]).round(2)
        array([[0.27, 0.73],
               [0.73, 0.27]])
        """
        state = self._begun()
        rows = self._read_rows(X, which, state)
        return rows.as_called(class_probabilities(self.members.shared, self._predict(state, rows)))

    def _shaped(self, rows: FleetRows, predictions: Array) -> Array:
        found = rows.as_called(predictions)
        return found[..., 0] if self._begun().sizes.y_is_1d else found

"""Fleets of learners of labels."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.errors import DivergedError
from orfit_bench.learners.encoding import array_of_labels, encode_labels
from orfit_bench.learners.fleets.classes import with_new_classes, without_unseen_classes
from orfit_bench.learners.fleets.rows import FleetRows, HostArray
from orfit_bench.learners.fleets.state import UNKNOWN, FleetState
from orfit_bench.learners.fleets.supervised import SupervisedFleet
from orfit_bench.learners.fleets.weighted_rows import read_weights
from orfit_bench.learners.permits import by_one_thread
from orfit_bench.learners.probabilities import class_probabilities
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Sizes
from orfit_bench.tables.columns import read_labels
from orfit_bench.tables.plain_values import refuse_masked
from orfit_bench.tables.row_labels import check_rows_agree


class ClassifierFleet(SupervisedFleet):
    """A fleet of learners of labels. They share the labels of `classes_`; each predicts only labels that it has seen.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> fleet = ob.fleet("class_rls", 2, backend="numpy")
    >>> fleet.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"], which=[0, 1]).classes_
    array(['cat', 'dog'], dtype='<U3')
    """

    @property
    def classes_(self) -> np.ndarray[Any, Any]:
        """The labels that some member has seen, in order of first appearance in the fleet."""
        return array_of_labels(list(self.live_state.classes) if self.live_state else [])

    @by_one_thread
    def _learn_rows(
        self, X: ArrayLike, y: ArrayLike, which: ArrayLike | None, sample_weight: ArrayLike | None, predict: bool
    ) -> Any:
        state = self._usable()
        rows = self._read_rows(X, which, state, learns=True)
        check_rows_agree(X, y, "y", len(rows.shape))
        refuse_masked(y, "y")
        given = read_labels(y)
        if (shape := to_host(given).shape) != rows.shape:
            raise ValueError(f"y: got shape {shape}, want {rows.shape}, one label for each row")
        weights = read_weights(sample_weight, X, rows, self.members.shared, predict)
        known = state.classes if state else ()
        columns, classes, _ = encode_labels(_flat(given, len(rows.shape)), "X", len(rows.X), known)
        Y = np.zeros((len(columns), len(classes)), self.dtype)
        Y[np.arange(len(columns)), columns] = 1
        ready = self._ready(Sizes(rows.X.shape[1], 0, y_is_1d=False))
        fields = self.members.shared.layout(ready.sizes).fields
        wide = with_new_classes(ready, fields, classes)
        try:
            found = self._learn(wide, rows, rows.sort(Y), predict, weights)
        except DivergedError:
            self.live_state = without_unseen_classes(wide, fields)
            raise
        return rows.as_called(found) if predict else None

    def _note_classes(self, state: FleetState, rows: FleetRows, Y: Array, learned: Array) -> None:
        if not Y.size:
            return
        label = Y.argmax(axis=1)
        of = np.repeat(np.arange(len(rows.members)), rows.counts)
        place = np.arange(len(label)) - rows.starts[of]
        new = (place < learned[of]) & (state.order[rows.members[of], label] == UNKNOWN)
        for row in np.flatnonzero(new):
            order = state.order[rows.members[of[row]]]
            if order[label[row]] == UNKNOWN:
                order[label[row]] = order.max() + 1

    def decision_function(self, X: ArrayLike, *, which: ArrayLike | None = None) -> Array:
        """Compute the scores of the classes; the fleet is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows.
        which : array_like of int, shape (n,), optional
            The member that scores each row.

        Returns
        -------
        ndarray, shape (N, n, classes), or (n, classes) with which
            Scores, with columns as in `classes_`; zero for classes that a member has not seen.

        Raises
        ------
        TypeError, ValueError
            If no chunk was learned yet, or the rows do not fit.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("class_rls", 2, backend="numpy")
        >>> fleet = fleet.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"], which=[0, 1])
        >>> fleet.decision_function([[1.0, 1.0], [1.0, 1.0]], which=[0, 1])
        array([[0.5, 0. ],
               [0. , 0.5]])
        """
        state = self._begun()
        rows = self._read_rows(X, which, state)
        return rows.as_called(self._predict(state, rows))

    def predict(self, X: ArrayLike, *, which: ArrayLike | None = None) -> Array:
        """Predict labels; the fleet is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows.
        which : array_like of int, shape (n,), optional
            The member that predicts each row.

        Returns
        -------
        ndarray, shape (N, n), or (n,) with which
            For each row, the class of the highest score among those that its member has seen; of classes with equal
            scores, the one that this member saw first.

        Raises
        ------
        TypeError, ValueError
            If no chunk was learned yet, the rows do not fit, or one of the members has seen no class yet.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("class_rls", 2, backend="numpy")
        >>> fleet = fleet.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"], which=[0, 1])
        >>> fleet.predict([[1.0, 1.0], [1.0, 1.0]], which=[0, 1])
        array(['cat', 'dog'], dtype='<U3')
        """
        state = self._begun()
        rows = self._read_rows(X, which, state)
        order = self._orders(state, rows)
        seen = np.where(order == UNKNOWN, -np.inf, self._predict(state, rows))
        best = (seen == seen.max(axis=1, keepdims=True)) | np.isnan(seen)  # as argmax of a single learner
        places = np.where(best & (order != UNKNOWN), order, order.shape[1])
        first = places.argmin(axis=1)  # of equal scores the class that was seen first
        return rows.as_called(self.classes_[first])

    def predict_proba(self, X: ArrayLike, *, which: ArrayLike | None = None) -> Array:
        """Predict the probability of each class; the fleet is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows.
        which : array_like of int, shape (n,), optional
            The member that predicts each row.

        Returns
        -------
        ndarray, shape (N, n, classes), or (n, classes) with which
            Columns as in `classes_`; each row adds up to 1. Classes that a member has not seen have probability 0.

        Raises
        ------
        TypeError
            If the method does not define probabilities.
        ValueError
            As in `predict`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("class_rls", 2, backend="numpy")
        >>> fleet = fleet.partial_fit([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], ["cat", "dog", "dog"], which=[0, 0, 1])
        >>> fleet.predict_proba([[1.0, 0.0], [1.0, 0.0]], which=[0, 1])
        array([[0.75, 0.25],
               [0.  , 1.  ]])
        """
        state = self._begun()
        rows = self._read_rows(X, which, state)
        scores, seen = self._predict(state, rows), self._orders(state, rows) != UNKNOWN
        alike = [np.ix_((seen == known).all(axis=1), known) for known in np.unique(seen, axis=0)]
        parts = [class_probabilities(self.members.shared, scores[cells]) for cells in alike]
        found = np.zeros(scores.shape, parts[0].dtype if parts else scores.dtype)
        for cells, part in zip(alike, parts, strict=True):  # of members that have seen the same classes
            found[cells] = part
        return rows.as_called(found)

    def _orders(self, state: FleetState, rows: FleetRows) -> HostArray:
        """The order (n, classes) in which the member of each row saw the classes; ValueError if it has seen none."""
        members = np.repeat(rows.members, rows.counts)
        order: HostArray = state.order[members]
        blank = (order == UNKNOWN).all(axis=1)
        if blank.any():
            raise ValueError(f"{self.method.name}: member {members[blank][0]} has seen no class yet")
        return order


def _flat(labels: Any, axes: int) -> Any:
    """Labels (n,) or (N, n) as (n,); those of lists stay as they are, since NumPy would make one kind of several."""
    if not isinstance(labels, (list, tuple)):
        return to_host(labels).reshape(-1)
    return labels if axes == 1 else list(chain.from_iterable(labels))

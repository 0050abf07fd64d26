"""Fleets of each kind of method: numbers, labels, subspaces."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners.encoding import encode_labels
from orfit_bench.learners.fleets.fleet import Fleet
from orfit_bench.learners.fleets.rows import FleetRows, read_target_columns, read_targets
from orfit_bench.learners.fleets.state import UNKNOWN, FleetState, in_host_memory, with_new_classes
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Sizes
from orfit_bench.tables.columns import read_labels
from orfit_bench.tables.row_labels import check_rows_agree


class SupervisedFleet(Fleet):
    """What fleets with targets have in common: the verbs."""

    def partial_fit(self, X: ArrayLike, y: ArrayLike, *, which: ArrayLike | None = None) -> Self:
        """Learn rows, those of each member in order.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows of each member. The first call fixes d and the names of columns, which all members share.
        y : array_like, shape (N, n) or (N, n, c); or (n,) or (n, c) with which
            Targets, or labels (N, n) or (n,). The first call fixes c.
        which : array_like of int, shape (n,), optional
            The member of each row; a member may have any number of rows, in any order among the others'.

        Returns
        -------
        Fleet
            The fleet itself.

        Raises
        ------
        TypeError, ValueError
            If the rows do not fit; no member has changed.
        DivergedError
            If a step of some members would not be finite. Those keep the state before it, all others have learned
            their rows; the error's `members` are their numbers.

        Warns
        -----
        AccuracyWarning
            Once per member, if half of the digits of its state are lost, for methods that measure it.
        UserWarning
            Once, if X has named columns and the first rows had none, or the reverse.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 3, backend="numpy", step_size=0.5)
        >>> fleet.partial_fit([[1.0], [1.0], [1.0]], [4.0, 8.0, 4.0], which=[0, 2, 0]).n_samples_seen_
        array([2, 0, 1])
        """
        self._learn_rows(X, y, which, predict=False)
        return self

    def prequential(self, X: ArrayLike, y: ArrayLike, *, which: ArrayLike | None = None) -> Array:
        """Learn rows as `partial_fit` does, and predict each of them just before its step.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows of each member.
        y : array_like, shape (N, n) or (N, n, c); or (n,) or (n, c) with which
            Targets, or labels (N, n) or (n,).
        which : array_like of int, shape (n,), optional
            The member of each row.

        Returns
        -------
        ndarray, shape (N, n) or (N, n, c); or (n,) or (n, c) with which
            Predictions, in the shape of y. For labels scores, (N, n, classes) or (n, classes), with columns as in
            `classes_` after the call.

        Raises
        ------
        TypeError, ValueError, DivergedError
            As in `partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("lms", 2, backend="numpy", step_size=0.5)
        >>> fleet.prequential([[[1.0], [1.0]], [[1.0], [1.0]]], [[4.0, 4.0], [8.0, 8.0]])
        array([[0., 2.],
               [0., 4.]])
        """
        return self._learn_rows(X, y, which, predict=True)

    def _learn_rows(self, X: ArrayLike, y: ArrayLike, which: ArrayLike | None, predict: bool) -> Any:
        raise NotImplementedError


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

    def _learn_rows(self, X: ArrayLike, y: ArrayLike, which: ArrayLike | None, predict: bool) -> Any:
        state, rule = self._usable(), self.members.shared
        sizes = state.sizes if state else None
        rows = self._read_rows(X, which, state, learns=True)
        outputs, vector = (sizes.n_outputs, sizes.y_is_1d) if sizes else (None, True)
        known = state.target_names if state else ()
        values, names = read_target_columns(X, y, which, known, rule.allows_gaps, None if vector else outputs)
        Y, vector = read_targets(values, rows, rule, outputs, vector)
        rows = rows._replace(target_names=known or names)
        found = self._learn(self._ready(Sizes(rows.X.shape[1], Y.shape[1], vector)), rows, Y, predict)
        return self._shaped(rows, found) if predict else None

    def predict(self, X: ArrayLike, *, which: ArrayLike | None = None) -> Array:
        """Predict targets; the fleet is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows.
        which : array_like of int, shape (n,), optional
            The member that predicts each row.

        Returns
        -------
        ndarray, shape (N, n) or (N, n, c); or (n,) or (n, c) with which
            Predictions, in the shape that y had.

        Raises
        ------
        TypeError, ValueError
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
        """
        state = self._begun()
        rows = self._read_rows(X, which, state)
        return self._shaped(rows, self._predict(state, rows))

    def _shaped(self, rows: FleetRows, predictions: Array) -> Array:
        found = rows.as_called(predictions)
        return found[..., 0] if self._begun().sizes.y_is_1d else found


class ClassifierFleet(SupervisedFleet):
    """A fleet of learners of labels. All share the labels of `classes_`; each predicts those that it has seen.

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
        return np.array(list(self.live_state.classes) if self.live_state else [])

    def _learn_rows(self, X: ArrayLike, y: ArrayLike, which: ArrayLike | None, predict: bool) -> Any:
        state = self._usable()
        rows = self._read_rows(X, which, state, learns=True)
        check_rows_agree(X, y, "y", len(rows.shape))
        given = to_host(read_labels(y))
        if given.shape != rows.shape:
            raise ValueError(f"y: got shape {given.shape}, want {rows.shape}, one label for each row")
        known = state.classes if state else ()
        columns, classes, _ = encode_labels(given.reshape(-1), "X", len(rows.X), known)
        Y = np.zeros((len(columns), len(classes)), self.dtype)
        Y[np.arange(len(columns)), columns] = 1
        ready = self._ready(Sizes(rows.X.shape[1], 0, y_is_1d=False))
        wide = with_new_classes(ready, self.members.shared.layout(ready.sizes).fields, classes)
        found = self._learn(wide, rows, rows.sort(Y), predict)
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
            For each row, of the classes that its member has seen, the class of the highest score. Of classes with equal
            scores it is the one that this member saw first.

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
        scores, order = self._predict(state, rows), state.order[np.repeat(rows.members, rows.counts)]
        if (order == UNKNOWN).all(axis=1).any():
            blank = int(np.repeat(rows.members, rows.counts)[(order == UNKNOWN).all(axis=1)][0])
            raise ValueError(f"{self.method.name}: member {blank} has seen no class yet")
        seen = np.where(order == UNKNOWN, -np.inf, scores)
        best = seen == seen.max(axis=1, keepdims=True)
        places = np.where(best & (order != UNKNOWN), order, order.shape[1])
        first = places.argmin(axis=1)  # of equal scores the class that was seen first
        return rows.as_called(self.classes_[first])


class SubspaceFleet(Fleet):
    """A fleet of learners of subspaces.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> fleet = ob.fleet("oja", 2, backend="numpy", n_components=1, step_size=1e6)
    >>> fleet = fleet.partial_fit([[[2.0, 0.0]], [[0.0, 3.0]]])
    >>> abs(fleet[0].components_).round(3), abs(fleet[1].components_).round(3)
    (array([[1., 0.]]), array([[0., 1.]]))
    """

    def partial_fit(self, X: ArrayLike, y: object = None, *, which: ArrayLike | None = None) -> Self:
        """Learn rows, those of each member in order.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows of each member. The first call fixes d, at least n_components, and the names of columns.
        y : None
            Ignored, as in scikit-learn.
        which : array_like of int, shape (n,), optional
            The member of each row; a member may have any number of rows, in any order among the others'.

        Returns
        -------
        Fleet
            The fleet itself.

        Raises
        ------
        TypeError, ValueError, DivergedError
            As in `SupervisedFleet.partial_fit`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("oja", 2, backend="numpy", n_components=1)
        >>> fleet.partial_fit([[2.0, 0.0], [0.0, 3.0], [0.0, 1.0]], which=[0, 1, 1]).n_samples_seen_
        array([1, 2])
        """
        state = self._usable()
        rows = self._read_rows(X, which, state, learns=True)
        d, k = rows.X.shape[1], self.members.shared.settings["n_components"]
        if k > d:
            raise ValueError(f"X: got {d} features, want at least n_components={k}")
        self._learn(self._ready(Sizes(d, 0, y_is_1d=False)), rows, rows.X[:, :0], predict=False)
        return self

    def transform(self, X: ArrayLike, *, which: ArrayLike | None = None) -> Array:
        """Compute the coordinates of rows in the basis `components_` of their member; the fleet is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (N, n, d), or (n, d) with which
            Rows.
        which : array_like of int, shape (n,), optional
            The member that transforms each row.

        Returns
        -------
        ndarray, shape (N, n, n_components), or (n, n_components) with which
            Coordinates; the last columns are zero where `components_` of a member has fewer rows.

        Raises
        ------
        TypeError, ValueError
            If no chunk was learned yet, or the rows do not fit.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> fleet = ob.fleet("oja", 2, backend="numpy", n_components=1, step_size=1e6)
        >>> fleet = fleet.partial_fit([[[2.0, 0.0]], [[0.0, 3.0]]])
        >>> abs(fleet.transform([[3.0, 4.0], [3.0, 4.0]], which=[0, 1])).round(3)
        array([[3.],
               [4.]])
        """
        state = self._begun()
        rows = self._read_rows(X, which, state)
        out = np.zeros((len(rows.X), self.members.shared.settings["n_components"]), self.dtype)
        here, X_here = type(self)(self.members.on_reference, in_host_memory(self.members, state)), to_host(rows.X)
        for j, i in enumerate(rows.members.tolist()):
            part = slice(int(rows.starts[j]), int(rows.starts[j + 1]))
            found = X_here[part] @ here[i].components_.T
            out[part, : found.shape[1]] = found
        return rows.as_called(out)

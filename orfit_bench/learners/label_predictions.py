"""Predictions of a learner of labels: scores, labels and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners.advice import refuse_arguments
from orfit_bench.learners.encoding import array_of_labels
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.probabilities import class_probabilities
from orfit_bench.spec.arrays import row_blocks, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Label

SCORES = 2**22
"""Largest number of scores that are held in memory to predict labels."""


class LabelPredictions(Learner):
    """A learner that predicts labels; none of these methods changes it."""

    @property
    def classes_(self) -> np.ndarray[Any, Any]:
        """The labels seen so far, in order of first appearance."""
        return array_of_labels(list(self._state.classes) if self._state else [])

    def decision_function(self, X: ArrayLike) -> Array:
        """Compute the scores of the classes; the learner is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows.

        Returns
        -------
        array of the backend, shape (n, classes)
            Scores, with columns as in `classes_`.

        Raises
        ------
        ValueError
            If no chunk was learned yet, or X does not fit the earlier rows.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("class_rls", backend="numpy").partial_fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"])
        >>> learner.decision_function([[1.0, 0.0], [0.0, 2.0]])
        array([[0.5, 0. ],
               [0. , 1. ]])
        """
        X = self._rows_to_predict(X)
        return self.rule.predict(self._begun(), X)

    def predict(self, X: ArrayLike, **unknown: object) -> np.ndarray[Any, Any]:
        """Predict the labels of rows: for each row the class of the highest score; the learner is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n,)
            Labels in host memory; of classes with equal scores, the one that appeared first.

        Raises
        ------
        TypeError
            If an argument is unknown.
        ValueError
            If no class was learned yet, or X does not fit the earlier rows.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("class_rls", backend="numpy").partial_fit([[1.0, 0.0], [0.0, 1.0]], [3, 7])
        >>> learner.predict([[0.9, 0.1], [0.1, 0.9]])
        array([3, 7])
        """
        refuse_arguments(self.method, "predict", unknown, ("X",))
        rows, state = self._rows_to_predict(X), self._begun()
        parts = row_blocks(rows, len(state.classes), SCORES)
        return np.concatenate([self._labels(self.rule.predict(state, part)) for part in parts])

    def predict_proba(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n, classes)
            Columns as in `classes_`; each row adds up to 1.

        Raises
        ------
        TypeError
            If the method does not define probabilities.
        ValueError
            As in `decision_function`.

        Notes
        -----
        For `softmax`, these are the probabilities of its model. For `class_rls`, they are the distribution nearest to
        the scores in the sum of squares. It is not calibrated, since least squares ignores the bounds of probabilities.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("class_rls", backend="numpy").partial_fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"])
        >>> learner.predict_proba([[1.0, 0.0], [1.0, 1.0]])
        array([[0.75, 0.25],
               [0.5 , 0.5 ]])
        """
        return class_probabilities(self.rule, self._with_classes(self.decision_function(X)))

    def predict_one(self, x: ArrayLike) -> Label:
        """Predict the label of one row.

        Parameters
        ----------
        x : array_like, shape (d,)
            The row.

        Returns
        -------
        int, bool or str
            The label that `predict` returns for this row, as a Python value.

        Raises
        ------
        ValueError
            If no class was learned yet, or x does not fit the earlier rows.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> learner = ob.create("class_rls", backend="numpy").partial_fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"])
        >>> learner.predict_one([0.1, 0.9])
        'dog'
        """
        if (row := self._single_row) and (scores := row.predict_outputs(self._state, x)) is not None and scores.size:
            return self._begun().classes[int(scores[0].argmax())]
        X = self._row_to_predict(x)
        label: Label = self._labels(self.rule.predict(self._begun(), X)).tolist()[0]
        return label

    def _labels(self, scores: Array) -> np.ndarray[Any, Any]:
        """The classes of highest score."""
        labels: np.ndarray[Any, Any] = self.classes_[self._with_classes(scores).argmax(axis=1)]
        return labels

    def _with_classes(self, scores: Array) -> np.ndarray[Any, Any]:
        """The scores in host memory; ValueError if no class is known."""
        if not scores.shape[1]:
            raise ValueError(f"{self.method.name} has seen no class yet: call partial_fit with labelled rows first")
        return to_host(scores)

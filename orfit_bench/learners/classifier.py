"""The learner of labels: classes may appear at any row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from orfit_bench.learners.learner import Learner
from orfit_bench.learners.targets import with_labels
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Label


class Classifier(Learner):
    """Learns a stream of rows X (n, d) with labels y (n,): integers, booleans or strings, one kind a learner."""

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn the rows of X (n, d) with labels y (n,) in order; n may be 0 or 1. Returns self.

        Raises TypeError or ValueError for rows that are no finite numbers, labels of another kind, or what does not
        fit the earlier rows (the learner is then as before), DivergedError where a step would leave the finite numbers.
        """
        rows = with_labels(self.rule, self._usable(), X, y)
        self._update(rows, self.rule.learn, rows.X, rows.Y)
        return self

    def prequential(self, X: Any, y: Any) -> Array:
        """Learn the rows as `partial_fit` does; returns the scores (n, classes) of each before its step.

        There is a column for every class known after the call, zero until that class was seen.
        """
        rows = with_labels(self.rule, self._usable(), X, y)
        return self._update(rows, self.rule.learn, rows.X, rows.Y, True)

    def step(self, A: Any, y: Any) -> Self:
        """Learn the rows of A (M, d), M >= 1, with labels y (M,) as one step. Returns self."""
        self._check_step()
        rows = with_labels(self.rule, self._usable(), A, y, "A")
        self._update(rows, self.rule.step, rows.X, rows.Y)
        return self

    @property
    def classes_(self) -> np.ndarray[Any, Any]:
        """The labels seen so far, in order of first appearance."""
        return _as_array(list(self._state.classes) if self._state else [])

    def decision_function(self, X: Any) -> Array:
        """Scores (n, classes) of the rows of X (n, d), columns as in `classes_`. Changes nothing."""
        X = self._question(X)
        return self.rule.predict(self._begun(), X)

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Labels (n,) of the rows of X (n, d): the class of highest score, of several the one seen first."""
        scores = self.backend.asnumpy(self.decision_function(X))
        if not scores.shape[1]:
            raise ValueError(f"{self.method.name} has seen no class yet: call partial_fit with labelled rows first")
        labels: np.ndarray[Any, Any] = self.classes_[scores.argmax(axis=1)]
        return labels


def _as_array(classes: list[Label]) -> np.ndarray[Any, Any]:
    """An array of these very labels; of objects where NumPy's integers are too short, or its texts lose a final NUL."""
    array = np.array(classes)
    same = array.dtype.kind in "biuU" and array.tolist() == classes
    return array if same or not classes else np.array(classes, object)

"""Classifiers: `fit`, `partial_fit` and `predict` of scikit-learn around a learner of labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from orfit_bench.sklearn.base import checked_weights
from orfit_bench.sklearn.linear import LinearRows
from orfit_bench.sklearn.tables import validate_rows

Array = Any


def _has_probabilities(estimator: Any) -> bool:
    """Whether the method defines probabilities; `hasattr` agrees."""
    if estimator.method.state.probabilities is None:
        raise AttributeError(f"{estimator.method.name} defines no probabilities: use decision_function")
    return True


class StreamingClassifier(ClassifierMixin, LinearRows):  # type: ignore[misc]
    """A classifier that learns a stream of labelled rows."""

    classes_: Array
    _fitted = ("learner_", "classes_")

    def fit(self, X: Array, y: Array) -> Self:
        """Learn labelled rows in order, from scratch.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,)
            Labels.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y)

    def partial_fit(self, X: Array, y: Array, classes: Array = None) -> Self:
        """Learn further labelled rows in order.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,)
            Labels.
        classes : array_like, optional
            All labels that may occur. Default: `classes_` grows as labels appear.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, y, classes)

    def _fit(self, X: Array, y: Array, sample_weight: Array = None, classes: Array = None) -> Self:
        with self._as_before_after_errors():
            X, y = self._checked(X, y, True)
            self._begin_learner()
            self._known: dict[Any, int] = {}
            self.classes_ = unique_labels(y if classes is None else classes)
            self._fixed = classes is not None
            return self._learn_labels(X, y, sample_weight)

    def _partial_fit(self, X: Array, y: Array, classes: Array, sample_weight: Array = None) -> Self:
        if not hasattr(self, "learner_"):
            return self._fit(X, y, sample_weight, classes)
        X, y = self._checked(X, y, False)
        if classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(f"classes: got {classes!r}, but the first call had {self.classes_!r}")
        return self._learn_labels(X, y, sample_weight)

    def _checked(self, X: Array, y: Array, start: bool) -> tuple[Array, Array]:
        X, y = validate_rows(self, X, y, reset=start, dtype=np.float64, order="C")
        check_classification_targets(y)
        return X, y

    def _learn_labels(self, X: Array, y: Array, sample_weight: Array) -> Self:
        """Learn labels of any dtype; the learner gets integers, in order of first appearance."""
        first = not self.learner_.n_samples_seen_
        weights = None if sample_weight is None else checked_weights(sample_weight, len(X), first)
        classes = set(self.classes_.tolist())
        new = [label for label in unique_labels(y).tolist() if label not in classes]
        if new and self._fixed:
            raise ValueError(f"y: the label {new[0]!r} is not among the classes of the first call")
        if new:
            unique_labels([*self.classes_.tolist(), *new])  # refuses labels of several types
        known = dict(self._known)
        for label in y.tolist():
            known.setdefault(label, len(known))
        try:
            self._learn(self._rows(X), [known[label] for label in y.tolist()], sample_weight=weights)
        finally:  # the rows before one that diverged are learned
            learned = len(self.learner_.classes_)
            self._known = {label: code for label, code in known.items() if code < learned}
            if seen := [label for label in new if label in self._known]:
                self.classes_ = unique_labels([*self.classes_.tolist(), *seen])
        return self

    def _in_columns(self, found: Array) -> Array:
        scores = self._in_order(found)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _in_order(self, found: Array) -> Array:
        """Columns as in `classes_` from columns in order of first appearance; 0 for classes without a row."""
        columns = np.zeros((len(found), len(self.classes_)))
        for i, label in enumerate(self.classes_.tolist()):
            if label in self._known:
                columns[:, i] = found[:, self._known[label]]
        return columns

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Array) -> Array:
        """Probabilities of the classes, as returned by the learner: see `orfit_bench.create`.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n, classes)
            Columns as in `classes_`; each row adds up to 1.
        """
        self._check_is_fitted()
        rows = self._rows(validate_rows(self, X, reset=False, dtype=np.float64, order="C"))
        return self._in_order(self.learner_.predict_proba(rows))

    def decision_function(self, X: Array) -> Array:
        """Scores of the classes.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n,) or (n, classes)
            Columns as in `classes_`; for two classes, the score of the second minus that of the first.
        """
        self._check_is_fitted()
        rows = self._rows(validate_rows(self, X, reset=False, dtype=np.float64, order="C"))
        return self._in_columns(self.learner_.backend.asnumpy(self.learner_.decision_function(rows)))

    def predict(self, X: Array) -> Array:
        """Predict labels.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n,)
            The labels with the highest scores, among those of the learned rows.
        """
        scores = self.decision_function(X)
        if len(self._known) < len(self.classes_):  # classes without a row have the score 0
            learned = np.flatnonzero([label in self._known for label in self.classes_.tolist()])
            columns = scores if scores.ndim > 1 else np.stack([-scores, scores], axis=1)
            return self.classes_[learned[columns[:, learned].argmax(axis=1)]]
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


class WeightedClassifier(StreamingClassifier):
    """A classifier whose method has a rule for the weight of a row."""

    def fit(self, X: Array, y: Array, sample_weight: Array = None) -> Self:
        """Learn labelled rows in order, from scratch.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,)
            Labels.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows; an integer weight k counts as k copies of the row if the method does not forget.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Array, y: Array, classes: Array = None, sample_weight: Array = None) -> Self:
        """Learn further labelled rows in order.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,)
            Labels.
        classes : array_like, optional
            All labels that may occur. Default: `classes_` grows as labels appear.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows, as in `fit`.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._partial_fit(X, y, classes, sample_weight)

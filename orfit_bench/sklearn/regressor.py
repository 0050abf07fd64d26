"""Regressors: `fit`, `partial_fit` and `predict` of scikit-learn around a learner of numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, validate_data

from orfit_bench.sklearn.linear import LinearRows

Array = Any


class StreamingRegressor(RegressorMixin, LinearRows):  # type: ignore[misc]
    """A regressor that learns a stream of rows."""

    def fit(self, X: Array, y: Array) -> Self:
        """Learn rows in order, from scratch.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,) or (n, outputs)
            Targets.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y, True)

    def partial_fit(self, X: Array, y: Array) -> Self:
        """Learn further rows in order; parameters and return value as in `fit`."""
        return self._fit(X, y, not hasattr(self, "learner_"))

    def _fit(self, X: Array, y: Array, start: bool, sample_weight: Array = None) -> Self:
        X, y = validate_data(self, X, y, reset=start, dtype=np.float64, order="C", multi_output=True, y_numeric=True)
        X, y = self._rows(X), np.asarray(y, float)
        if sample_weight is not None:
            X, y = self._weighted(X, y, sample_weight)
        if start:
            self.learner_ = self._new_learner()
        self._learn(X, y)
        return self

    def _weighted(self, X: Array, y: Array, sample_weight: Array) -> tuple[Array, Array]:
        """Rows and targets times the root of their weight, whose squared errors count by this weight."""
        merge = self.method.combine.merge
        reason = merge.refuses(self._new_learner().settings, True) if merge else "it has no exact merge"
        if self.get_params().get("forgetting_factor", 1) != 1:
            reason = "it forgets, so that rows do not count equally"
        if reason:
            raise TypeError(f"{type(self).__name__} has no rule for sample_weight with these parameters: {reason}")
        root = np.sqrt(_checked_weights(sample_weight, len(X)))
        return X * root[:, None], y * (root if y.ndim == 1 else root[:, None])

    def _answer(self, X: Array) -> Array:
        return self.learner_.backend.asnumpy(self.learner_.predict(X))

    def predict(self, X: Array) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n,) or (n, outputs)
            Predictions, in the shape that y had.
        """
        self._check_is_fitted()
        return self._answer(self._rows(validate_data(self, X, reset=False, dtype=np.float64, order="C")))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        # one pass with the default step need not come near the least-squares solution; exact methods do
        tags.regressor_tags.poor_score = self.method.theory.inverse_gram is None
        return tags


def _checked_weights(sample_weight: Array, rows: int) -> Array:
    """Weights (n,), finite and not negative; a number is the weight of every row."""
    given = [sample_weight] if np.isscalar(sample_weight) else sample_weight
    weights = check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.ndim != 1 or len(weights) not in (1, rows):
        raise ValueError(f"sample_weight: got shape {weights.shape}, want ({rows},), one weight for each row")
    if (weights < 0).any():
        raise ValueError("sample_weight: negative values are not allowed, want weights >= 0")
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero, want one that is positive")
    return np.broadcast_to(weights, rows)


class WeightedRegressor(StreamingRegressor):
    """A regressor whose method has a rule for the weight of a row."""

    def fit(self, X: Array, y: Array, sample_weight: Array = None) -> Self:
        """Learn rows in order, from scratch.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,) or (n, outputs)
            Targets.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows; a whole number equals as many repetitions.

        Returns
        -------
        estimator
            The estimator itself.

        Raises
        ------
        TypeError
            If weights are given, but parameters such as a forgetting factor leave no exact rule for them.
        """
        return self._fit(X, y, True, sample_weight)

    def partial_fit(self, X: Array, y: Array, sample_weight: Array = None) -> Self:
        """Learn further rows in order; parameters, return value and errors as in `fit`."""
        return self._fit(X, y, not hasattr(self, "learner_"), sample_weight)

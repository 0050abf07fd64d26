"""Estimators with an intercept, and the coefficients of linear models."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.sklearn.base import StreamingEstimator
from orfit_bench.spec.model import LINEAR

Array = Any


class LinearRows(StreamingEstimator):
    """An estimator whose rows get a constant column for the intercept."""

    @property
    def _has_intercept(self) -> bool:
        """Whether the learner was created for rows with a constant column."""
        return bool(self._parameters["fit_intercept"]) and self._model(self._parameters) is LINEAR

    def _rows(self, X: Array) -> Array:
        """The rows that are passed to the learner."""
        return np.hstack([X, np.ones((len(X), 1))]) if self._has_intercept else X

    def _in_columns(self, found: Array) -> Array:
        """Predictions, scores or weights (n, c) of the learner, in the shape and order of those of the estimator."""
        raise NotImplementedError

    def _weights(self) -> Array:
        """The weights (d, ...) of a linear model; the intercept is last."""
        self._check_is_fitted()
        if self._model(self._parameters) is not LINEAR or self.method.state.predict:
            raise AttributeError(
                f"{type(self).__name__} does not fit a linear model, so it has no coefficients; learner_.state() "
                f"contains the weights of its model"
            )
        learner = self.learner_
        weights = np.array(learner.backend.asnumpy(learner.rule.prediction_weights(learner.live_state)))
        return self._in_columns(weights)

    @property
    def coef_(self) -> Array:
        """The weights of the features, of shape (d,) or (outputs, d)."""
        weights = self._weights()
        return weights[: self.n_features_in_].T

    @property
    def intercept_(self) -> Array:
        """The weight of the constant, 0 if fitted without `fit_intercept`; a number or of shape (outputs,)."""
        weights = self._weights()
        return weights[-1] if self._has_intercept else np.zeros(weights.shape[1:])[()]

"""Regressors: `fit`, `partial_fit` and `predict` of scikit-learn around a learner of numbers."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import assert_all_finite

from orfit_bench.learners import uncertainty
from orfit_bench.sklearn.base import checked_weights
from orfit_bench.sklearn.linear import LinearRows
from orfit_bench.sklearn.tables import target_names, validate_rows, with_integers
from orfit_bench.tables.integers import LARGEST, refuse_rounded

Array = Any
GOOD_SCORES = ("apa", "nlms", "one_step_sgd", "owm")
"""Methods that do not compute a least-squares solution, but explain half of the variance in scikit-learn's check after
one pass with the default settings."""


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
        """Learn further rows in order.

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
        return self._fit(X, y, not hasattr(self, "learner_"))

    def _fit(self, X: Array, y: Array, start: bool, sample_weight: Array = None) -> Self:
        with self._as_before_after_errors() if start else nullcontext():
            names, given = target_names(y, None if start else getattr(self, "_target_names", None)), y
            X, y = validate_rows(
                self, X, y, reset=start, dtype=np.float64, order="C", multi_output=True, y_numeric=True
            )
            if self.method.traits.gaps:
                assert_all_finite(y, input_name="y")  # None of a list of objects has become NaN
            numbers = np.asarray(y, float)
            if np.abs(numbers).max(initial=0) >= LARGEST:
                for column in np.atleast_2d(with_integers(given, y).T):
                    refuse_rounded(column, "y")
            weights = None if sample_weight is None else checked_weights(sample_weight, len(X), start)
            if start:
                self._begin_learner()
                self._target_names = names
            self._learn(self._rows(X), numbers, sample_weight=weights)
        return self

    def _in_columns(self, found: Array) -> Array:
        return found[:, 0] if self.learner_.live_state.sizes.y_is_1d else found

    def predict(self, X: Array, return_std: bool = False) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        return_std : bool, default False
            Not supported by this method; raises an error that names the methods with standard deviations.

        Returns
        -------
        ndarray, shape (n,) or (n, outputs)
            Predictions, in the shape of y.
        """
        self._check_is_fitted()
        if return_std:
            uncertainty.require(self.method, np.dtype(np.float64))
        rows = self._rows(validate_rows(self, X, reset=False, dtype=np.float64, order="C"))
        return self.learner_.backend.asnumpy(self.learner_.predict(rows))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        is_exact = self.method.theory.inverse_gram is not None or self.method.state.solution is not None
        tags.regressor_tags.poor_score = not is_exact and self.method.name not in GOOD_SCORES
        return tags


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
            Weights of the rows; an integer weight k counts as k copies of the row if the method does not forget.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y, True, sample_weight)

    def partial_fit(self, X: Array, y: Array, sample_weight: Array = None) -> Self:
        """Learn further rows in order.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,) or (n, outputs)
            Targets.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows, as in `fit`.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, y, not hasattr(self, "learner_"), sample_weight)


class ProbabilisticRegressor(WeightedRegressor):
    """A regressor that computes standard deviations of its predictions."""

    def predict(self, X: Array, return_std: bool = False, noise_variance: float = 1.0) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        return_std : bool, default False
            Whether the standard deviations of the targets, noise included, are returned too.
        noise_variance : float, default 1.0
            The variance of the noise in the targets; ignored by filters, which have a parameter `observation_noise`.

        Returns
        -------
        ndarray, shape (n,) or (n, outputs)
            Predictions, in the shape of y; with `return_std` a pair of arrays of this shape.
        """
        if not return_std:
            return super().predict(X)
        self._check_is_fitted()
        rows = self._rows(validate_rows(self, X, reset=False, dtype=np.float64, order="C"))
        noise = {} if self.method.traits.gaps else {"noise_variance": noise_variance}
        return tuple(map(self.learner_.backend.asnumpy, self.learner_.predict(rows, return_std=True, **noise)))

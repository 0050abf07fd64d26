"""Subspaces as transformers: rows are centred as they arrive, and the components are those of a PCA."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array

from orfit_bench.sklearn.base import StreamingEstimator
from orfit_bench.sklearn.tables import validate_rows

Array = Any


class Axes(NamedTuple):
    """Principal axes of a subspace as rows (k, d), and the sums of squares of the rows along them (k,), descending."""

    components: Array
    squares: Array

    def turned(self, basis: Array, rows: Array) -> Axes:
        """The axes of another basis (k, d), with further rows; earlier rows count by their projections."""
        overlap, Z = basis @ self.components.T, rows @ basis.T
        values, V = np.linalg.eigh(overlap * self.squares @ overlap.T + Z.T @ Z)
        return Axes(V[:, ::-1].T @ basis, values[::-1].clip(0))


class StreamingTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StreamingEstimator):  # type: ignore[misc]
    """A transformer that learns the directions of largest variance from a stream of rows.

    Rows are centred without a second pass: row t is learned as sqrt((t - 1) / t) (x - mean of the rows before it). The
    sum of squares of these rows equals the sum of squares of the original rows about their mean (Welford).
    """

    mean_: Array
    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    singular_values_: Array
    _fitted = ("learner_", "mean_", "components_", "explained_variance_")

    def fit(self, X: Array, y: Any = None) -> Self:
        """Learn rows in order, from scratch.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, True)

    def partial_fit(self, X: Array, y: Any = None) -> Self:
        """Learn further rows in order.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        estimator
            The estimator itself.
        """
        return self._fit(X, not hasattr(self, "learner_"))

    def _fit(self, X: Array, start: bool) -> Self:
        with self._as_before_after_errors(None if start else self.learner_.copy()):
            X = validate_rows(self, X, reset=start, dtype=np.float64, order="C")
            if start:
                if isinstance(k := self.n_components, (int, np.integer)) and k > X.shape[1]:
                    raise ValueError(f"n_components={k}: want at most n_features={X.shape[1]}")
                self._begin_learner()
                self._n, self._sum, self._energy = 0, np.zeros(X.shape[1]), 0.0
                self._axes, self._waiting = Axes(np.zeros((0, X.shape[1])), np.zeros(0)), np.zeros((0, X.shape[1]))
            rows, total = self._centred(X) if self.center else (X, self._sum)
            self._learn(rows)
            self._sum = total
            self._n += len(X)
            self._energy += float(np.vdot(rows, rows))
            if not np.isfinite(self._energy):
                raise ValueError("X: the squares of these rows overflow: scale the features")
            self.mean_ = self._sum / self._n if self.center else np.zeros(X.shape[1])
            self._turn(rows)
        return self

    def _turn(self, rows: Array) -> None:
        """Turn the axes by learned rows. Pending rows only contribute their sums of squares along the axes."""
        basis = self.learner_.backend.asnumpy(self.learner_.components_)
        rows = np.concatenate([self._waiting, rows])
        learned = len(rows) - self.learner_.pending
        self._axes, self._waiting = self._axes.turned(basis, rows[:learned]), rows[learned:]
        axes = self._axes.turned(self._axes.components, self._waiting) if len(self._waiting) else self._axes
        largest = np.take_along_axis(axes.components, abs(axes.components).argmax(axis=1)[:, None], axis=1)
        self.components_ = axes.components * np.copysign(1, largest)
        self.explained_variance_ = axes.squares / max(self._n - 1, 1)
        self.explained_variance_ratio_ = axes.squares / (self._energy or 1)
        self.singular_values_ = np.sqrt(axes.squares)

    def _centred(self, X: Array) -> tuple[Array, Array]:
        """Rows whose sum of squares is that about the mean, in calls of any size, and the sum of all rows (d,)."""
        sums = np.cumsum(np.vstack([self._sum, X]), axis=0)
        before = np.arange(self._n, self._n + len(X))[:, None]
        return np.sqrt(before / (before + 1)) * (X - sums[:-1] / np.maximum(before, 1)), sums[-1]

    def _scale(self) -> Array:
        """The divisors of the coordinates: their standard deviations with `whiten`."""
        self._check_switches()
        deviation = np.sqrt(self.explained_variance_)
        tiny = np.finfo(float).eps * deviation.max(initial=0.0)
        return np.where(deviation > tiny, deviation, 1.0) if self.whiten else np.ones(len(deviation))

    def transform(self, X: Array) -> Array:
        """The coordinates of rows along the components.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n, k)
            Coordinates; of unit variance with `whiten`.
        """
        self._check_is_fitted()
        X = validate_rows(self, X, reset=False, dtype=np.float64, order="C")
        return (X - self.mean_) @ self.components_.T / self._scale()

    def inverse_transform(self, X: Array) -> Array:
        """The rows with these coordinates.

        Parameters
        ----------
        X : array_like, shape (n, k)
            Coordinates.

        Returns
        -------
        ndarray, shape (n, d)
            Rows.

        Raises
        ------
        ValueError
            If X does not have k columns.
        """
        self._check_is_fitted()
        given, k = np.asarray(X), len(self.components_)
        if given.ndim != 2 or given.shape[1] != k:
            raise ValueError(f"X: got shape {given.shape}, want (n, {k}), a column for each row of components_")
        if given.dtype.kind not in "biuf":
            given = check_array(given, dtype="numeric", ensure_all_finite=False, input_name="X")
        return given.astype(float) * self._scale() @ self.components_ + self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

"""Predictions of a pipeline: those of its learner for the transformed rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import validation
from orfit_bench.learners.named_rows import read_features, unnamed_width
from orfit_bench.learners.pipelines import weight_history
from orfit_bench.learners.pipelines.attributes import Attributes
from orfit_bench.learners.pipelines.position import standardizer_of
from orfit_bench.learners.pipelines.single_rows import row_in
from orfit_bench.learners.pipelines.standardizer import Standardizer
from orfit_bench.learners.pipelines.transforms import Intercept
from orfit_bench.learners.plain_rows import plain_row
from orfit_bench.learners.readiness import begun
from orfit_bench.tables.integers import DOUBLE
from orfit_bench.tables.names import NamedValues
from orfit_bench.tables.single_rows import read_row

Array = np.ndarray[Any, Any]


class PipelinePredictions(Attributes):
    """A pipeline that predicts; none of these methods changes it."""

    def weights(self) -> Array:
        """Return the weights for rows before the transforms, of a learner that follows the moments of a standardizer.

        Returns
        -------
        ndarray, shape (d + 1, c)
            In host memory; the last row is the intercept.

        Raises
        ------
        TypeError
            If the learner has no weights, or does not follow the moments, so that no weights for rows before the
            transforms exist.
        ValueError
            Before the first row.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> p.partial_fit([[100.0], [200.0], [300.0]], [3.0, 5.0, 7.0]).weights().round(3)
        array([[0.02],
               [1.  ]])
        """
        if self.position is None:
            reason = self._refusal and f"the learner does not follow the moments of the standardizer ({self._refusal})"
            raise TypeError(f"weights: {reason or 'no step standardizes: use pipeline.learner.array'}")
        if self.learner.method.state.predict:
            raise TypeError(f"weights: {self.learner.method.name} has none: it does not predict by weights")
        if self.position.current is None:
            raise ValueError("weights: the pipeline has learned no row yet")
        return weight_history.as_they_come(self.learner, self.position.current)

    def predict(self, X: ArrayLike, **given: object) -> Any:
        """Predict targets or labels, as the learner does for the transformed rows; the pipeline is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows before the transforms.
        **given
            Further arguments of the learner's `predict`, such as `return_std`.

        Returns
        -------
        array of the backend, shape (n,) or (n, c)
            What the learner's `predict` returns.

        Raises
        ------
        TypeError, ValueError
            As in the learner's `predict`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> p.partial_fit([[100.0], [200.0], [300.0]], [3.0, 5.0, 7.0]).predict([[400.0], [500.0]]).round(3)
        array([ 9., 11.])
        """
        return self.learner.predict(self._transformed(X), **given)

    def predict_one(self, x: ArrayLike) -> Any:
        """Predict the target or label of one row, as `predict` does; the pipeline is unchanged.

        Parameters
        ----------
        x : array_like, mapping or Series, shape (d,)
            The row before the transforms.

        Returns
        -------
        number, label, or array of the backend, shape (c,)
            The prediction.

        Raises
        ------
        TypeError, ValueError
            As in the learner's `predict`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> p = p.partial_fit([[100.0], [200.0], [300.0]], [3.0, 5.0, 7.0])
        >>> round(float(p.predict_one([400.0])), 3)
        9.0
        """
        plain, position = self._plain_row(x), self.position
        row = row_in(position.current, plain) if plain is not None and position and position.current else None
        return self.learner.predict_one(self._transformed(self._one_row(x))[0] if row is None else row)

    def predict_proba(self, X: ArrayLike) -> Any:
        """Compute the probabilities of the classes; the pipeline is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows before the transforms.

        Returns
        -------
        ndarray, shape (n, classes)
            What the learner's `predict_proba` returns.

        Raises
        ------
        TypeError, ValueError
            As in the learner's `predict_proba`.
        AttributeError
            If the learner has no `predict_proba`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("class_rls", backend="numpy", ridge=1e-6))
        >>> p.partial_fit([[100.0], [300.0]], ["low", "high"]).predict_proba([[100.0], [200.0]]).round(3)
        array([[1. , 0. ],
               [0.5, 0.5]])
        """
        return self.learner.predict_proba(self._transformed(X))

    def decision_function(self, X: ArrayLike) -> Any:
        """Compute the scores of the classes; the pipeline is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows before the transforms.

        Returns
        -------
        array of the backend, shape (n, classes)
            Scores, with columns as in `classes_`.

        Raises
        ------
        ValueError
            As in the learner's `decision_function`.
        AttributeError
            If the learner has no `decision_function`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("class_rls", backend="numpy", ridge=1e-6))
        >>> p.partial_fit([[100.0], [300.0]], ["low", "high"]).decision_function([[300.0], [200.0]]).round(3) + 0.0
        array([[0. , 1. ],
               [0.5, 0.5]])
        """
        return self.learner.decision_function(self._transformed(X))

    def log_likelihood(self, X: ArrayLike, y: ArrayLike, **given: object) -> float:
        """Compute the logarithm of the density of y given X and the rows learned so far; the pipeline is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows before the transforms.
        y : array_like, shape (n,) or (n, c)
            Targets.
        **given
            Further arguments of the learner's `log_likelihood`, such as `noise_variance`.

        Returns
        -------
        float
            What the learner's `log_likelihood` returns for the transformed rows.

        Raises
        ------
        TypeError, ValueError, DivergedError
            As in the learner's `log_likelihood`, and before the first row if a step standardizes.
        AttributeError
            If the learner has no `log_likelihood`.
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
        >>> p = p.partial_fit([[100.0], [200.0], [300.0]], [3.0, 5.0, 7.0])
        >>> p.log_likelihood([[400.0]], [9.0]) > p.log_likelihood([[400.0]], [0.0])
        True
        """
        rows = self._transformed(X)
        if any(isinstance(step, Standardizer) and not step.count for step in self.transforms):
            raise ValueError(
                "log_likelihood: the pipeline has learned no row, so that it has no moments: learn some first"
            )
        return float(self.learner.log_likelihood(rows, y, **given))

    def transform(self, X: ArrayLike) -> Any:
        """Compute the coordinates of rows along the components of a subspace; the pipeline is unchanged.

        Parameters
        ----------
        X : array_like or table, shape (n, d)
            Rows before the transforms.

        Returns
        -------
        array of the backend, shape (n, k)
            What the learner's `transform` returns for the transformed rows.

        Raises
        ------
        ValueError
            As in the learner's `transform`.
        AttributeError
            If the learner has no `transform`.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> p = ob.pipeline(ob.Standardizer(scale=False), ob.create("incremental_pca", backend="numpy", n_components=1))
        >>> p = p.partial_fit([[11.0, 5.0], [9.0, 5.0], [13.0, 5.0]])
        >>> abs(p.transform([[15.0, 5.0]])).round(3)
        array([[3.]])
        """
        return self.learner.transform(self._transformed(X))

    def _transformed(self, X: Any) -> Array:
        begun(self.n_features, "the pipeline")
        rows, _ = self._rows(X)
        if self.position is not None:
            return Intercept().transform(self.position.rows(rows, standardizer_of(self.transforms)))
        for step in self.transforms:
            rows = step.transform(rows)
        return rows

    def _rows(self, X: Any) -> tuple[Array, tuple[str, ...]]:
        """Finite rows (n, d) in host memory, and the names of their columns."""
        values, names = read_features(self, X, "X", self._dtype_of_rows)
        double = np.dtype(complex if self.learner.dtype.kind == "c" else float)
        rows = validation.matrix(values, "X", double, self.n_features, names=names)
        return rows, names

    @property
    def _dtype_of_rows(self) -> np.dtype[Any]:
        """The dtype that must hold the integers of rows: the learner's dtype if columns are not scaled, else double."""
        is_scaled = any(isinstance(step, Standardizer) for step in self.transforms)
        return DOUBLE if is_scaled else self.learner.dtype

    def _plain_row(self, x: Any) -> Array | None:
        """x (d,) as float64; None if a row needs another path, or no coordinates are known."""
        if self.position is None or self.position.current is None or self.learner.dtype.kind != "f":
            return None
        needs_names = bool(self.feature_names) and not self.has_warned_of_names
        plain = plain_row(x, self.feature_names, needs_names, DOUBLE)
        return plain if plain is not None and plain.shape == (self.n_features,) else None

    def _one_row(self, x: Any) -> NamedValues:
        """One row x (d,), which may be a mapping, as rows (1, d)."""
        values, names = read_row(x, self.feature_names, unnamed_width(self), dtype=self._dtype_of_rows)
        return NamedValues(validation.one_row(values, np), names)

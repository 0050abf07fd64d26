"""What a pipeline answers: its learner is asked about the transformed rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import validation
from orfit_bench.learners.pipelines import weight_history
from orfit_bench.learners.pipelines.attributes import Attributes
from orfit_bench.learners.pipelines.position import standardizer_of
from orfit_bench.learners.pipelines.transforms import Intercept
from orfit_bench.tables.columns import read_columns, read_row
from orfit_bench.tables.names import NamedValues

Array = np.ndarray[Any, Any]


class Answers(Attributes):
    """A pipeline that predicts; no call of this class changes it."""

    def weights(self) -> Array:
        """The weights (d + 1, c) for rows as they come, in host memory; the last row is the intercept.

        Raises
        ------
        TypeError
            If the learner does not follow the moments, whose weights belong to no rows as they come.
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
            raise TypeError(f"weights: {self._refusal or 'no step standardizes: use pipeline.learner.array'}")
        if self.position.current is None:
            raise ValueError("weights: the pipeline has learned no row yet")
        return weight_history.as_they_come(self.learner, self.position.current)

    def predict(self, X: ArrayLike, **given: object) -> Any:
        """What the learner predicts for the rows; arguments and errors as those of its `predict`."""
        return self.learner.predict(self._transformed(X), **given)

    def predict_one(self, x: ArrayLike) -> Any:
        """What the learner predicts for one row x (d,)."""
        return self.learner.predict_one(self._transformed(self._one_row(x))[0])

    def predict_proba(self, X: ArrayLike) -> Any:
        """The probabilities of the classes of rows."""
        return self.learner.predict_proba(self._transformed(X))

    def decision_function(self, X: ArrayLike) -> Any:
        """The scores of the classes of rows."""
        return self.learner.decision_function(self._transformed(X))

    def log_likelihood(self, X: ArrayLike, y: ArrayLike, **given: object) -> float:
        """The logarithm of the density of y, as the learner's `log_likelihood`, given the rows learned so far."""
        return float(self.learner.log_likelihood(self._transformed(X), y, **given))

    def transform(self, X: ArrayLike) -> Any:
        """The coordinates of rows along the components of a subspace."""
        return self.learner.transform(self._transformed(X))

    def _transformed(self, X: Any) -> Array:
        if self.n_features is None:
            raise ValueError(
                "the pipeline has seen no chunk yet: call partial_fit first "
                "(a chunk without rows, X of shape (0, d), is enough)"
            )
        rows, _ = self._rows(X)
        if self.position is not None:
            return Intercept().transform(self.position.rows(rows, standardizer_of(self.transforms)))
        for step in self.transforms:
            rows = step.transform(rows)
        return rows

    def _rows(self, X: Any) -> tuple[Array, tuple[str, ...]]:
        """Finite rows (n, d) in host memory, and the names of their columns."""
        known, width = self.feature_names, self.n_features
        values, names = X if isinstance(X, NamedValues) else read_columns(X, "X", known, width=width)
        names = self.feature_names or (tuple(names) if self.n_features is None else ())
        double = np.dtype(complex if self.learner.dtype.kind == "c" else float)
        rows = validation.matrix(values, "X", double, self.n_features, names=names)
        return rows, names

    def _one_row(self, x: Any) -> NamedValues:
        """One row x (d,), which may be a mapping, as rows (1, d)."""
        values, names = read_row(x, self.feature_names, self.n_features)
        return NamedValues(validation.one_row(values, np), names)

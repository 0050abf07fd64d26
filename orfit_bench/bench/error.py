"""The error of a learner on rows, and its name, by kind of method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec.stream import Data, Rows
from orfit_bench.tables.row_labels import check_rows_agree

ROWS = 10_000
"""Rows of a file that are predicted at once."""
Array = NDArray[Any]


def squared_error(learner: Any, prediction: Any, y: Any) -> Array:
    """(n,) |y - f(x)|^2 for predictions f(x)."""
    error = np.asarray(y, float) - np.asarray(learner.backend.asnumpy(prediction), float)
    with np.errstate(over="ignore"):  # an overflow gives an infinite error
        return np.asarray((error**2).sum(axis=tuple(range(1, error.ndim))))  # (0, c) too


def prediction_error(learner: Any, X: Array, y: Any) -> Array:
    """(n,) |y - f(x)|^2."""
    return squared_error(learner, learner.predict(X), y)


def label_error(learner: Any, X: Array, y: Any) -> Array:
    """(n,) 1 for a wrong label, 0 for a correct one."""
    return np.asarray(learner.predict(X) != np.asarray(y), float)


def compression_loss(learner: Any, X: Array, y: Any) -> Array:
    """(n,) |x - C C'x|^2 for orthonormal C."""
    return squared_error(learner, learner.inverse_transform(learner.transform(X)), X)


def observed(y: Any) -> Any:
    """Return an index of the rows whose y is not NaN (missing)."""
    targets = np.asarray(y)
    missing = np.isnan(targets) if targets.dtype.kind == "f" else np.zeros(0, bool)
    return ~missing.reshape(len(missing), -1).any(axis=1) if missing.any() else slice(None)


def check_targets(X: Any, y: Any, name: str, first: int = 0) -> None:
    """ValueError where targets to compare with are infinite, or have the labels of the rows in another order."""
    check_rows_agree(X, y, name)
    targets = np.asarray(y)
    if targets.dtype.kind == "f" and (wrong := np.argwhere(np.isinf(targets))).size:
        place = tuple(wrong[0].tolist())
        text = ", ".join(map(str, (first + place[0], *place[1:])))
        raise ValueError(f"{name}[{text}] is {targets[place]}: want finite numbers, or NaN where nothing was observed")


@dataclass(frozen=True, slots=True)
class ErrorMeasure:
    """The error measure of a kind of methods."""

    rows: Callable[[Any, Array, Any], Array]
    """Returns the error of each row."""
    name: str
    """The name of the mean error on a test set, or of its root."""
    root: bool = False
    prequential: bool = False
    """Whether a prequential prediction can be compared with y."""

    def mean(self, learner: Any, rows: Rows, name: str = "y") -> float:
        """Return the mean over the rows with observed y, which errors call `name`; NaN if there are none."""
        if not isinstance(rows[0], np.ndarray):
            return self._mean_in_chunks(learner, rows, name)
        check_targets(*rows, name)
        errors = self.rows(learner, *rows)[observed(rows[1])]
        return float(errors.mean()) if len(errors) else float("nan")

    def _mean_in_chunks(self, learner: Any, rows: Rows, name: str) -> float:
        """Return the mean over rows that are read from a file."""
        total, n = 0.0, 0
        for i, (X, y) in enumerate(Data(*rows).chunks(ROWS)):
            check_targets(X, y, name, i * ROWS)
            errors = self.rows(learner, X, y)[observed(y)]
            total, n = total + float(errors.sum()), n + len(errors)
        return total / n if n else float("nan")

    def summary(self, learner: Any, rows: Rows, name: str = "y") -> float:
        """Return the mean, or its root if `root` is set."""
        mean = self.mean(learner, rows, name)
        return float(np.sqrt(mean)) if self.root else mean


NUMBERS = ErrorMeasure(prediction_error, "root mean squared error", root=True, prequential=True)
ERRORS = {
    "regression": NUMBERS,
    "filter": NUMBERS,
    "classification": ErrorMeasure(label_error, "share of wrong labels"),
    "subspace": ErrorMeasure(compression_loss, "mean compression loss"),
}
"""The error measure by kind of method."""

"""The error of a learner on rows and its name, for each kind of method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec.data import Data, RowsAndTargets
from orfit_bench.tables.row_labels import check_rows_agree

ROWS = 10_000
"""Number of rows of a file that are predicted at the same time."""
Array = NDArray[Any]


def squared_error(learner: Any, prediction: Any, y: Any) -> Array:
    """|y - f(x)|^2 of each row (n,), for predictions f(x)."""
    error = np.asarray(y, float) - np.asarray(learner.backend.asnumpy(prediction), float)
    with np.errstate(over="ignore"):  # an overflow gives an infinite error
        return np.asarray((error**2).sum(axis=tuple(range(1, error.ndim))))  # (0, c) too


def prediction_error(learner: Any, X: Array, y: Any) -> Array:
    """|y - f(x)|^2 of each row (n,)."""
    return squared_error(learner, learner.predict(X), y)


def label_error(learner: Any, X: Array, y: Any) -> Array:
    """1 for each row with a wrong label, 0 for the others (n,)."""
    return np.asarray(learner.predict(X) != np.asarray(y), float)


def compression_loss(learner: Any, X: Array, y: Any) -> Array:
    """|x - C C'x|^2 of each row (n,), for orthonormal C."""
    return squared_error(learner, learner.inverse_transform(learner.transform(X)), X)


def observed(y: Any) -> Any:
    """Return an index of the rows whose y is not NaN (missing)."""
    targets = np.asarray(y)
    missing = np.isnan(targets) if targets.dtype.kind == "f" else np.zeros(0, bool)
    return ~missing.reshape(len(missing), -1).any(axis=1) if missing.any() else slice(None)


def check_targets(learner: Any, X: Any, y: Any, name: str, first: int = 0) -> None:
    """Raise ValueError if targets are infinite or ordered differently from the rows, TypeError for another type."""
    check_rows_agree(X, y, name)
    targets = np.asarray(y)
    _check_type(learner, targets, name)
    if targets.dtype.kind == "f" and (wrong := np.argwhere(np.isinf(targets))).size:
        place = tuple(wrong[0].tolist())
        text = ", ".join(map(str, (first + place[0], *place[1:])))
        raise ValueError(f"{name}[{text}] is {targets[place]}: want finite numbers, or NaN where nothing was observed")


def _check_type(learner: Any, targets: NDArray[Any], name: str) -> None:
    """Raise TypeError unless targets are comparable with predictions: a string is not a number, 1.0 not the label 1."""
    given = _types(targets)
    if learner.rule.method.traits.labels:
        known = _types(learner.classes_)
        if given == {"float"} and known == {"int"} and np.isnan(targets).any() and not (targets % 1 > 0).any():
            return  # integers, some of which are missing
        if not given <= known:
            names, wanted = (", ".join(sorted(types)) for types in (given, known))
            raise TypeError(f"{name}: got labels of type {names}, want {wanted} as in the rows that were learned")
    elif given & {"str", "complex"} or targets.dtype.kind not in "biufO":
        raise TypeError(f"{name}: got targets of dtype {targets.dtype}, want real numbers")


def _types(values: NDArray[Any]) -> set[str]:
    """The names of the Python types of all values."""
    if values.dtype.kind != "O":
        return {type(value).__name__ for value in values.ravel()[:1].tolist()}
    return {type(v.item() if isinstance(v, np.generic) else v).__name__ for v in values.ravel()}


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
    has_targets: bool = True
    """Whether only rows with observed y count; otherwise all rows count."""

    def mean(self, learner: Any, rows: RowsAndTargets, name: str = "y") -> float:
        """Return the mean over the rows with observed y, which errors call `name`; NaN if there are none."""
        if not self.has_targets:
            rows = (rows[0], None)
        if not isinstance(rows[0], np.ndarray):
            return self._mean_in_chunks(learner, rows, name)
        if self.has_targets:
            check_targets(learner, *rows, name)
        errors = self._of_rows(learner, *rows, name)[observed(rows[1])]
        return float(errors.mean()) if len(errors) else float("nan")

    def _mean_in_chunks(self, learner: Any, rows: RowsAndTargets, name: str) -> float:
        """Return the mean over rows read from a file."""
        total, n = 0.0, 0
        for i, (X, y) in enumerate(Data(*rows).chunks(ROWS)):
            if self.has_targets:
                check_targets(learner, X, y, name, i * ROWS)
            errors = self._of_rows(learner, X, y, name, i * ROWS)[observed(y)]
            total, n = total + float(errors.sum()), n + len(errors)
        return total / n if n else float("nan")

    def _of_rows(self, learner: Any, X: Array, y: Any, name: str, first: int = 0) -> Array:
        """The error of each row; exceptions call X as they call y, such as "test X", and name the first row."""
        try:
            return self.rows(learner, X, y)
        except (TypeError, ValueError) as error:
            if name == "y" or not str(error).startswith("X"):
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
            counted = f" (rows are counted from row {first})" if first else ""
            raise kind(f"{name.removesuffix('y')}{error}{counted}") from error

    def summary(self, learner: Any, rows: RowsAndTargets, name: str = "y") -> float:
        """Return the mean, or its root if `root` is set."""
        mean = self.mean(learner, rows, name)
        return float(np.sqrt(mean)) if self.root else mean


NUMBERS = ErrorMeasure(prediction_error, "root mean squared error", root=True, prequential=True)
ERRORS = {
    "regression": NUMBERS,
    "filter": NUMBERS,
    "classification": ErrorMeasure(label_error, "share of wrong labels"),
    "subspace": ErrorMeasure(compression_loss, "mean compression loss", has_targets=False),
}
"""The error measure by kind of method."""

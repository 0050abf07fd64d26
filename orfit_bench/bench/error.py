"""How wrong a learner is on rows, and what that is called: numbers, labels and subspaces are asked different things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec.stream import Rows

Array = NDArray[Any]


def squared(learner: Any, answer: Any, y: Any) -> Array:
    """(n,) of each row |y - f(x)|^2, f(x) being the learner's answer."""
    error = np.asarray(y, float) - np.asarray(learner.backend.asnumpy(answer), float)
    with np.errstate(over="ignore"):  # an error too large for a number is infinite, and says so
        return np.asarray((error**2).sum(axis=tuple(range(1, error.ndim))))  # (0, c) too


def of_numbers(learner: Any, X: Array, y: Any) -> Array:
    """(n,) |y - f(x)|^2."""
    return squared(learner, learner.predict(X), y)


def of_labels(learner: Any, X: Array, y: Any) -> Array:
    """(n,) 1 where the label is wrong."""
    return np.asarray(learner.predict(X) != np.asarray(y), float)


def of_subspaces(learner: Any, X: Array, y: Any) -> Array:
    """(n,) |x - C C'x|^2, C orthonormal."""
    return squared(learner, learner.inverse_transform(learner.transform(X)), X)


def known(y: Any) -> Any:
    """An index of the rows whose y is known: NaN stands for a y that a filter did not see."""
    missing = np.isnan(y) if np.asarray(y).dtype.kind == "f" else np.zeros(0, bool)
    return ~missing.reshape(len(missing), -1).any(axis=1) if missing.any() else slice(None)


@dataclass(frozen=True, slots=True)
class Error:
    """The error of one kind of learners."""

    rows: Callable[[Any, Array, Any], Array]
    """Of each row."""
    name: str
    """Of their mean, or its root, on a test set."""
    root: bool = False
    prequential: bool = False
    """Whether a row's a-priori answer can be compared with its y."""

    def mean(self, learner: Any, rows: Rows) -> float:
        """Mean over the rows, of a filter over those whose y is known."""
        return float(self.rows(learner, *rows)[known(rows[1])].mean())

    def shown(self, learner: Any, rows: Rows) -> float:
        """The same, or of numbers its root, in the unit of y."""
        mean = self.mean(learner, rows)
        return float(np.sqrt(mean)) if self.root else mean


NUMBERS = Error(of_numbers, "root mean squared error", root=True, prequential=True)
ERRORS = {
    "regression": NUMBERS,
    "filter": NUMBERS,
    "classification": Error(of_labels, "share of wrong labels"),
    "subspace": Error(of_subspaces, "mean compression loss"),
}
"""By the kind of the method."""

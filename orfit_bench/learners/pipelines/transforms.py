"""Transforms of rows, as immutable values: learning rows gives a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from orfit_bench.learners.pipelines.saved_values import check_keys
from orfit_bench.learners.pipelines.standardizer import Standardizer

Array = np.ndarray[Any, Any]


class Transform(Protocol):
    """A step of a pipeline before its learner."""

    def learn(self, X: Array) -> tuple[Self, Array]:
        """The transform after the rows X (n, d), and the rows as the next step gets them."""

    def transform(self, X: Array) -> Array:
        """Each row of X as the next step would get it, if it were the next row."""

    def merge(self, other: Self) -> Self:
        """The transform after the rows of both; ValueError if they do not fit."""

    def to_dict(self) -> dict[str, Any]:
        """The transform as JSON values, which `from_dict` of its class reads."""


@dataclass(frozen=True)
class Intercept:
    """Appends a column of ones, whose weight is learned like all others."""

    def learn(self, X: Array) -> tuple[Intercept, Array]:
        """The transform itself, and the rows with the column."""
        return self, self.transform(X)

    def transform(self, X: Array) -> Array:
        """The rows with the column."""
        return np.hstack([X, np.ones((len(X), 1))])

    def merge(self, other: Intercept) -> Intercept:
        """The transform itself."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """The name of the transform."""
        return {"name": "intercept"}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Intercept:
        """The transform."""
        check_keys(saved, {"name"})
        return cls()


TRANSFORMS: dict[str, Any] = {"standardize": Standardizer, "standardise": Standardizer, "intercept": Intercept}
"""The transforms, by the names that `pipeline` accepts."""

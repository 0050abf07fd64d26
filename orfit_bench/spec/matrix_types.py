"""The types of settings that are matrices: noises, means and transitions of a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.model import Transition, as_transition
from orfit_bench.spec.types import SettingType
from orfit_bench.tables.names import labels_of, quoted
from orfit_bench.tables.plain_values import masked_defect

Matrices = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Matrix(SettingType):
    """A number, a vector or a matrix of finite numbers; with `covariance`, symmetric and positive semidefinite."""

    kind: ClassVar[str] = "matrix"
    covariance: bool = False

    @property
    def range(self) -> str:
        """Any, or covariances."""
        return "covariance" if self.covariance else "any"

    def __str__(self) -> str:
        return "a number, a vector or a matrix of real numbers"

    def check(self, value: object) -> Any:
        """The value as a read-only array of doubles."""
        if names := labels_of(value):
            raise ValueError(
                f"has the names {quoted(names)}, but the columns of the rows, whose order they would have to have, are "
                f"not known yet: want its to_numpy(), in the order of the columns"
            )
        if defect := masked_defect(value):
            raise TypeError(f"{defect}; want {self}")
        try:
            given = to_host(value)
            array = np.array(given, float) if given.dtype.kind in "iuf" else None
        except ValueError:  # rows of unequal length
            array = None
        if array is None:
            raise TypeError(f"want {self}")
        if array.ndim > 2 or not np.isfinite(array).all():
            raise ValueError("want a number, a vector or a matrix, all finite")
        if self.covariance and (defect := covariance_defect(array)):
            raise ValueError(f"want a covariance, but it is {defect}")
        array.flags.writeable = False
        return array


@dataclass(frozen=True, slots=True)
class MatrixOrTransition(Matrix):
    """A number, a vector or a matrix, or a nonlinear transition: a Transition or a pair (function, jacobian)."""

    kind: ClassVar[str] = "transition"

    def __str__(self) -> str:
        return f"{Matrix.__str__(self)}, an orfit_bench.Transition or a pair (function, jacobian)"

    def check(self, value: object) -> Any:
        """The value as a Transition or a read-only array of doubles."""
        found = as_transition(value)
        return found if isinstance(found, Transition) else Matrix.check(self, value)


def covariance_defect(value: Matrices) -> str:
    """Why numbers (...), or matrices (..., q, q) if ndim is at least 2, are not covariances; empty if they are."""
    if value.ndim < 2:
        return "negative" if (value < 0).any() else ""
    if value.shape[-1] != value.shape[-2]:
        return f"not square, of shape {value.shape}"
    allowed = 1e-6 * abs(value).max(axis=(-2, -1), keepdims=True, initial=0.0)
    if (abs(value - np.swapaxes(value, -1, -2)) > allowed).any():
        return "not symmetric"
    return "not positive semidefinite" if (np.linalg.eigvalsh(value) < -allowed[..., 0]).any() else ""


def as_matrix(value: Any, size: int) -> Any:
    """A number, a diagonal (size,) or a matrix (size, size), an array of any library, as a matrix."""
    return value if value.ndim == 2 else value * value.__array_namespace__().eye(size, dtype=value.dtype)

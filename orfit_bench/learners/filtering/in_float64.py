"""What a smoother and a likelihood compute with, in float64: for them float32 leaves too few digits.

A smoother divides by covariances that it computes as differences, and a log density multiplies errors of a variance by
squared errors of forecasts. The learner's own state and what it returns keep their dtype.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.learners.filtering.extended import Moments
from orfit_bench.spec.arrays import cast
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel import State

FLOAT64 = np.dtype(np.float64)


class Rows(NamedTuple):
    """Rows X (n, d), targets Y (n, r), a state and the parameters of its filter."""

    s: State
    X: Array
    Y: Array
    p: FilterParameters


def in_float64(rows: Rows) -> Rows:
    """Copies in float64, of a filter whose steps call no function of the user."""
    s, X, Y, p = rows
    names = "transition", "process_noise", "observation_noise", "control"
    given = {name: a for name in names if (a := getattr(p, name)) is not None}
    wide = p._replace(**{name: cast(a, FLOAT64) for name, a in given.items()})
    fields: Any = s
    return Rows(type(fields)(*(cast(a, FLOAT64) for a in fields)), cast(X, FLOAT64), cast(Y, FLOAT64), wide)


def finite_in(dtype: np.dtype[Any], found: Moments) -> tuple[Moments, int]:
    """The moments of n steps in a dtype, and how many of the first of them are finite in it."""
    xp, n = found.mean.__array_namespace__(), len(found.mean)
    if found.mean.dtype == dtype:
        return found, n
    narrow = Moments(*(cast(a, dtype) for a in found))
    finite = xp.isfinite(narrow.mean).all(axis=(1, 2)) & xp.isfinite(narrow.covariance).all(axis=(1, 2))
    return narrow, n if bool(finite.all()) else int(xp.argmin(finite))

"""What a smoother and a likelihood compute with, in float64: for them float32 leaves too few digits.

A smoother divides by covariances that it computes as differences, and a log density multiplies errors of a variance by
squared errors of forecasts. The learner's own state and what it returns keep their dtype.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.filtering.dynamics import ARRAYS, FilterParameters
from orfit_bench.learners.filtering.extended import Moments
from orfit_bench.spec.arrays import cast
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel import State

FLOAT64 = np.dtype(np.float64)


class Pass(NamedTuple):
    """What a pass of the filter over rows X (n, d) with targets Y (n, r) gets: a state, and its parameters."""

    s: State
    X: Array
    Y: Array
    p: FilterParameters


def can_compute_in_float64(given: Pass) -> bool:
    """Whether all rows have noise: without it, float64 would take the rounding errors of float32 rows for data."""
    return bool((given.p.observation_noise > 0).all())


def in_float64(given: Pass) -> Pass:
    """Copies in float64, of a filter whose steps call no function of the user.

    In covariances, what is rounding in float32 becomes zero, since it would be a variance in float64.
    """
    s, X, Y, p = given
    arrays: Any = {name: cast(a, FLOAT64) for name, a in p._asdict().items() if name in ARRAYS and a is not None}
    state: Any = s
    fields = {name: cast(a, FLOAT64) for name, a in state._asdict().items()}
    bound = 10 * len(s.mean) * float(np.finfo(X.dtype).eps)  # as kernels take it
    if "process_noise" in arrays:
        arrays["process_noise"] = without_rounding(arrays["process_noise"], bound)
    root = fields.get("root")
    fields["covariance"] = without_rounding(fields["covariance"], bound) if root is None else root @ root.T
    return Pass(type(state)(**fields), cast(X, FLOAT64), cast(Y, FLOAT64), p._replace(**arrays))


def without_rounding(P: Array, bound: float) -> Array:
    """Covariances (..., d, d) without eigenvalues up to this bound, for variances of 1; others have no rounding."""
    if P.ndim < 2 or (d := P.shape[-1]) == 1 or P.shape[-2] != d:
        return P
    xp = P.__array_namespace__()
    size = xp.sqrt(xp.abs(xp.diagonal(P, axis1=-2, axis2=-1)))
    scale = size[..., :, None] * size[..., None, :]
    values, U = xp.linalg.eigh(xp.where(scale > 0, P, 0) / xp.where(scale > 0, scale, 1))
    roots = U * xp.sqrt(xp.where(values > bound, values, 0))[..., None, :]
    cleaned = scale * (roots @ xp.swapaxes(roots, -1, -2)) / 2
    return xp.where((values >= bound).all(axis=-1)[..., None, None], P, cleaned + xp.swapaxes(cleaned, -1, -2))


def finite_in(dtype: np.dtype[Any], found: Moments) -> tuple[Moments, int]:
    """The moments of n steps in a dtype, and how many of the first of them are finite in it."""
    xp, n = found.mean.__array_namespace__(), len(found.mean)
    if found.mean.dtype == dtype:
        return found, n
    narrow = Moments(*(cast(a, dtype) for a in found))
    finite = xp.isfinite(narrow.mean).all(axis=(1, 2)) & xp.isfinite(narrow.covariance).all(axis=(1, 2))
    return narrow, n if bool(finite.all()) else int(xp.argmin(finite))

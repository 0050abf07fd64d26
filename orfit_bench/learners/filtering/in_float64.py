"""The inputs of smoothers and likelihoods in float64: float32 leaves them too few digits.

A smoother divides by covariances that it computes as differences, and a log density multiplies errors of a variance by
squared errors of forecasts. The learner's own state and what it returns keep their dtype.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.filtering.dynamics import ARRAYS, FilterParameters
from orfit_bench.learners.filtering.extended import Moments
from orfit_bench.spec.arrays import cast, diagonal, host_dtype, to_host, transposed
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel_arguments import State

FLOAT64 = np.dtype(np.float64)


class Pass(NamedTuple):
    """The inputs of a pass of the filter: a state, rows X (n, d) with targets Y (n, r), and parameters."""

    s: State
    X: Array
    Y: Array
    p: FilterParameters


def can_compute_in_float64(given: Pass) -> bool:
    """Whether all rows have noise: without it, float64 would treat the rounding errors of float32 rows as data."""
    return bool((to_host(given.p.observation_noise) > 0).all())


def in_float64(given: Pass) -> Pass:
    """Copies of the inputs in float64, for a filter whose steps call no function of the user.

    Rounding errors of float32 in covariances become zero, since they would count as variances in float64.
    """
    s, X, Y, p = given
    arrays: Any = {name: cast(a, FLOAT64) for name, a in p._asdict().items() if name in ARRAYS and a is not None}
    state: Any = s
    fields = {name: cast(a, FLOAT64) for name, a in state._asdict().items()}
    bound = 10 * s.mean.shape[0] * float(np.finfo(host_dtype(X)).eps)  # as in kernels
    if "process_noise" in arrays:
        arrays["process_noise"] = remove_small_eigenvalues(arrays["process_noise"], bound)
    root = fields.get("root")
    fields["covariance"] = remove_small_eigenvalues(fields["covariance"], bound) if root is None else root @ root.T
    return Pass(type(state)(**fields), cast(X, FLOAT64), cast(Y, FLOAT64), p._replace(**arrays))


def remove_small_eigenvalues(P: Array, bound: float) -> Array:
    """Covariances (..., d, d) without eigenvalues up to this bound, at unit variances; diagonals are unchanged."""
    if P.ndim < 2 or (d := P.shape[-1]) == 1 or P.shape[-2] != d:
        return P
    xp = P.__array_namespace__()
    size = xp.sqrt(xp.abs(diagonal(P, xp)))
    scale = size[..., :, None] * size[..., None, :]
    values, U = xp.linalg.eigh(xp.where(scale > 0, P, 0.0) / xp.where(scale > 0, scale, 1.0))
    roots = U * xp.sqrt(xp.where(values > bound, values, 0.0))[..., None, :]
    cleaned = scale * (roots @ transposed(roots, xp)) / 2
    return xp.where(xp.all(values >= bound, axis=-1)[..., None, None], P, cleaned + transposed(cleaned, xp))


def finite_in(dtype: np.dtype[Any], found: Moments) -> tuple[Moments, int]:
    """The moments of n steps in a dtype, and the number of steps before the first that is not finite in it."""
    xp, n = found.mean.__array_namespace__(), found.mean.shape[0]
    if host_dtype(found.mean) == dtype:
        return found, n
    narrow = Moments(*(cast(a, dtype) for a in found))
    finite = to_host(
        xp.all(xp.isfinite(narrow.mean), axis=(1, 2)) & xp.all(xp.isfinite(narrow.covariance), axis=(1, 2))
    )
    return narrow, n if finite.all() else int(finite.argmin())

"""The log density of observations by a Kalman filter: the sum over the innovations, which are independent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.learners.filtering.dynamics import StepModel
from orfit_bench.learners.filtering.extended import ExtendedFilter, Innovation, covariance_along
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel import State


def log_likelihood(extended: ExtendedFilter, s: State, X: Array, Y: Array, p: StepModel) -> tuple[float, int]:
    """The sum of the log densities of the rows of X, and how many were learned: the next step was refused."""
    total = 0.0
    for i in range(len(X)):
        here, row = p.at(i), slice(i, i + 1)
        if not extended.predict_step(s, here)[0]:
            return total, i
        seen = extended.innovation(s, X[row], Y[row], here, None)
        if seen is None:
            continue
        density = log_density(seen, s)
        if not extended.apply(s, seen, here):
            return total, i
        if math.isinf(density):
            raise ValueError(
                f"row {i}: the covariance of the observation is singular, so that it has no density: "
                f"set observation_noise > 0, or give y as NaN where the state is known exactly"
            )
        total += density
    return total, len(X)


def log_density(seen: Innovation, s: State) -> float:
    """The log density of the errors E (q, r), whose columns are N(0, S) with S = J P J' + R; inf if S is singular."""
    S = to_host(covariance_along(s, seen.J) + seen.R).astype(float)
    E = to_host(seen.E).astype(float)
    rounding = seen.J.shape[1] * float(np.finfo(seen.J.dtype).eps)
    size = np.sqrt(np.diagonal(S))
    if not (size > 0).all() or _is_known(s, seen, size, rounding):
        return math.inf
    values, W = np.linalg.eigh((S + S.T) / 2 / size[:, None] / size)
    if values[0] <= rounding:
        return math.inf
    Z = W.T @ (E / size[:, None])
    log_determinant = np.log(values).sum() + 2 * np.log(size).sum()
    each = len(S) * math.log(2 * math.pi) + log_determinant
    return float(-(E.shape[1] * each + (Z * Z / values[:, None]).sum()) / 2)


def _is_known(s: Any, seen: Innovation, size: np.ndarray[Any, Any], rounding: float) -> bool:
    """Whether a row without noise has a deviation that a root of the covariance has only by rounding."""
    exact = to_host(seen.R).diagonal() == 0
    if not (hasattr(s, "root") and exact.any()):
        return False
    J = to_host(seen.J)[exact]
    return bool((size[exact] <= 10 * rounding * np.sqrt((J * J) @ to_host(s.scale))).any())

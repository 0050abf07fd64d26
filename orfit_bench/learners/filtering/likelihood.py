"""The log density of observations by a Kalman filter: the sum over the innovations, which are independent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.learners.filtering.extended import ExtendedFilter, Innovation, Moments, covariance_along, moments
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel import State

RECORDED_NUMBERS = 100_000
"""Numbers of the covariances before the rows that are filtered at once."""


def log_likelihood(
    extended: ExtendedFilter, s: State, X: Array, Y: Array, p: FilterParameters, record: Callable[..., int] | None
) -> tuple[float, int]:
    """The sum of the log densities of the rows of X, and how many were learned: the next step was refused.

    record(s, X, Y, p, records), if there is one, filters the first rows at once, as for the smoother.
    """
    total, done = recorded_log_likelihood(s, X, Y, p, record) if record else (0.0, 0)
    for i in range(done, len(X)):
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


def recorded_log_likelihood(
    s: Any, X: Array, Y: Array, p: FilterParameters, record: Callable[..., int]
) -> tuple[float, int]:
    """The log density of the first rows, by the moments before each of them, and how many rows these are."""
    total, done, size = 0.0, 0, max(1, RECORDED_NUMBERS // s.covariance.size)
    while done < len(X):
        part = slice(done, done + size)
        x, y, here = X[part], Y[part], p.rows(part)
        before, after = (Moments(*(np.empty((len(x), *a.shape), a.dtype) for a in moments(s))) for _ in range(2))
        learned = record(s, x, y, here, (*before, *after))
        x, y = x[:learned], y[:learned]
        errors = y - (x[:, None] @ before.mean[:learned])[:, 0]
        variances = np.vecdot((x[:, None] @ before.covariance[:learned])[:, 0], x)
        variances = variances + np.broadcast_to(here.observation_noise.reshape(-1), len(before.mean))[:learned]
        seen = ~np.isnan(y).any(axis=1)
        total += normal_log_density(errors[seen].astype(float), variances[seen].astype(float))
        done += learned
        if learned < len(before.mean):
            break
    return total, done


def normal_log_density(E: np.ndarray[Any, Any], variances: np.ndarray[Any, Any]) -> float:
    """The sum of the log densities of errors E (n, c), whose rows have these variances (n,)."""
    squares = (E * E).sum(axis=1) / variances
    return float(-(E.shape[1] * np.log(2 * np.pi * variances) + squares).sum() / 2)


def log_density(seen: Innovation, s: State) -> float:
    """The log density of the errors E (q, r), whose columns are N(0, S) with S = J P J' + R; inf if S is singular."""
    S = to_host(covariance_along(s, seen.J) + seen.R).astype(float)
    E = to_host(seen.E).astype(float)
    rounding = seen.J.shape[1] * float(np.finfo(seen.J.dtype).eps)
    size = np.sqrt(np.diagonal(S))
    if not (size > 0).all() or _is_known(s, seen, size, rounding):
        return math.inf
    if len(S) == 1:
        return normal_log_density(E, S[0])
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

"""The log density of observations by a Kalman filter: the sum over the innovations, which are independent."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.learners.filtering.extended import (
    ExtendedFilter,
    Innovation,
    Moments,
    covariance_along,
    filtered_rows,
    moments,
)
from orfit_bench.learners.filtering.rounding import (
    MARGIN,
    CloseEstimate,
    QuickEstimate,
    error_of_density,
)
from orfit_bench.spec.arrays import copy_of, diagonal, host_dtype, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel_arguments import State

RECORDED_NUMBERS = 100_000
"""Most numbers in the recorded covariances of rows that are filtered together."""


class LogLikelihood(NamedTuple):
    """The log density of the rows learned, up to a step that was refused, its estimated error, and their number."""

    total: float = 0.0
    error: float = 0.0
    learned: int = 0

    def is_within(self, most: float) -> bool:
        """Whether the error is at most `most` times the number of rows, or times sqrt(|total|) if that is larger."""
        return bool(self.error <= most * max(self.learned, abs(self.total) ** 0.5))


def log_likelihood(
    extended: ExtendedFilter,
    s: Any,
    X: Array,
    Y: Array,
    p: FilterParameters,
    record: Callable[..., int] | None,
    most: float,
) -> LogLikelihood:
    """The sum of the log densities of the rows of X. Its error is estimated closely if it may exceed `most`.

    record(s, X, Y, p, records), if given, filters the first rows together, as for the smoother.
    """
    if record:
        start = [copy_of(a, s.mean.__array_namespace__()) for a in s]
        found = _of_recorded_rows(s, X, Y, p, record, QuickEstimate(s.mean.shape[0]))
        if found.learned == X.shape[0] and found.is_within(most / MARGIN):
            return found
        for a, first in zip(s, start, strict=True):
            a[...] = first
    return _closely_estimated(extended, s, X, Y, p, record)


def _closely_estimated(
    extended: ExtendedFilter, s: Any, X: Array, Y: Array, p: FilterParameters, record: Callable[..., int] | None
) -> LogLikelihood:
    """The log density with a close estimate of its error; without an estimate if the filter keeps a root."""
    rounding, keeps_root = CloseEstimate(s.mean.shape[0], host_dtype(X)), hasattr(s, "root")
    total, error, done = _of_recorded_rows(s, X, Y, p, record, rounding) if record else LogLikelihood()
    for i in range(done, X.shape[0]):
        here, row = p.at(i), (slice(i, i + 1), ...)
        before = None if keeps_root else variances_in_host(s)
        applied, A = extended.predict_step(s, here)
        if not applied:
            return LogLikelihood(total, error, i)
        if before is not None and A is not None:
            rounding.move(to_host(A), before, variances_in_host(s))
        seen = extended.innovation(s, X[row], Y[row], here, None)
        if seen is None:
            continue
        S = to_host(covariance_along(s, seen.J) + seen.R).astype(float)
        density = log_density(seen, S, s)
        if not (keeps_root or math.isinf(density)):
            error += _error_of_step(seen, S, s, rounding)
        if not extended.apply(s, seen, here):
            return LogLikelihood(total, error, i)
        if density == math.inf:
            raise ValueError(
                f"row {i}: the covariance of the observation is singular, so that it has no density: "
                f"set observation_noise > 0, or give y as NaN where the state is known exactly"
            )
        total += density
    return LogLikelihood(total, error, X.shape[0])


def variances_in_host(s: Any) -> np.ndarray[Any, Any]:
    """The variances (p,) of the parameters in float64."""
    found: np.ndarray[Any, Any] = to_host(diagonal(s.covariance, s.covariance.__array_namespace__())).astype(float)
    return found


def _error_of_step(seen: Innovation, S: np.ndarray[Any, Any], s: Any, rounding: CloseEstimate) -> float:
    """The error of the log density of one step, whose rows (q, p) have the covariance S (q, q), positive definite.

    Each row counts by its error and variance given those before it.
    """
    L, P = np.linalg.cholesky(S), to_host(s.covariance).astype(float)
    J, E = (np.linalg.solve(L, to_host(a).astype(float)) for a in (seen.J, seen.E))
    error = error_of_density(rounding.along(J), E, np.ones(len(J)))
    rounding.correct(J, P @ J.T, np.diagonal(P), bool((to_host(seen.R).diagonal() > 0).all()))
    return error


def _of_recorded_rows(
    s: Any, X: Array, Y: Array, p: FilterParameters, record: Callable[..., int], rounding: QuickEstimate | CloseEstimate
) -> LogLikelihood:
    """The log density of the first rows, by the moments before each of them."""
    total, error, done, size = 0.0, 0.0, 0, max(1, RECORDED_NUMBERS // math.prod(s.covariance.shape))
    xp = s.mean.__array_namespace__()
    identity = xp.eye(s.mean.shape[0], dtype=s.mean.dtype)
    while done < X.shape[0]:
        part = slice(done, done + size)
        x, y, here = X[part, ...], Y[part, ...], p.rows(part)
        n = x.shape[0]
        before, after = (Moments(*(xp.empty((n, *a.shape), dtype=a.dtype) for a in moments(s))) for _ in range(2))
        learned = record(s, x, y, here, (*before, *after))
        given = x[:learned, ...], y[:learned, ...], here.rows(slice(0, learned))
        seen_before, seen_after = (Moments(*(a[:learned, ...] for a in records)) for records in (before, after))
        rows = filtered_rows(partial(here.transitions, learned, identity), seen_before, seen_after, *given)
        relative, seen = rounding.of_rows(rows), rows.observed
        total += normal_log_density(rows.E[seen], rows.variances[seen])
        error += error_of_density(relative[seen], rows.E[seen], rows.variances[seen])
        done += learned
        if learned < n:
            break
    return LogLikelihood(total, error, done)


def normal_log_density(E: np.ndarray[Any, Any], variances: np.ndarray[Any, Any]) -> float:
    """The sum of the log densities of errors E (n, c), whose rows have these variances (n,)."""
    squares = (E * E).sum(axis=1) / variances
    return float(-(E.shape[1] * np.log(2 * np.pi * variances) + squares).sum() / 2)


def log_density(seen: Innovation, S: np.ndarray[Any, Any], s: State) -> float:
    """The log density of the errors E (q, r), whose columns are N(0, S) with S = J P J' + R; inf if S is singular."""
    E = to_host(seen.E).astype(float)
    rounding = seen.J.shape[1] * float(np.finfo(host_dtype(seen.J)).eps)
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
    """Whether the deviation of a row without noise is only rounding of the root of the covariance."""
    exact = to_host(seen.R).diagonal() == 0
    if not (hasattr(s, "root") and exact.any()):
        return False
    J = to_host(seen.J)[exact]
    return bool((size[exact] <= 10 * rounding * np.sqrt((J * J) @ to_host(s.scale))).any())

"""Estimates of how much rounding in a filter's covariances affects results that depend on its forecasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec.arrays import to_host

Array = NDArray[Any]
MARGIN = 1000
"""An estimate from variances alone is trusted if it is smaller, by this factor, than an error that gives a warning."""


def most_deviations(dtype: np.dtype[Any]) -> float:
    """The largest estimated error, of a log density per row or of a smoothed moment in deviations, without a warning.

    It is 3e-6, and 0.0025 in float32. True errors may be eight times as large, since errors of several rows add up.
    """
    return math.cbrt(np.finfo(dtype).eps) / 2


def most_error_of_inverses(dtype: np.dtype[Any], computed: np.dtype[Any]) -> float:
    """The largest relative error of inverse covariances without a warning, for moments of a dtype computed in another.

    It changes a mean, in deviations, by up to this error times the root of the condition number.
    """
    return math.pow(np.finfo(computed).eps, 3 / 8 if dtype == computed else 1 / 3)


class FilteredRows(NamedTuple):
    """n steps of one row each. Transitions and covariances may be on a device; the others are in host memory."""

    transitions: Callable[[], Sequence[Array]]
    """Returns the transition (p, p) to each row: only the close estimate needs them."""
    covariances: Array
    """The covariance (n, p, p) before each row."""
    before: Array
    """The variances (n, p) of the parameters before each row."""
    after: Array
    """The variances (n, p) of the parameters after each row."""
    X: Array
    """The rows (n, p)."""
    E: Array
    """The forecast errors (n, r); NaN where there is no target."""
    variances: Array
    """The variances (n,) of the forecasts, noise included."""
    noise: Array
    """The variances (n,) of the noise."""

    @property
    def observed(self) -> Array:
        """Which rows have targets."""
        return np.logical_not(np.isnan(self.E).any(axis=1))


class QuickEstimate:
    """An estimate, from variances alone, of the relative rounding errors of forecast variances.

    A row reduces the variance of a parameter, with rounding errors relative to the variance before. It also reduces the
    errors of earlier rows, by the same factor as the deviation of the parameter. Errors up to 50 eps are ignored, since
    any sum has them. If parameters are correlated, true errors may be a thousand times as large.
    """

    def __init__(self, p: int) -> None:
        nothing = np.full((1, p), math.log(np.finfo(float).tiny))
        self._variances: Array = nothing
        """The logarithms of the variances (1, p) before the last row."""
        self._measure: Array = nothing
        """The logarithms of the variances (1, p) to which rounding errors are relative."""

    def of_rows(self, rows: FilteredRows) -> Array:
        """The relative errors (n,) of the forecast variances; rows come in order."""
        J = rows.X
        info = np.finfo(J.dtype)
        now = np.log(np.maximum(np.abs(rows.before), info.tiny))
        variances = np.vstack([self._variances, now])
        reduced = np.cumsum(np.minimum(np.diff(variances, axis=0), 0) / 2, axis=0)  # by all rows so far
        left = np.vstack([self._measure, np.maximum(variances[:-1], now) - reduced])
        measure = np.maximum.accumulate(left)[1:] + reduced
        if len(J):
            self._measure, self._variances = measure[-1:], now[-1:]
        terms = np.vecdot(np.abs(J), np.exp(measure / 2)) ** 2
        relative: Array = float(info.eps) * terms / rows.variances
        return np.where(relative > 50 * info.eps, relative, 0)


class CloseEstimate:
    """A first-order estimate of the rounding errors of a filter's covariance: a matrix D (p, p), step by step.

    Transitions and rows change D as they change the errors of the covariance: D <- A D A' and
    D <- (I - K X') D (I - K X')'. Each operation adds eps times the variances that it subtracts from.
    """

    def __init__(self, p: int, dtype: np.dtype[Any]) -> None:
        self._eps = float(np.finfo(dtype).eps)
        self._D: Array = np.zeros((p, p))
        self._last: Array = np.zeros(p)
        """The variances after the last row."""

    def move(self, A: Array, before: Array, after: Array) -> None:
        """Propagate D through a transition A (p, p), with the variances (p,) before it and after it."""
        if not np.array_equal(A, np.eye(len(A))):
            self._D = A @ self._D @ A.T
        self._leave(np.maximum((A * A) @ np.abs(before), np.abs(after)))

    def along(self, J: Array) -> Array:
        """The errors (q,) of the variances along rows J (q, p)."""
        found: Array = np.vecdot(J @ self._D, J)
        return found

    def correct(self, J: Array, K: Array, variances: Array, has_noise: bool = True) -> None:
        """Propagate D through the correction by rows J (q, p) with the gain K (p, q), from variances (p,) before it."""
        U, M = self._D @ J.T, J @ self._D @ J.T
        self._D = self._D - K @ U.T - U @ K.T + K @ M @ K.T
        if has_noise:  # without it, what rounding leaves of the variance becomes zero
            self._leave(np.abs(variances))

    def largest(self, variances: Array) -> float:
        """The largest relative error of these variances (p,) of the parameters."""
        errors = np.abs(np.diagonal(self._D))
        return float(np.divide(errors, variances, out=np.zeros_like(errors), where=variances > 0).max(initial=0))

    def of_rows(self, rows: FilteredRows) -> Array:
        """The relative errors (n,) of the forecast variances; rows come in order."""
        return self.of_rows_and_variances(rows)[0]

    def of_rows_and_variances(self, rows: FilteredRows) -> tuple[Array, float]:
        """The result of `of_rows`, and the largest relative error of a parameter's variance after a row with noise."""
        found, largest, observed = np.zeros(len(rows.X)), 0.0, rows.observed & (rows.variances > 0)
        transitions = rows.transitions()
        for t, (x, before, after) in enumerate(zip(rows.X, rows.before, rows.after, strict=True)):
            self.move(to_host(transitions[t]), self._last, before)
            if observed[t]:
                K = to_host(rows.covariances[t, ...]) @ x / rows.variances[t]
                found[t] = self.along(x[None])[0] / rows.variances[t]
                self.correct(x[None], K[:, None], before, rows.noise[t] > 0)
                if rows.noise[t] > 0:
                    largest = float(np.maximum(largest, self.largest(after)))  # NaN stays
            self._last = after
        return found, largest

    def _leave(self, variances: Array) -> None:
        """Add the rounding errors of differences of variances (p,)."""
        self._D = self._D + np.diag(self._eps * variances)


def error_of_density(errors: Array, E: Array, variances: Array) -> float:
    """The error of the log density of E (n, c), whose rows have variances (n,) with relative errors (n,)."""
    squares = np.vecdot(E, E) / variances
    return float((errors * (E.shape[1] + squares)).sum() / 2)


def error_of_means(errors: Array, E: Array, variances: Array) -> float:
    """The largest error of a mean after a correction by forecast errors E (n, c), in deviations."""
    squares = np.vecdot(E, E) / variances
    return float((errors * np.sqrt(1 + squares)).max(initial=0))

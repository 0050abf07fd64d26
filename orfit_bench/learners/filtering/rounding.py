"""How far rounding in a filter's covariances may move what depends on its forecasts. Arrays are in host memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def most_deviations(dtype: np.dtype[Any]) -> float:
    """The largest estimated error, in deviations, that gives no warning: 6e-6, and 0.005 in float32.

    True errors may be four times as large, since errors of several rows add up.
    """
    return math.cbrt(np.finfo(dtype).eps)


def most_error_of_inverses(dtype: np.dtype[Any], computed: np.dtype[Any]) -> float:
    """The largest relative error of inverse covariances, for smoothed moments of this dtype, computed in another.

    It moves a mean by up to the root of the condition as much, in deviations.
    """
    return math.pow(np.finfo(computed).eps, 3 / 8 if dtype == computed else 1 / 3)


class ForecastErrors:
    """Estimates of the relative errors of the variances of forecasts, in the order of the rows.

    A row leaves less of a parameter's variance than there was, with the rounding errors of what there was. It reduces
    the errors that earlier rows left as well: as much as the deviation of the parameter, on the safe side. Errors up to
    50 eps are those of any sum.
    """

    def __init__(self, p: int) -> None:
        nothing = np.full((1, p), math.log(np.finfo(float).tiny))
        self._variances: Array = nothing
        """The logarithms of the variances (1, p) before the last row."""
        self._measure: Array = nothing
        """Those by which rounding is measured."""

    def of_rows(self, parameters: Array, J: Array, forecasts: Array) -> Array:
        """Of variances (n,) along J (n, p), where the parameters have these variances (n, p) before each row."""
        info = np.finfo(J.dtype)
        now = np.log(np.maximum(np.abs(parameters), info.tiny))
        variances = np.vstack([self._variances, now])
        reduced = np.cumsum(np.minimum(np.diff(variances, axis=0), 0) / 2, axis=0)  # by all rows so far
        left = np.vstack([self._measure, np.maximum(variances[:-1], now) - reduced])
        measure = np.maximum.accumulate(left)[1:] + reduced
        if len(J):
            self._measure, self._variances = measure[-1:], now[-1:]
        terms = np.vecdot(np.abs(J), np.exp(measure / 2)) ** 2
        relative: Array = float(info.eps) * terms / forecasts
        return np.where(relative > 50 * info.eps, relative, 0)


def error_of_density(errors: Array, E: Array, variances: Array) -> float:
    """Of the log density of E (n, c), whose rows have these variances (n,) with these relative errors (n,)."""
    squares = np.vecdot(E, E) / variances
    return float((errors * (E.shape[1] + squares)).sum() / 2)


def error_of_means(errors: Array, E: Array, variances: Array) -> float:
    """Of the mean after a correction by such errors E, in its deviations: the largest of the rows."""
    squares = np.vecdot(E, E) / variances
    return float((errors * np.sqrt(1 + squares)).max(initial=0))

"""How far rounding in a filter's covariances may move what depends on its forecasts. Arrays are in host memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def most_deviations(dtype: np.dtype[Any]) -> float:
    """The largest error that no warning is due for, in deviations of what is estimated: 2.4e-5, 0.02 in float32."""
    return 4 * math.cbrt(np.finfo(dtype).eps)


class ForecastErrors:
    """Estimates of the relative errors of the variances of forecasts, in the order of the rows.

    A row leaves less of a variance than there was, with the rounding errors of what there was. So errors are measured
    by the largest variances of the parameters so far.
    """

    def __init__(self, p: int) -> None:
        self._largest: Array = np.zeros(p)

    def of_rows(self, parameters: Array, J: Array, forecasts: Array) -> Array:
        """Of variances (n,) along J (n, p), where the parameters have these variances (n, p) before each row."""
        largest = np.maximum.accumulate(np.vstack([self._largest, np.abs(parameters)]))[1:]
        self._largest = largest[-1] if len(largest) else self._largest
        terms = np.vecdot(np.abs(J), np.sqrt(largest)) ** 2
        return np.asarray(float(np.finfo(J.dtype).eps) * terms / forecasts)


def error_of_density(errors: Array, E: Array, variances: Array) -> float:
    """Of the log density of E (n, c), whose rows have these variances (n,) with these relative errors (n,)."""
    squares = np.vecdot(E, E) / variances
    return float((errors * (E.shape[1] + squares)).sum() / 2)


def error_of_means(errors: Array, E: Array, variances: Array) -> float:
    """Of the mean after a correction by such errors E, in its deviations: the largest of the rows."""
    squares = np.vecdot(E, E) / variances
    return float((errors * np.sqrt(1 + squares)).max(initial=0))

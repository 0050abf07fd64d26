"""Precision guards: a step whose result would not be finite, or would have too few correct digits, is refused.

`orfit_bench.kernels.guards` explains how the digits of a covariance are estimated.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from orfit_bench.kernels.guards import (
    factor_innovation,
    is_finite,
    max_variance_after,
    measure_precision,
    noise_pivots,
)

Array = NDArray[Any]


class Factor(NamedTuple):
    """L (q, q), lower triangular, with L L' = S; `degraded` where half of the digits of P are lost along the rows."""

    L: Array
    degraded: bool


def factor_covariance(
    P: Array, J: Array, S: Array, R: Array, max_error: float, regained_variance: Any = 0.0
) -> Factor | None:
    """The factor of S = J P J' + R (q, q) for rows J (q, p) with noise R; None where too few digits of P are left.

    `max_error` is the largest relative error of a variance that is accepted, `regained_variance` (q,) what the rows'
    variances gain before the next step.
    """
    pivots = noise_pivots(R)
    L = factor_innovation(S, pivots)
    if L is None:
        return None
    precision = measure_precision(P, J, S, L, pivots + regained_variance, max_error)
    return None if precision.exhausted else Factor(L, precision.degraded)


def solve_lower(L: Array, B: Array) -> Array:
    """L^-1 B for a lower triangular L."""
    if len(L) == 1:
        return B / L
    X: Array = solve_triangular(L, B, lower=True, check_finite=False)
    return X


def is_representable(w: Array, P: Array, V: Array, ff: float) -> bool:
    """Whether w is finite and no variance of (P - V'V) / ff is near the largest number."""
    return is_finite(w) and max_variance_after(P, V, ff) < np.finfo(P.dtype).max / 4


def is_bounded(G: Array) -> bool:
    """Whether every unit vector's product with a row of G (q, p) is finite: it is at most sqrt(p) max |G|."""
    return math.isfinite(np.abs(G).max(initial=0) * math.sqrt(G.shape[1]))


def is_normal(energy: Any) -> bool:
    """Whether a sum of squares neither over- nor underflowed."""
    info = np.finfo(energy.dtype)
    return bool(info.tiny / info.eps < energy < np.inf)

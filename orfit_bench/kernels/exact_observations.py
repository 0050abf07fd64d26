"""Filter gains for rows observed without noise, where J P J' + R may be singular.

A combination of rows whose remaining variance is only rounding is known exactly. It is left out, like a linearly
dependent row. Rounding is relative to the variance for a covariance of diagonal `scale`, the one after the last
transition.

Shapes: P (p, p), J (q, p), R (q, q), scale (p,).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.kernels.guards import rounding_bound

Array = NDArray[Any]


def exact_gain(P: Array, J: Array, R: Array, scale: Array) -> tuple[Array, float]:
    """The gain P J'(J P J' + R)^+ (p, q), and the smallest relative variance of a combination that was not left out.

    The gain is NaN where a variance is negative or not finite.
    """
    U = P @ J.T  # (p, q)
    S = J @ U + R  # (q, q)
    size = np.sqrt((J * J) @ np.abs(scale) + np.abs(np.diagonal(R)))
    refused = np.full_like(U, np.nan), 1.0
    if not np.isfinite(S).all() or not np.isfinite(size).all():
        return refused
    unit = inverse_or_zero(size)
    values, W = np.linalg.eigh(unit[:, None] * S * unit)
    if values[0] < -rounding_bound(P):
        return refused
    unknown = values > rounding_bound(P)
    H = (W[:, unknown] / np.sqrt(values[unknown])).T * unit  # H S H' = I
    return (U @ H.T) @ H, float(values[unknown].min(initial=1))


def drop_known_directions(P: Array, scale: Array, max_variance: float) -> Array:
    """P (p, p) without the directions whose variance relative to `scale` is at most `max_variance`."""
    size = np.sqrt(np.maximum(scale, 0))
    unit = inverse_or_zero(size)
    values, W = np.linalg.eigh(unit[:, None] * P * unit)
    unknown = values > max_variance
    half = (W[:, unknown] * np.sqrt(values[unknown])).T * size
    remaining: Array = half.T @ half  # symmetric to the last bit
    return remaining


def inverse_or_zero(size: Array) -> Array:
    """1 / size, and 0 where size is 0."""
    inverse: Array = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    return inverse

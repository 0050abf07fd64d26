"""Filter gains for rows observed without noise, where J P J' + R may be singular.

A combination of rows whose remaining variance is only rounding is known exactly. It is left out, like a linearly
dependent row. Rounding is relative to the variance for a covariance of diagonal `scale`, the one after the last
transition.

Shapes: P (p, p), J (q, p), R (q, q), scale (p,).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, REFUSED, rounding_bound

Array = NDArray[Any]


class ExactGain(NamedTuple):
    """The gain K = U H'H (p, q) of rows with S = J P J' + R, U = P J', and H S H' = I for what was not left out."""

    K: Array
    H: Array
    """(k, q): H e are the errors of the rows in deviations."""
    least: float
    """The smallest relative variance of a combination that was not left out."""


def exact_gain(P: Array, J: Array, R: Array, scale: Array) -> ExactGain:
    """The gain P J'(J P J' + R)^+; NaN where a variance is negative or not finite."""
    U = P @ J.T  # (p, q)
    S = J @ U + R  # (q, q)
    size = np.sqrt((J * J) @ np.abs(scale) + np.abs(np.diagonal(R)))
    refused = ExactGain(np.full_like(U, np.nan), np.empty((0, len(J)), J.dtype), 1.0)
    if not np.isfinite(S).all() or not np.isfinite(size).all():
        return refused
    unit = inverse_or_zero(size)
    values, W = np.linalg.eigh(unit[:, None] * S * unit)
    if values[0] < -rounding_bound(P):
        return refused
    unknown = values > rounding_bound(P)
    H = (W[:, unknown] / np.sqrt(values[unknown])).T * unit  # H S H' = I
    return ExactGain((U @ H.T) @ H, H, float(values[unknown].min(initial=1)))


def judge_errors(s: Any, Z: Array, p: Any) -> int:
    """The verdict on errors Z of rows without noise, in deviations: so large ones show that a deviation is rounding.

    A transition may mix no more of what is unknown into what is known, so that rounding is all that is left there, and
    `scale` no longer tells. It is some sqrt(eps) of a deviation, which targets that do not fit are eps^(-1/2) of away:
    such rows are refused, and half of that is marked as degraded. A state that has not moved has any prior.
    """
    if not (s.moved or (p.is_dynamic and p.t > 1)):
        return ACCEPTED
    largest = float(np.abs(Z).max(initial=0))
    if not largest <= np.finfo(Z.dtype).eps ** -0.5:
        return REFUSED
    return DEGRADED if largest > np.finfo(Z.dtype).eps ** -0.25 else ACCEPTED


def known_parameters(P: Array, scale: Array) -> tuple[Array, bool]:
    """Which variances (p,) are only rounding beside `scale`, and whether others have lost half of their digits."""
    variances, known = np.diagonal(P), np.diagonal(P) <= rounding_bound(P) * scale
    few_digits = ~known & (variances < float(np.finfo(P.dtype).eps) ** (2 / 3) * scale)
    return known, bool(few_digits.any())


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

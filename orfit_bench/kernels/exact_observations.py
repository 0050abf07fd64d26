"""Filter gains for rows observed without noise, where J P J' + R may be singular.

A combination of rows whose remaining variance is only rounding is known exactly. It is left out, like a linearly
dependent row. Rounding is relative to the variance that it has for the diagonal covariance `scale`: the variances of
the last transition (`filtering.moved_scale`), or the initial ones.

Shapes: P (p, p), J (q, p), R (q, q), scale (p,).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.kernels.filtering import regained_covariance
from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, REFUSED, rounding_bound
from orfit_bench.kernels.linalg import inverse_or_zero
from orfit_bench.spec.kernel_arguments import FilterParams, State

Array = NDArray[Any]


class ExactGain(NamedTuple):
    """The gain K = U H'H (p, q) of rows with S = J P J' + R, U = P J', and H S H' = I for combinations not left out."""

    K: Array
    H: Array
    """(k, q): H e are the errors of the rows in deviations."""
    least: float
    """The smallest relative variance of a combination that was not left out."""


def exact_gain(P: Array, J: Array, R: Array, scale: Array) -> ExactGain:
    """The gain P J'(J P J' + R)^+; NaN if a variance is negative or not finite."""
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


def judge_errors(s: State, H: Array, J: Array, E: Array, p: FilterParams) -> int:
    """The verdict on errors E (q, r) of rows J without noise, which H (k, q) turns into deviations.

    After a transition, the variance along some rows may be only rounding, which `scale` does not reveal if it is as
    small. Rounding leaves a deviation of the order sqrt(eps), so the errors of targets that contradict the state are
    about eps^(-1/2) such deviations. They are refused; with errors above eps^(-1/4) deviations, the state is marked.
    Variance that the noise has just added is not rounding, and a state that has not moved interpolates from any prior.
    """
    if not s.moved:
        return ACCEPTED
    R, regained, eps = p.observation_noise, regained_covariance(J, p), float(np.finfo(E.dtype).eps)
    added = R if regained is None else R + regained
    was_known = ((H @ added) * H).sum(axis=1) < math.sqrt(eps)  # of the variance 1 of H e
    largest = float(np.abs(H[was_known] @ E).max(initial=0))
    if not largest <= eps**-0.5:
        return REFUSED
    return DEGRADED if largest > eps**-0.25 else ACCEPTED


def remove_known_variances(P: Array, scale: Array, least: float, moves: bool) -> bool:
    """Set variances in P (p, p) that are rounding compared with `scale` to zero; returns whether few digits are left.

    If only a share `least` of the variance along a row was unknown, rounding errors are 1 / least times as large.
    Directions with at most that variance are removed as well if the share is small, and with `moves`, since the next
    transition replaces `scale`.
    """
    eps = float(np.finfo(P.dtype).eps)
    bound, few = rounding_bound(P), eps ** (2 / 3)
    known, has_few = np.diagonal(P) <= bound * scale, np.diagonal(P) < few * scale
    has_few_digits = bool((~known & has_few).any()) or least < eps**0.5
    P[known], P[:, known] = 0, 0
    if moves or least * len(P) < 1:
        P[...], largest = drop_known_directions(P, scale, bound / least)
        has_few_digits = has_few_digits or largest > few
    return has_few_digits


def drop_known_directions(P: Array, scale: Array, max_variance: float) -> tuple[Array, float]:
    """P (p, p) without the directions whose variance relative to `scale` is at most this, and the largest of these."""
    size = np.sqrt(np.maximum(scale, 0))
    unit = inverse_or_zero(size)
    values, W = np.linalg.eigh(unit[:, None] * P * unit)
    unknown = values > max_variance
    half = (W[:, unknown] * np.sqrt(values[unknown])).T * size
    remaining: Array = half.T @ half  # exactly symmetric
    return remaining, float(values[~unknown].max(initial=0))

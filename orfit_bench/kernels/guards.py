"""Precision guards of methods with a covariance P: factors of the innovation covariance, digits that are left.

Shapes: P (p, p) symmetric, J (q, p) rows or gradients, R (q, q) covariance of their noise, S = J P J' + R (q, q).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Array = NDArray[Any]
MAX_GROWING_ERROR = 0.01
"""The largest relative error of a variance with which a step is applied if later steps enlarge the error."""
REFUSED, ACCEPTED, DEGRADED = 0, 1, 2
"""Verdicts on an update: not applied; applied; applied, with half of the digits of P lost."""


class Precision(NamedTuple):
    """`degraded`: half of the digits of P are lost along the rows; `exhausted`: too few are left to apply the step."""

    degraded: bool
    exhausted: bool


def is_finite(a: Array) -> bool:
    """Whether all entries are finite; one pass without a temporary, two only if the sum of squares overflows."""
    return math.isfinite(np.vdot(a, a).real) or bool(np.isfinite(a).all())


def rounding_bound(P: Any) -> float:
    """Largest remainder of a variance of 1 that may be only rounding: a few eps for each of the p rows.

    P may be an array of any library.
    """
    return 10 * len(P) * float(np.finfo(P.dtype).eps)


def noise_pivots(R: Array) -> Array:
    """The squared diagonal (q,) of R's Cholesky factor; zeros if R is singular."""
    if len(R) == 1:
        return np.diagonal(R).real
    try:
        return np.diagonal(np.linalg.cholesky(R)).real ** 2
    except np.linalg.LinAlgError:
        return np.zeros(len(R), R.dtype)


def is_singular(R: Array) -> bool:
    """Whether some combination of the rows is observed without noise."""
    return bool((noise_pivots(R) <= len(R) * np.finfo(R.dtype).eps * np.diagonal(R)).any())


def factor_innovation(S: Array, pivots: Array) -> Array | None:
    """The lower triangular L (q, q) with L L' = S; None if rounding has made P indefinite along the rows.

    In exact arithmetic, no squared pivot of S is below that of the noise, `pivots` (q,).
    """
    least = pivots * (1 - math.sqrt(np.finfo(S.dtype).eps))
    if len(S) == 1:
        s = S.real
        return np.sqrt(s) if s[0, 0] >= least[0] and s[0, 0] > 0 else None
    try:
        L = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return None
    return L if (np.diagonal(L).real ** 2 >= least).all() else None


class Limits(NamedTuple):
    """When an update of a covariance is refused.

    Parameters
    ----------
    ff : float
        The factor by which P is divided after the update.
    max_rounding, max_cancellation : float
        Largest estimated relative errors of a variance, see `measure_precision`; with 1, no digit is correct.
    max_variance : float
        Upper bound of every P_ii.
    """

    ff: float = 1.0
    max_rounding: float = 1.0
    max_cancellation: float = 1.0
    max_variance: float = math.inf


NO_LIMITS = Limits()
TRANSITION_LIMITS = Limits(max_rounding=MAX_GROWING_ERROR, max_cancellation=math.inf)
"""A transition may enlarge an error, as forgetting does, and may mix other directions into what a row leaves."""


@cache
def forgetting_limits(ff: float, dtype: Any) -> Limits:
    """The limits for a forgetting factor: with ff < 1 errors grow with every row, and P may overflow."""
    return Limits(ff, max_error(ff), max_error(ff), float(np.finfo(dtype).max / 4))


def max_error(ff: float) -> float:
    """The largest relative error of a variance with which a step is applied, for the forgetting factor ff.

    With forgetting, which enlarges an error with every row, it is MAX_GROWING_ERROR. Otherwise errors do not grow, and
    it is 1: no correct digit.
    """
    return MAX_GROWING_ERROR if ff < 1 else 1.0


def sum_of_weights(ff: float, t: int) -> float:
    """The sum of the weights ff^i of the last t steps, for a forgetting factor below 1."""
    return (1 - ff**t) / (1 - ff)


def steps_until_forgotten(ff: float, dtype: Any) -> int:
    """The number of steps after which the prior counts less than rounding, for a forgetting factor below 1."""
    return math.ceil(math.log(np.finfo(dtype).eps) / math.log(ff))


def remaining_variances(pivots: Array, R: Array, regained: Array | None) -> Array:
    """The least variance (q,) that the next step finds along each row, given the rows before it.

    It is the variance of the noise R, whose `noise_pivots` are given, and of `regained` (q, q), the covariance that is
    added along the rows before the next step.
    """
    return pivots if regained is None else np.maximum(pivots, noise_pivots(R + regained))


def reductions(terms: Array, L: Array, remaining: Array) -> Array:
    """The factors (q,) by which a step with the innovation covariance L L' enlarges the rounding errors of variances.

    A variance along a row, given the rows before it, is a difference of `terms` (q,), and the step reduces it to at
    most `remaining` (q,).
    """
    pivots = np.diagonal(L).real ** 2
    factors: Array = np.maximum(pivots / remaining, terms / pivots)
    return factors


def joint_reduction(L: Array, remaining: Array) -> float:
    """The largest factor by which a step with the innovation covariance S = L L' reduces a variance S_ii along a row.

    The step subtracts from P once, so that all rows count together.
    """
    return float((np.vecdot(L, L).real / remaining).max())


def measure_precision(variances: Array, J: Array, S: Array, L: Array, remaining: Array, limits: Limits) -> Precision:
    """Estimate the relative errors of the variances x'P x along the rows x of J, for S = L L'.

    `variances` (p,) is the diagonal of P, or that of the terms from which P was computed, if larger.

    Two estimates, O(p) per row. Rounding: eps (sum |x_i| sqrt(P_ii))^2 relative to the innovation variance.
    Cancellation: see `reductions`.

    Degraded: rounding exceeds sqrt(eps), cancellation or eps times the `joint_reduction` exceeds eps^(1/3), or P
    exceeds half the exponent range of its dtype, as happens in directions that are forgotten and never observed.
    Exhausted: an estimate exceeds its limit.
    """
    info, deviations = np.finfo(S.dtype), np.sqrt(np.abs(variances))
    terms = (np.abs(J) @ deviations) ** 2
    rounding = info.eps * (terms / np.diagonal(S).real).max()
    cancellation = info.eps * reductions(terms, L, remaining).max()
    together = info.eps * joint_reduction(L, remaining)
    degraded = is_degraded(rounding, max(cancellation, together), deviations.max(), S.dtype)
    accepted = rounding <= limits.max_rounding and cancellation <= limits.max_cancellation
    return Precision(bool(degraded), not accepted)  # so that NaN refuses


def is_degraded(rounding: Any, cancellation: Any, deviation: Any, dtype: np.dtype[Any]) -> Any:
    """Whether half of the digits of S, or two thirds of those of P, are lost, or P is wound up; entry by entry.

    `deviation` is the largest standard deviation in P.
    """
    info = np.finfo(dtype)
    return (rounding > info.eps**0.5) | (cancellation > info.eps ** (1 / 3)) | (deviation > float(info.max) ** 0.25)


def measure_root_precision(size: Array, J: Array, T: Array, remaining: Array, limits: Limits) -> Precision:
    """Like `measure_precision`, for a root of P, whose rounding errors add to variances by their squares.

    `size` (p,) is the deviation of each parameter, or that of the terms from which it was computed, if larger; T (q, q)
    is a root of the innovation covariance. Cancellation is only an error in the weight of this row, since the deviation
    that is left is at least eps times the one before: 10 % are allowed.
    """
    eps, innovations = np.finfo(T.dtype).eps, np.sqrt(np.vecdot(T, T))
    rounding = ((eps * (np.abs(J) @ size) / innovations) ** 2).max()
    cancellation = ((eps * innovations) ** 2 / remaining).max()
    return Precision(bool(rounding > eps**0.5 or cancellation > 0.1), not rounding <= limits.max_rounding)


def keeps_variances_finite(P: Array, V: Array, limits: Limits) -> bool:
    """Whether no entry on the diagonal of (P - V'V) / ff, for V (q, p), is near the largest number."""
    return bool((np.diagonal(P).real - (V * V.conj()).real.sum(0)).max() / limits.ff < limits.max_variance)


class Factor(NamedTuple):
    """L (q, q), lower triangular, with L L' = S; `degraded` if half of the digits of P are lost along the rows."""

    L: Array
    degraded: bool


def factor_covariance(
    variances: Array, J: Array, S: Array, R: Array, limits: Limits, regained: Array | None = None
) -> Factor | None:
    """The factor of S = J P J' + R (q, q) for rows J (q, p) with noise R; None if too few digits of P are left.

    `variances` (p,) are those of P, as in `measure_precision`; `regained` (q, q) is the covariance that is added along
    the rows before the next step.
    """
    pivots = noise_pivots(R)
    L = factor_innovation(S, pivots)
    if L is None:
        return None
    precision = measure_precision(variances, J, S, L, remaining_variances(pivots, R, regained), limits)
    return None if precision.exhausted else Factor(L, precision.degraded)


def solve_lower(L: Array, B: Array) -> Array:
    """L^-1 B for a lower triangular L."""
    if len(L) == 1:
        return B / L
    X: Array = solve_triangular(L, B, lower=True, check_finite=False)
    return X


def is_bounded(G: Array) -> bool:
    """Whether every unit vector's product with a row of G (q, p) is finite: it is at most sqrt(p) max |G|."""
    return math.isfinite(np.abs(G).max(initial=0) * math.sqrt(G.shape[1]))


def moderate_size(dtype: Any) -> float:
    """The fourth root of the largest number: no product of three numbers of this size overflows."""
    return float(2.0 ** (np.finfo(dtype).maxexp // 4))


@cache
def normal_range(dtype: Any) -> tuple[float, float]:
    """The exclusive limits between which a sum of squares or a quotient has neither overflowed nor underflowed."""
    info = np.finfo(dtype)
    return float(info.tiny / info.eps), math.inf


def is_normal(energy: Any) -> bool:
    """Whether a sum of squares or a quotient has neither overflowed nor underflowed."""
    smallest, largest = normal_range(energy.dtype)
    return bool(smallest < energy < largest)

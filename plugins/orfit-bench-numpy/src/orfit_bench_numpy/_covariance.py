"""What kernels with a covariance P share: its rank-q change by new rows, and how many of its digits are left.

Shapes: P (p, p) symmetric, J (q, p), E (q, r), R (q, q) the noise of the rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Array = NDArray[Any]


class Change(NamedTuple):
    """What the rows do: the weights move by `move`, P becomes P - V'V; `lost` where half of P's digits are gone."""

    move: Array
    V: Array
    lost: bool


def change(P: Array, J: Array, E: Array, R: Array, renewed: Any = 0.0, least: float | None = None) -> Change | None:
    """P J'(R + J P J')^-1 E, and V with V'V = P J'(R + J P J')^-1 J P; None where too few digits are left.

    renewed is what the variances along the rows regain before the next ones, least the digits' last estimate that is
    accepted: see `digits`.
    """
    U = P @ J.T  # (p, q)
    S = J @ U + R  # (q, q)
    r = pivots(R)
    L = cholesky(S, r)
    if L is None:
        return None
    lost, spent = digits(P, J, S, L, r + renewed, least)
    if spent:
        return None
    V, z = (U.T / L, E / L) if len(L) == 1 else (solved(L, U.T), solved(L, E))
    return Change(V.T @ z, V, lost)


def overflows(P: Array, V: Array, ff: float) -> bool:
    """Whether (P - V'V) / ff comes near the largest number."""
    highest = (np.diagonal(P) - (V * V).sum(0)).max() / ff
    return not highest < np.finfo(P.dtype).max / 4


def shrink(P: Array, V: Array, ff: float) -> None:
    """P <- (P - V'V) / ff."""
    P -= V.T @ V  # symmetric to the last bit, so P is
    if ff != 1:
        P /= ff


def singular(R: Array) -> bool:
    """Whether some combination of the rows is observed without noise."""
    return bool((pivots(R) <= len(R) * np.finfo(R.dtype).eps * np.diagonal(R)).any())


def noiseless_gain(P: Array, J: Array, R: Array, scale: Array) -> tuple[Array, float]:
    """P J'(R + J P J')^+ (p, q) for a singular R, and the least variance kept, of what it was with `scale`.

    The gain is NaN where a variance is negative or not finite.

    A combination of the rows whose variance is but rounding of what it was when the diagonal of P was `scale` is
    known: it is left out, as a dependent row is.
    """
    U = P @ J.T  # (p, q)
    S = J @ U + R  # (q, q)
    size = np.sqrt((J * J) @ np.abs(scale) + np.abs(np.diagonal(R)))
    refused = np.full_like(U, np.nan), 1.0
    if not np.isfinite(S).all() or not np.isfinite(size).all():
        return refused
    unit = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    values, W = np.linalg.eigh(unit[:, None] * S * unit)
    if values[0] < -rounding(P):
        return refused
    new = values > rounding(P)
    H = (W[:, new] / np.sqrt(values[new])).T * unit  # H S H' = I
    return (U @ H.T) @ H, float(values[new].min(initial=1))


def rounding(P: Array) -> float:
    """What is left of a variance of 1 where nothing should be, at most: a few eps for each of p rows."""
    return 10 * len(P) * float(np.finfo(P.dtype).eps)


def solved(L: Array, B: Array) -> Array:
    """L^-1 B."""
    X: Array = solve_triangular(L, B, lower=True, check_finite=False)
    return X


def pivots(R: Array) -> Array:
    """The squared diagonal of R's Cholesky factor; zeros where R is singular."""
    if len(R) == 1:
        return np.diagonal(R)
    try:
        return np.diagonal(np.linalg.cholesky(R)) ** 2
    except np.linalg.LinAlgError:
        return np.zeros(len(R), R.dtype)


def cholesky(S: Array, least: Array) -> Array | None:
    """L with L L' = S; None where a pivot fell below that of the noise alone, which no exact arithmetic allows."""
    least = least * (1 - math.sqrt(np.finfo(S.dtype).eps))
    if len(S) == 1:
        return np.sqrt(S) if S[0, 0] >= least[0] and S[0, 0] > 0 else None
    try:
        L = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return None
    return L if (np.diagonal(L) ** 2 >= least).all() else None


def digits(P: Array, J: Array, S: Array, L: Array, r: Array, least: float | None) -> tuple[bool, bool]:
    """Whether half of the digits of P are lost on the directions of J, and whether too few are left.

    From O(p) numbers a row: x'P x is rounded by eps (sum |x_i| sqrt(P_ii))^2. A step takes x'P x from s to below r,
    so an error of eps s stays in what is left. Beyond half the range of the floats P has wound up, whatever the rows.
    Too few: an estimate above `least`; without it 0.01 where r < 1, since forgetting loses more with every row, and 1
    (no digit) where what is left stays.
    """
    info, scale = np.finfo(P.dtype), np.sqrt(np.abs(np.diagonal(P)))
    rounded = info.eps * ((np.abs(J) @ scale) ** 2 / np.diagonal(S)).max()
    cancelled = info.eps * (np.diagonal(L) ** 2 / r).max()
    wound_up = scale.max() > float(info.max) ** 0.25
    lost = rounded > info.eps**0.5 or cancelled > info.eps ** (1 / 3) or wound_up
    if least is None:
        least = 0.01 if (r < 1).all() else 1.0
    return bool(lost), not (rounded <= least and cancelled <= least)  # so that NaN refuses

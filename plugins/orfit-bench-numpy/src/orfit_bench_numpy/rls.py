"""Recursive least squares (thesis, eq. 2.3; least-squares notes, block update; survey, RLS-(beta, lambda)).

In the normalised form P = Phi_t beta^-t, which stays finite where beta^t underflows.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from orfit_bench_numpy._algebra import Array, append, by_block, by_rows, finite, fitted, new_directions


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """P <- (P - P J'(ff I + J P J')^-1 J P) / ff,  w <- w + P_old J'(ff I + J P_old J')^-1 E."""
    if p.forgetting_factor == 0:
        return interpolate(s, J, E)
    if p.ridge == 0 and p.t == 1:
        return begin(s, J, E)
    P, ff = s.P, p.forgetting_factor
    U = P @ J.T  # (p, q)
    S = J @ U + ff * np.eye(len(J), dtype=P.dtype)  # (q, q)
    L = cholesky(S, ff)
    if L is None:
        return False
    V = U.T / L if len(L) == 1 else solve_triangular(L, U.T, lower=True, check_finite=False)  # (q, p)
    w = s.w + V.T @ (E / L if len(L) == 1 else solve_triangular(L, E, lower=True, check_finite=False))
    lost, spent = digits(P, J, S, L, ff)
    highest = (np.diagonal(P) - (V * V).sum(0)).max() / ff
    if spent or not finite(w) or not highest < np.finfo(P.dtype).max / 4:
        return False
    if lost:
        s.digits_lost[...] = 1
    s.w[...] = w
    P -= V.T @ V  # symmetric to the last bit, so P is
    if ff != 1:
        P /= ff
    return True


def digits(P: Array, J: Array, S: Array, L: Array, ff: float) -> tuple[bool, bool]:
    """Whether half of the digits of P are lost on the directions of J, and whether too few are left.

    From O(p) numbers a row: x'P x is rounded by eps (sum |x_i| sqrt(P_ii))^2. A step takes x'P x from s to below ff,
    so an error of eps s stays in what is left. Beyond half the range of the floats P has wound up, whatever the rows.
    """
    info, scale = np.finfo(P.dtype), np.sqrt(np.abs(np.diagonal(P)))
    rounded = info.eps * ((np.abs(J) @ scale) ** 2 / np.diagonal(S)).max()
    cancelled = info.eps * (np.diagonal(L) ** 2).max() / ff
    wound_up = scale.max() > float(info.max) ** 0.25
    lost = rounded > info.eps**0.5 or cancelled > info.eps ** (1 / 3) or wound_up
    least = 0.01 if ff < 1 else 1.0  # forgetting loses more with every row; without it what is left stays
    return bool(lost), not (rounded <= least and cancelled <= least)  # so that NaN refuses


def cholesky(S: Array, ff: float) -> Array | None:
    """L with L L' = S; None where a pivot fell below ff, which no exact arithmetic allows."""
    least = ff * (1 - math.sqrt(np.finfo(S.dtype).eps))
    if len(S) == 1:
        return np.sqrt(S) if S[0, 0] >= least else None
    try:
        L = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return None
    return L if (np.diagonal(L) ** 2 >= least).all() else None


def begin(s: Any, J: Array, E: Array) -> bool:
    """No prior: the first block's least-squares solution and P = (J'J)^-1 (least-squares notes, block 0)."""
    V, sigma, Wt = np.linalg.svd(J, full_matrices=False)
    w = s.w + Wt.T @ ((V.T @ E) / sigma[:, None])
    half = Wt / sigma[:, None]
    if not finite(w) or not finite(half):
        return False
    s.w[...], s.P[...] = w, half.T @ half
    return True


def interpolate(s: Any, J: Array, E: Array) -> bool:
    """The limit ff -> 0, where P is the projection off all former rows, kept as a basis (thesis, Prop. 2)."""
    Q, R = new_directions(s.basis[: s.count[0]].T, J.T)  # P J' = Q R
    if not R.size:
        return True
    w = s.w + Q @ fitted(R, J.T, E)
    if not finite(w):
        return False
    s.w[...] = w
    append(s, Q)
    return True


learn = by_rows(update)
step = by_block(update)

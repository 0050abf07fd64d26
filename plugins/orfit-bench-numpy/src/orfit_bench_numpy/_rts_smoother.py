"""The Rauch-Tung-Striebel smoother of `kalman` (survey, Theorem 7, with A_j in the gain)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from orfit_bench.kernels.fleets import diagonals
from orfit_bench.kernels.guards import rounding_bound
from orfit_bench.kernels.linalg import inverse_or_zero, root_of

Array = NDArray[Any]


def rts_smooth(
    F: Sequence[Array],
    m_pred: Array,
    P_pred: Array,
    m: Array,
    P: Array,
    Q: Sequence[Array | None] | None = None,
    scale: Array | None = None,
) -> float:
    """Replace the filtered means m (n, d, r) and covariances P (n, d, d) of n steps by the smoothed ones, in place.

    F[j] is the transition to step j (A_j in the survey), Q[j] the process noise or None for zero, m_pred[j] is
    theta_(j|j-1) and P_pred[j] is Sigma_(j|j-1). m[j] and P[j] are theta_(j|j) and Sigma_(j|j) before the call,
    theta_(j|n) and Sigma_(j|n) after it. Rounding in P is measured relative to the variances scale (n, d), by default
    those after the last move, from which corrections subtract.

    Returns the largest estimated relative error of an inverse of P_pred[j].
    """
    at_rest = [j > 0 and is_at_rest(F[j], P_pred[j], P[j - 1]) for j in range(len(F))]
    moved = [j for j in range(len(F)) if not at_rest[j]]
    if scale is None:
        scale = diagonals(P_pred)[moved][np.cumsum(np.logical_not(at_rest)) - 1]
    identity, error = np.eye(P.shape[1], dtype=P.dtype), 0.0
    for j in range(len(F) - 1, 0, -1):
        if at_rest[j]:  # the same state, so the same moments
            m[j - 1], P[j - 1] = m[j] - (m_pred[j] - m[j - 1]), P[j]  # except for the control
            continue
        A, before = F[j], P[j - 1]
        # L' = P_pred[j]^-1 A P[j - 1]
        Lt, error_j = solve_symmetric(P_pred[j], A @ before, (A * A) @ np.abs(scale[j - 1]))
        L, error = Lt.T, max(error, error_j)
        # m[j - 1] + L (m[j] - m_pred[j])
        m[j - 1] += L @ (m[j] - m_pred[j])
        # P[j - 1] + L (P[j] - P_pred[j]) L', computed as (I - L A) P[j - 1] (I - L A)' + L (Q[j] + P[j]) L', a sum of
        # squares without cancellation
        after = P[j] if Q is None or Q[j] is None else P[j] + Q[j]
        S = np.hstack([(identity - L @ A) @ root_of(before), L @ root_of(after)])  # (d, 2 d): S S' = new P[j - 1]
        P[j - 1] = S @ S.T
    return error


def is_at_rest(F: Array, P_pred: Array, P: Array) -> bool:
    """Whether the state did not move before this step, and nothing was added to its covariance."""
    return np.array_equal(P_pred, P) and np.array_equal(F, np.eye(len(F)))


def solve_symmetric(P: Array, B: Array, scale: Array) -> tuple[Array, float]:
    """P^-1 B, or P^+ B if a direction is known exactly, and an estimate of the relative error of the inverse.

    A variance that is only rounding counts as zero. Rounding is relative to the larger of the diagonal of P and
    `scale`, the variances that were added and subtracted to compute P.
    """
    size = np.sqrt(np.maximum(np.diagonal(P), scale))
    unit = inverse_or_zero(size)[:, None]
    C = unit * P * unit.T
    X: Array = unit * B
    inverse = invert_factor(C)
    largest = np.vdot(inverse, inverse)  # the trace of C^-1, at least 1 / (smallest eigenvalue of C)
    if largest * 10 * rounding_bound(P) < 1:
        X = inverse.T @ (inverse @ X)
    else:
        values, W = np.linalg.eigh(C)
        unknown = values > rounding_bound(P)
        W, values = W[:, unknown], values[unknown]
        X = (W / values) @ (W.T @ X)
        largest = 1 / values.min(initial=1)
    X *= unit
    return X, float(np.finfo(P.dtype).eps * largest)


def invert_factor(C: Array) -> Array:
    """L^-1 for C = L L', where each column is accurate by itself; infinite if C is not positive definite."""
    (potrf, trtri) = get_lapack_funcs(("potrf", "trtri"), (C,))
    L, failed = potrf(C, lower=1, clean=1)
    inverse: Array = np.full_like(C, np.inf) if failed else trtri(L, lower=1)[0]
    return inverse

"""The Rauch-Tung-Striebel smoother on the device: for every step one eigendecomposition, and matrix products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orfit_bench.kernels.guards import rounding_bound
from orfit_bench_cupy._transfers import Array, fetch


def smooth(
    F: Sequence[Array], m_pred: Array, P_pred: Array, m: Array, P: Array, Q: Sequence[Array | None] | None = None
) -> float:
    """Smooth like `rts_smooth`, with the gain L = P[j - 1] F[j]' P_pred[j]^-1."""
    xp = P.__array_namespace__()
    still = xp.eye(P.shape[1], dtype=P.dtype)
    same = [xp.array_equal(P_pred[j], P[j - 1]) & xp.array_equal(F[j], still) for j in range(1, len(F))]
    rests = [False, *(fetch(xp.stack(same))[0] if same else ())]
    moved = [max(i for i in range(j + 1) if not rests[i]) for j in range(len(F))]  # the last move until step j
    largest = xp.ones((), dtype=P.dtype)
    for j in range(len(F) - 1, 0, -1):
        if rests[j]:  # the same state, so the same mean and covariance
            m[j - 1], P[j - 1] = m[j] - (m_pred[j] - m[j - 1]), P[j]  # except for the control
            continue
        scale = xp.abs(P_pred[moved[j - 1]].diagonal())
        L, inverse = solve_symmetric(P_pred[j], F[j] @ P[j - 1], (F[j] * F[j]) @ scale)
        L, largest = L.T, xp.maximum(largest, inverse)
        m[j - 1] += L @ (m[j] - m_pred[j])
        rest, after = still - L @ F[j], P[j] if Q is None or Q[j] is None else P[j] + Q[j]
        S = rest @ P[j - 1] @ rest.T + L @ after @ L.T
        P[j - 1] = S / 2 + S.T / 2
    return float(np.finfo(P.dtype).eps * fetch(largest)[0])


def solve_symmetric(P: Array, B: Array, scale: Array) -> tuple[Array, Array]:
    """P^-1 B, or P^+ B if some direction is known exactly, and the largest eigenvalue of the inverse.

    A variance that is only rounding counts as zero. Rounding is relative to the larger of the diagonal of P and
    `scale`, the variances that were added and subtracted to compute P.
    """
    xp = P.__array_namespace__()
    size = xp.sqrt(xp.maximum(P.diagonal(), scale))
    unit = ((size > 0) / xp.where(size > 0, size, 1))[:, None]
    values, W = xp.linalg.eigh(unit * P * unit.T)
    known = xp.abs(values) > rounding_bound(P)
    inverse = known / xp.where(known, values, 1)
    return unit * ((W * inverse) @ (W.T @ (unit * B))), xp.max(inverse)

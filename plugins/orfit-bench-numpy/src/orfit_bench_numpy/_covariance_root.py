"""The Kalman filter in the square-root form: a lower triangular S with S S' = Sigma is transformed orthogonally.

Both steps triangularize an array of roots, so their backward error is a few eps whatever the condition of Sigma is, and
Sigma is never indefinite (Kailath, Sayed and Hassibi, Linear Estimation, 2000, chapter 12: the array algorithms).

Shapes: J (q, d) rows, E (q, r) errors, S (d, d), R (q, q), F and Q (d, d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel import Params, State
from orfit_bench_numpy._roots import root_of, triangularize_columns


def predict_root(s: State, mean: Array, p: Params) -> bool:
    """Prediction (KF, arrow down): [F S, Q^(1/2)] = [S+ 0] Theta, so S+ S+' = F S S'F' + Q."""
    S, F, Q = s.root, p.transition, p.process_noise
    moved = S if F is None else F @ S
    if Q is not None:
        moved = np.hstack([moved, root_of(Q)])
    if not (is_finite(mean) and is_finite(moved)):
        return False
    s.mean[...] = mean
    if p.is_dynamic:
        set_root(s, triangularize_columns(moved))
        s.scale[...] = np.diagonal(s.covariance)
    return True


def update_root(s: State, J: Array, E: Array, p: Params) -> bool:
    """Correction (KF, arrow right): [R^(1/2) J S; 0 S] = [T 0; K T S+] Theta, with T T' = R + J Sigma J'."""
    S, (q, d) = s.root, J.shape
    before = np.block([[root_of(p.observation_noise), J @ S], [np.zeros((d, q), S.dtype), S]])
    if not is_finite(before) or not is_finite(after := triangularize_columns(before)):
        return False
    T, gain = after[:q, :q], after[q:, :q]  # K = gain T^-1
    mean = s.mean + gain @ solve_known(T, E)
    if not is_finite(mean):
        return False
    s.mean[...] = mean
    set_root(s, after[q:, q:])
    return True


def solve_known(T: Array, E: Array) -> Array:
    """T^-1 E for a lower triangular T; T^+ E where some combination of the rows is known exactly."""
    sizes = np.abs(np.diagonal(T))
    if (sizes > len(T) * np.finfo(T.dtype).eps * sizes.max(initial=0)).all():
        found: Any = solve_triangular(T, E, lower=True, check_finite=False)
    else:
        found = np.linalg.pinv(T, rcond=len(T) * np.finfo(T.dtype).eps) @ E
    return np.asarray(found)


def set_root(s: State, S: Array) -> None:
    """Store a root, and the covariance S S', which predictions and the smoother read."""
    s.root[...] = S
    s.covariance[...] = S @ S.T

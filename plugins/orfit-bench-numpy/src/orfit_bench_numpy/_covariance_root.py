"""The Kalman filter in the square-root form: a lower triangular S with S S' = Sigma is transformed orthogonally.

Both steps triangularize an array of roots, so their backward error is a few eps whatever the condition of Sigma is, and
Sigma is never indefinite (Kailath, Sayed and Hassibi, Linear Estimation, 2000, chapter 12: the array algorithms).

Shapes: J (q, d) rows, E (q, r) errors, S (d, d), R (q, q), F and Q (d, d).
"""

from __future__ import annotations

import numpy as np

from orfit_bench.kernels.exact_observations import inverse_or_zero
from orfit_bench.kernels.guards import is_finite, is_singular, rounding_bound, solve_lower
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
    T, gain, S = after[:q, :q], after[q:, :q], after[q:, q:]  # K = gain T^-1
    if is_singular(p.observation_noise):
        move, S = learn_exactly(s, J, E, p, after)
    else:
        move = gain @ solve_lower(T, E)
    mean = s.mean + move
    if not is_finite(mean):
        return False
    s.mean[...] = mean
    set_root(s, S)
    return True


def learn_exactly(s: State, J: Array, E: Array, p: Params, after: Array) -> tuple[Array, Array]:
    """The change of the mean and the root S+ where T is singular: T+ for T^-1, and S+ keeps what T leaves.

    Where T turned by V has a column of rounding alone, (gain V) has there what is left of the variance, not a gain.
    """
    q = len(J)
    T, gain = after[:q, :q], after[q:, :q]
    size = np.sqrt((J * J) @ s.scale + np.diagonal(p.observation_noise))
    if not is_finite(size):
        return np.full_like(s.mean, np.nan), after[q:, q:]
    unit, limit = inverse_or_zero(size)[:, None], rounding_bound(s.root)
    W, values, V = np.linalg.svd(unit * T)
    unknown, turned = values > limit, gain @ V.T
    S = triangularize_columns(np.hstack([turned[:, ~unknown], after[q:, q:]]))
    if p.is_dynamic:  # the next transition replaces `scale`, so rounding must be removed now, as T^+ magnified it
        S = drop_known_directions(S, s.scale, limit / values[unknown].min(initial=1))
    return turned[:, unknown] @ (W[:, unknown].T @ (unit * E) / values[unknown, None]), S


def drop_known_directions(S: Array, scale: Array, max_deviation: float) -> Array:
    """S without the directions whose standard deviation relative to `scale` is at most `max_deviation`."""
    size = np.sqrt(scale)[:, None]
    U, values, _ = np.linalg.svd(inverse_or_zero(size) * S)
    return triangularize_columns(size * U * np.where(values > max_deviation, values, 0))


def set_root(s: State, S: Array) -> None:
    """Store a root, and the covariance S S', which predictions and the smoother read."""
    s.root[...] = S
    s.covariance[...] = S @ S.T

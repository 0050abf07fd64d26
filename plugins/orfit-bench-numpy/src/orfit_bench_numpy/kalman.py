"""Kalman filter, declared in `orfit_bench/catalogue/methods/kalman.py` (survey, Proposition 3).

| here                  | survey         | textbooks | meaning                                               |
| --------------------- | -------------- | --------- | ----------------------------------------------------- |
| `s.mean`              | theta_(t|t)    | x, m      | mean of the state (d, r), one column per output       |
| `s.covariance`        | Sigma_(t|t)    | P         | its covariance (d, d), the same for every output      |
| `s.scale`             |                |           | variances of the last transition, or the first ones   |
| `p.transition`        | A_t            | F         | transition of the state, from the second step on      |
| `p.process_noise`     | Q_t            | Q         | covariance added by a transition                      |
| `p.control`           |                | B u       | added to the mean by a transition                     |
| `J`, a row `x'`       | X_t' (q, d)    | H         | observation matrix                                    |
| `p.observation_noise` | R_t (q, q)     | R         | covariance of the observation noise                   |

In the functions P, F, Q and R are `s.covariance`, `p.transition`, `p.process_noise` and `p.observation_noise`.
`predict_step` is the survey's (KF, arrow down), `update` its (KF, arrow right). The smoother is in `_rts_smoother`.
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.exact_observations import exact_gain, judge_errors, remove_known_variances
from orfit_bench.kernels.filtering import (
    compared_variances,
    filter_step,
    limits_of,
    moved_scale,
    regained_covariance,
)
from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.kernels.guards import (
    DEGRADED,
    REFUSED,
    factor_covariance,
    is_finite,
    is_singular,
    solve_lower,
)
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel import Params, State
from orfit_bench_numpy._covariance_root import can_smooth, predict_root, update_root
from orfit_bench_numpy._fleet_filters import fleet_has_formulas, learn_filters
from orfit_bench_numpy._rts_smoother import rts_smooth
from orfit_bench_numpy._safe_rows import learn_safe_rows

__all__ = ["can_smooth", "learn", "predict_step", "rts_smooth", "step", "update"]


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Row after row: a prediction, from the second step on, and a correction, unless the row is missing (NaN)."""
    done, n = 0, len(X)
    plain = Y.shape[1] == 1 and p.control is None and not hasattr(s, "root")
    noise = np.broadcast_to(p.observation_noise.reshape(-1), n) if plain else None
    moving = np.append(np.flatnonzero(np.broadcast_to(np.any(p.is_dynamic, axis=-1), n)), n)
    while True:
        if noise is not None:  # rows before which the state does not move, by the formulas of a single row
            rows = slice(done, moving[np.searchsorted(moving, done)])
            predictions = None if out is None else out[rows, 0]
            done += learn_safe_rows(s.covariance, s.mean[:, 0], X[rows], Y[rows, 0], noise[rows], 1.0, predictions)
        if done == n:
            return n
        row = slice(done, done + 1)
        if not filter_step(s, X[row], Y[row], p.at(done), None if out is None else out[row], predict_step, update):
            return done
        done += 1


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """All rows of A as observations of one time step; a single row is learned as in a chunk, to the last bit."""
    if len(A) == 1:
        return learn(s, A, Y, p, None) == 1
    return filter_step(s, A, Y, p.at(0), None, predict_step, update)


def predict_step(s: State, mean: Array, p: Params) -> bool:
    """Prediction (KF, arrow down); the caller has computed the mean A theta, or that of a nonlinear transition."""
    if hasattr(s, "root"):
        return predict_root(s, mean, p)
    P, F, Q = s.covariance, p.transition, p.process_noise
    if F is not None:
        P = F @ P @ F.T  # A Sigma A'
        P = P / 2 + P.T / 2  # symmetric to the last bit, as Q is
    if Q is not None:
        P = P + Q
    if not is_finite(mean) or not is_finite(P):
        return False
    s.mean[...] = mean
    if p.is_dynamic:
        s.scale[...] = moved_scale(s.covariance, F, P)
        s.covariance[...] = P
        s.moved[...] = 1
    return True


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Correction (KF, arrow right) by rows J (q, d) with errors E = y - J theta (q, r)."""
    if hasattr(s, "root"):
        return update_root(s, J, E, p)
    P, R = s.covariance, p.observation_noise
    if is_singular(R):
        return update_exactly(s, J, E, p)
    S = J @ (U := P @ J.T) + R  # (q, q): S = R + X'Sigma X
    factor = factor_covariance(compared_variances(s, p), J, S, R, limits_of(p), regained_covariance(J, p))
    if factor is None:
        return False
    V = solve_lower(factor.L, U.T)  # (q, d): V = L^-1 X'Sigma for S = L L', so K = V' L^-1
    mean = s.mean + V.T @ solve_lower(factor.L, E)  # theta + K E with K = Sigma X S^-1
    if not is_finite(mean):
        return False
    s.mean[...] = mean
    P -= V.T @ V  # Sigma - K X'Sigma, symmetric to the last bit
    if factor.degraded:
        s.precision_lost[...] = 1
    return True


def update_exactly(s: State, J: Array, E: Array, p: Params) -> bool:
    """The same where R is singular, in Joseph's form: Sigma <- (I - K X')Sigma(I - K X')' + K R K'.

    In this form the errors of K enter squared.

    What is left of the variance of an exactly known direction is rounding, which later rows would divide by.
    """
    P, R = s.covariance, p.observation_noise
    # K (d, q) = Sigma X S^+ for S = R + X'Sigma X, H (k, q) with H S H' = I, and the least eigenvalue of S, scaled
    K, H, least = exact_gain(P, J, R, s.scale)
    mean = s.mean + K @ E
    verdict = judge_errors(s, H, J, E, p)
    if verdict == REFUSED or not is_finite(mean):
        return False
    s.mean[...] = mean
    P -= K @ (J @ P)  # (I - K X')Sigma
    P -= (P @ J.T - K @ R) @ K.T  # (I - K X')Sigma(I - K X')' + K R K'
    P[...] = P / 2 + P.T / 2  # symmetric to the last bit
    if remove_known_variances(P, s.scale, least, p.is_dynamic) or verdict == DEGRADED:
        s.precision_lost[...] = 1
    return True


learn_one_by_one = make_fleet_learn(learn)


def fleet_learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> Array:
    """All members at once; one after another with a root of Sigma, and where a row has no noise."""
    return (learn_filters if fleet_has_formulas(s, p) else learn_one_by_one)(s, X, Y, p, out)

"""Kalman filter, declared in `orfit_bench/catalogue/methods/kalman.py` (survey, Proposition 3).

| code   | field or parameter    | survey      | textbooks | meaning                                              |
| ------ | --------------------- | ----------- | --------- | ---------------------------------------------------- |
| `mean` | `s.mean`              | theta_(t|t) | x, m      | mean of the state (d, r), one column per output      |
| `P`    | `s.covariance`        | Sigma_(t|t) | P         | its covariance (d, d), the same for every output     |
|        | `s.scale`             |             |           | variances to which rounding is relative              |
| `F`    | `p.transition`        | A_t         | F         | transition of the state, from the second step        |
| `Q`    | `p.process_noise`     | Q_t         | Q         | covariance added by a transition                     |
|        | `p.control`           |             | B u       | added to the mean by a transition                    |
| `J`    | rows x' (q, d)        | X_t'        | H         | observation matrix                                   |
| `R`    | `p.observation_noise` | R_t         | R         | covariance of the observation noise (q, q)           |
| `E`    | y - J mean            |             |           | errors of the predictions (q, r)                     |
| `S`    | J P J' + R            |             | S         | covariance of the errors (q, q)                      |
| `K`    | P J' S^-1             | K_t         | K         | gain (d, q)                                          |

`predict_step` is (KF, arrow down) in the survey, `update` is (KF, arrow right). The smoother is in `_rts_smoother`.
"""

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
from orfit_bench.spec.kernel_arguments import FilterParams, FleetParams, State
from orfit_bench_numpy._covariance_root import can_smooth, predict_root, update_root
from orfit_bench_numpy._fleet_filters import fleet_has_formulas, learn_filters
from orfit_bench_numpy._rts_smoother import rts_smooth
from orfit_bench_numpy._safe_rows import learn_safe_rows

__all__ = ["can_smooth", "learn", "predict_step", "rts_smooth", "step", "update"]


def learn(s: State, X: Array, Y: Array, p: FilterParams, out: Array | None) -> int:
    """Learn row by row: predict, from the second step on, and correct unless the row is missing (NaN)."""
    done, n = 0, len(X)
    plain = Y.shape[1] == 1 and p.control is None and not hasattr(s, "root")
    noise = np.broadcast_to(p.observation_noise.reshape(-1), n) if plain else None
    moving = np.append(np.flatnonzero(np.broadcast_to(np.any(p.is_dynamic, axis=-1), n)), n)
    while True:
        if noise is not None:  # learn the rows up to the next move of the state by the formulas for single rows
            rows = slice(done, moving[np.searchsorted(moving, done)])
            predictions = None if out is None else out[rows, 0]
            done += learn_safe_rows(s.covariance, s.mean[:, 0], X[rows], Y[rows, 0], noise[rows], 1.0, predictions)
        if done == n:
            return n
        row = slice(done, done + 1)
        if not filter_step(s, X[row], Y[row], p.at(done), None if out is None else out[row], predict_step, update):
            return done
        done += 1


def step(s: State, A: Array, Y: Array, p: FilterParams) -> bool:
    """Learn all rows of A as observations of one time step; a single row gives the same bits as in a chunk."""
    if len(A) == 1:
        return learn(s, A, Y, p, None) == 1
    return filter_step(s, A, Y, p.at(0), None, predict_step, update)


def predict_step(s: State, mean: Array, p: FilterParams) -> bool:
    """Prediction, P <- F P F' + Q (survey, KF, arrow down).

    The caller has computed the new `mean`: F mean, or the value of a nonlinear transition.
    """
    if hasattr(s, "root"):
        return predict_root(s, mean, p)
    P, F, Q = s.covariance, p.transition, p.process_noise
    if F is not None:
        P = F @ P @ F.T
        P = P / 2 + P.T / 2  # exactly symmetric, like Q
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


def update(s: State, J: Array, E: Array, p: FilterParams) -> bool:
    """Correction, mean <- mean + K E and P <- P - K J P with K = P J' S^-1 (survey, KF, arrow right)."""
    if hasattr(s, "root"):
        return update_root(s, J, E, p)
    P, R = s.covariance, p.observation_noise
    if is_singular(R):
        return update_exactly(s, J, E, p)
    S = J @ (U := P @ J.T) + R  # (q, q): S = J P J' + R
    factor = factor_covariance(compared_variances(s, p), J, S, R, limits_of(p), regained_covariance(J, p))
    if factor is None:
        return False
    V = solve_lower(factor.L, U.T)  # (q, d): V = L^-1 J P for S = L L', so K = V' L^-1
    mean = s.mean + V.T @ solve_lower(factor.L, E)  # mean + K E
    if not is_finite(mean):
        return False
    s.mean[...] = mean
    P -= V.T @ V  # P - K J P, exactly symmetric
    if factor.degraded:
        s.precision_lost[...] = 1
    return True


def update_exactly(s: State, J: Array, E: Array, p: FilterParams) -> bool:
    """Correction for singular R in Joseph form, P <- (I - K J) P (I - K J)' + K R K'.

    In this form errors of K enter only squared. A direction that becomes known exactly keeps a variance of pure
    rounding; it is set to zero so that later rows do not divide by it.
    """
    P, R = s.covariance, p.observation_noise
    # K (d, q) = P J' S^+ for S = J P J' + R, H (k, q) with H S H' = I, and the smallest eigenvalue of the scaled S
    K, H, least = exact_gain(P, J, R, s.scale)
    mean = s.mean + K @ E
    verdict = judge_errors(s, H, J, E, p)
    if verdict == REFUSED or not is_finite(mean):
        return False
    s.mean[...] = mean
    P -= K @ (J @ P)  # (I - K J) P
    P -= (P @ J.T - K @ R) @ K.T  # (I - K J) P (I - K J)' + K R K'
    P[...] = P / 2 + P.T / 2  # exactly symmetric
    if remove_known_variances(P, s.scale, least, p.is_dynamic) or verdict == DEGRADED:
        s.precision_lost[...] = 1
    return True


learn_one_by_one = make_fleet_learn(learn)


def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Array:
    """Learn all members at once; or in a loop if they store a root of P or a row has no noise."""
    return (learn_filters if fleet_has_formulas(s, p) else learn_one_by_one)(s, X, Y, p, out)

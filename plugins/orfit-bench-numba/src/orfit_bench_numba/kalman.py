"""Kalman filter (survey, Proposition 3) and Rauch-Tung-Striebel smoother (survey, Theorem 7, with A_j in the gain).

| field or parameter    | survey         | textbooks | meaning                                               |
| --------------------- | -------------- | --------- | ----------------------------------------------------- |
| `s.mean`              | theta_(t|t)    | x, m      | mean of the state, one column per output              |
| `s.covariance`        | Sigma_(t|t)    | P         | its covariance, the same for every output             |
| `s.scale`             |                |           | variances to which rounding is relative               |
| `p.transition`        | A_t            | F         | transition of the state, from the second step         |
| `p.process_noise`     | Q_t            | Q         | covariance added by a transition                      |
| `p.control`           |                | B u       | added to the mean by a transition                     |
| `J`, a row `x'`       | X_t' (q, p)    | H         | observation matrix                                    |
| `p.observation_noise` | R_t (q, q)     | R         | covariance of the observation noise                   |

Rows with noise are learned together: for a state at rest as in rls without forgetting, for a moving state by
`_kalman_rows`, and in the square-root form by `_covariance_root`. Rows without noise are learned one by one, by
`_exact_observations`, or in the square-root form by the reference, as are large moving states, whose QR factorizations
in LAPACK take most of the time. The smoother is in `_smoother`.
"""

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.kernels import filtering
from orfit_bench.kernels.filtering import compared_variances, limits_of, moved_scale, regained_covariance
from orfit_bench.kernels.guards import NO_LIMITS, is_finite, is_singular
from orfit_bench.kernels.threads import MIN_OPERATIONS, limit_blas_threads
from orfit_bench.spec.kernel_arguments import FilterParams, State
from orfit_bench_numba._arrays import Array, BoundRow, BoundRows
from orfit_bench_numba._covariance import learn_rows, learn_step
from orfit_bench_numba._covariance_row import learn_number
from orfit_bench_numba._exact_observations import learn_exactly
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._kalman_fleets import make_kalman_fleet_learn
from orfit_bench_numba._kalman_rows import learn_moving_row, learn_moving_rows
from orfit_bench_numba._motion import collect_motion, is_by_matrix, select_rows, split_vectors_matrices
from orfit_bench_numba._moving_state import predict_covariance
from orfit_bench_numba._root_filter import bind_root, can_learn_roots, learn_roots
from orfit_bench_numba._smoother import rts_smooth
from orfit_bench_numpy import kalman as reference
from orfit_bench_numpy.kalman import can_smooth

__all__ = [
    "bind_row",
    "bind_rows",
    "can_smooth",
    "fleet_learn",
    "learn",
    "predict_step",
    "record_rows",
    "rts_smooth",
    "step",
    "update",
]


def learn(s: State, X: Array, Y: Array, p: FilterParams, out: Array | None) -> int:
    """Learn row by row; rows with noise are learned together."""
    noise = noise_of_rows(p, len(X))
    exact = (noise == 0) & ~np.isnan(Y).any(axis=1)
    starts = [0, *(np.flatnonzero(exact[1:] != exact[:-1]) + 1).tolist()]
    for begin, end in zip(starts, [*starts[1:], len(X)], strict=True):
        part = slice(begin, end)
        predictions = None if out is None else out[part]
        if begin < end and exact[begin]:
            moves = p.is_dynamic.any(axis=-1)
            if p.control is not None:
                moves = moves | p.control.any(axis=(1, 2))
            if np.broadcast_to(moves, len(X))[p.t == 1 : begin].any():
                s.moved[...] = 1  # by earlier rows
            learned = learn_one_by_one(s, X[part], Y[part], p, begin, predictions)
        else:
            learned = learn_noisy_rows(s, X[part], Y[part], noise[part], p, begin, predictions)
        if learned < end - begin:
            return begin + learned
    return len(X)


def bind_row(s: State, p: FilterParams) -> BoundRow | None:
    """A function that learns one row with one output; None without noise, with a control or a large moving root."""
    if not can_bind(s, p):
        return None
    if hasattr(s, "root"):
        return bind_root(s, p)
    if not p.is_dynamic.any():
        return bind_row_at_rest(s, p)
    W, P, noise = s.mean.reshape(1, -1), s.covariance, float(p.observation_noise[0])
    entry, (has_transition, has_noise) = learn_moving_row.entry_point(P.dtype), map(bool, p.is_dynamic[0])
    f, F = split_vectors_matrices(p.transition, slice(0, 1), P.dtype)
    q, Q = split_vectors_matrices(p.process_noise, slice(0, 1), P.dtype)
    learn_row: BoundRow = partial(
        entry, P, W, noise, f, F, q, Q, has_transition, has_noise, s.scale, s.precision_lost.reshape(1)
    )
    operations = 3.0 * len(P) ** 3 * (F.size > 0 or Q.size > 0)
    if operations < MIN_OPERATIONS:
        return learn_row

    def learn_large_row(x: Array, y: float) -> int:
        with limit_blas_threads(operations, len(P)):
            return learn_row(x, y)

    return learn_large_row


def bind_row_at_rest(s: State, p: FilterParams) -> BoundRow:
    """A function that learns one row with one output for a state that does not move."""
    P, noise = s.covariance, float(p.observation_noise[0])
    entry = learn_number.entry_point(P.dtype)
    return partial(entry, P, s.mean.reshape(1, -1), noise, *NO_LIMITS, s.precision_lost.reshape(1))


def bind_rows(s: State, p: FilterParams) -> BoundRows | None:
    """A function that learns rows with one output; None as for `bind_row`."""
    return partial(learn_numbers, s, p) if can_bind(s, p) else None


def can_bind(s: State, p: FilterParams) -> bool:
    """Whether rows have noise, and there is neither a control nor a root that moves by LAPACK."""
    return bool(p.observation_noise[0] != 0) and p.control is None and (can_learn_roots(s, p) or not hasattr(s, "root"))


def learn_numbers(s: State, p: FilterParams, X: Array, y: Array, out: Array) -> int:
    """Learn rows with one output, not the very first; NOT_FINITE, and nothing is changed, if a number is not finite."""
    with np.errstate(all="ignore"):  # a bound function is called without
        if not (is_finite(X) and is_finite(y)):
            return NOT_FINITE
        noise = np.full(len(X), p.observation_noise[0])
        return learn_noisy_rows(s, X, y[:, None], noise, p, 1, out[:, None] if len(out) else None)


def learn_one_by_one(s: State, X: Array, Y: Array, p: FilterParams, begin: int, out: Array | None) -> int:
    """Learn each row as a time step, starting at row `begin` of this chunk."""
    for i in range(len(X)):
        row = slice(i, i + 1)
        if not filter_step(s, X[row], Y[row], p.at(begin + i), None if out is None else out[row]):
            return i
    return len(X)


def no_records(dtype: Any) -> tuple[Array, Array, Array, Array]:
    """Empty records."""
    none = np.empty((0, 0, 0), dtype)
    return none, none, none, none


def record_rows(s: State, X: Array, Y: Array, p: FilterParams, records: tuple[Array, Array, Array, Array]) -> int:
    """Learn rows and record the moments (m_pred, P_pred, m, P) of each; returns how many, or 0 if it cannot."""
    noise = noise_of_rows(p, len(X))
    can_record = len(X) and noise.all() and not hasattr(s, "root")
    return learn_noisy_rows(s, X, Y, noise, p, 0, None, records) if can_record else 0


def learn_noisy_rows(
    s: State,
    X: Array,
    Y: Array,
    noise: Array,
    p: FilterParams,
    begin: int,
    out: Array | None,
    records: tuple[Array, Array, Array, Array] | None = None,
) -> int:
    """Learn rows with these noises, starting at row `begin` of this chunk."""
    part = slice(begin, begin + len(X))
    if hasattr(s, "root"):
        if can_learn_roots(s, p):
            return learn_roots(s, X, Y, noise, p, begin, out)
        return learn_one_by_one(s, X, Y, p, begin, out)
    moves = select_rows(p.is_dynamic, part)
    if not moves.any() and p.control is None and records is None:
        if len(X) == 1 and Y.shape[1] == 1 and not np.isnan(Y[0, 0]):
            if out is not None:
                np.dot(X, s.mean, out)
            return bind_row_at_rest(s, p._replace(observation_noise=noise))(X[0], float(Y[0, 0]))
        return learn_rows(s.covariance, s.mean, X, Y, noise, s.precision_lost, out)
    W = np.ascontiguousarray(s.mean.T)  # the mean itself if it has one column
    motion = collect_motion(p, part, W)
    predictions = np.empty((0, Y.shape[1]), X.dtype) if out is None else out
    n_before, degraded = p.t - 1 + begin, s.precision_lost.reshape(1)
    records = records or no_records(X.dtype)
    d = len(W.T)
    with limit_blas_threads(3.0 * len(X) * d**3 if is_by_matrix(motion) else 0, d):
        learned = learn_moving_rows(
            s.covariance,
            W,
            X,
            Y,
            noise,
            motion,
            n_before,
            s.scale,
            degraded,
            predictions,
            records,
        )
    s.mean[...] = W.T
    return int(learned)


def noise_of_rows(p: FilterParams, n: int) -> Array:
    """The observation noise of each of n rows."""
    noise: Array = p.observation_noise.reshape(-1)
    return noise if len(noise) == n else np.full(n, noise[0])


def step(s: State, A: Array, Y: Array, p: FilterParams) -> bool:
    """Learn all rows of A as observations at one time step."""
    return filter_step(s, A, Y, p.at(0), None)


def filter_step(s: State, A: Array, Y: Array, p: FilterParams, out: Array | None) -> bool:
    """Predict, from the second step on, and correct by the rows of A that are not missing; if refused, do neither."""
    return filtering.filter_step(s, A, Y, p, out, predict_step, update)


def predict_step(s: State, mean: Array, p: FilterParams) -> bool:
    """Prediction: P <- F P F' + Q; `mean` is F mean or that of a nonlinear transition (survey, KF, arrow down)."""
    if hasattr(s, "root"):
        return reference.predict_step(s, mean, p)
    P = np.empty_like(s.covariance)
    nothing = np.empty((0, 0), P.dtype)
    F, Q = (nothing if M is None else np.ascontiguousarray(M) for M in (p.transition, p.process_noise))
    predict_covariance(P, s.covariance, F, Q)
    if not (np.isfinite(mean).all() and np.isfinite(P).all()):
        return False
    s.mean[...] = mean
    if p.is_dynamic:
        s.scale[...] = moved_scale(s.covariance, p.transition, P)
        s.covariance[...] = P
        s.moved[...] = 1
    return True


def update(s: State, J: Array, E: Array, p: FilterParams) -> bool:
    """Correction: mean <- mean + K E, P <- P - K J P with K = P J'(J P J' + R)^-1 (survey, KF, arrow right)."""
    if hasattr(s, "root"):
        return reference.update(s, J, E, p)
    R = p.observation_noise
    if is_singular(R):
        return learn_exactly(s, J, E, p)
    given = s.covariance, s.mean, J, E, R, s.precision_lost, limits_of(p), regained_covariance(J, p)
    return learn_step(*given, compared_variances(s, p))


fleet_learn = make_kalman_fleet_learn(learn, collect_motion, no_records)

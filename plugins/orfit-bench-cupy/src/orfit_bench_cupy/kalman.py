"""Kalman filter (survey, Proposition 3) and Rauch-Tung-Striebel smoother (survey, Theorem 7, with A_j in the gain).

Rows for a state at rest are learned as in rls. Each row of a moving state takes a fixed number of products of d x d
matrices, and so does each step of the smoother. Rows with few features, and rows without noise, are learned in host
memory, with one transfer per chunk.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.kernels.filtering import limits_of
from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.kernels.guards import is_singular
from orfit_bench.spec.kernel_arguments import FilterParams, State
from orfit_bench_cupy._block_rls import MIN_FEATURES, learn_on_host, learn_rows
from orfit_bench_cupy._covariance import learn_step
from orfit_bench_cupy._fleet_information import learn_filters
from orfit_bench_cupy._smoother import smooth
from orfit_bench_cupy._transfers import Array, Host, fetch, is_finite, run_on_host
from orfit_bench_numba import kalman

__all__ = ["fleet_learn", "learn", "predict_step", "rts_smooth", "step", "update"]
LACKS = {"form=square_root": "it needs a QR factorization a row; numpy has the form"}


def learn(s: State, X: Array, Y: Array, p: FilterParams, out: Array | None) -> int:
    """Learn row by row."""
    noise = np.resize(fetch(p.observation_noise)[0], len(X))
    if not p.is_dynamic.any() and p.control is None and (noise > 0).all():
        return learn_rows(s, s.covariance, s.mean, X, Y, noise, host_parameters(p, noise), out, kalman)
    if len(s.covariance) < MIN_FEATURES or (noise == 0).any():
        return learn_on_host(s, X, Y, noise, host_parameters(p, noise), out, kalman)
    seen = ~np.isnan(fetch(Y)[0])
    for i in range(len(X)):
        row = slice(i, i + 1)
        here = row_parameters(p, i, noise[row, None])
        if not filter_step(s, X[row], Y[row], here, seen[row], None if out is None else out[row]):
            return i
    return len(X)


def row_parameters(p: Any, i: int, noise: Host) -> Any:
    """The parameters of a row observed with this noise; numbers and diagonals are kept."""
    F, Q, (has_transition, has_process_noise) = p.transition, p.process_noise, p.is_dynamic[i % len(p.is_dynamic)]
    return p._replace(
        transition=F[i % len(F)] if has_transition else None,
        process_noise=Q[i % len(Q)] if has_process_noise else None,
        observation_noise=noise,
        is_dynamic=bool(has_transition or has_process_noise),
        t=p.t + i,
        single=True,
        control=None if p.control is None else p.control[i],
    )


def host_parameters(p: Any, noise: Host) -> Any:
    """p with its matrices in host memory, for rows observed with this noise."""
    names = [n for n in ("transition", "process_noise", "control") if hasattr(getattr(p, n), "__array_namespace__")]
    return p._replace(observation_noise=noise, **{n: fetch(getattr(p, n))[0] for n in names})


def step(s: State, A: Array, Y: Array, p: FilterParams) -> bool:
    """Learn all rows of A as observations at one time step."""
    return filter_step(s, A, Y, p.at(0), ~np.isnan(fetch(Y)[0]), None)


def filter_step(s: State, A: Array, Y: Array, p: FilterParams, seen: Host, out: Array | None) -> bool:
    """Predict, from the second step on, and correct by the rows of A that are not missing; if refused, do neither."""
    moves = (p.is_dynamic or p.control is not None) and p.t > 1
    before = [a.copy() for a in s] if moves else []
    mean = apply_transition(s.mean, p.transition) if moves else s.mean
    if moves and not predict_step(s, mean if p.control is None else mean + p.control, p):
        return False
    f, found = A @ s.mean, np.flatnonzero(seen.all(axis=1))
    if out is not None:
        out[...] = f
    E = Y - f
    if len(found) < len(A):
        i, R = A.__array_namespace__().asarray(found), p.observation_noise
        A, E, p = A[i], E[i], p._replace(observation_noise=R[found][:, found] if type(R) is np.ndarray else R[i][:, i])
    if not len(found) or update(s, A, E, p):
        return True
    for a, kept in zip(s, before, strict=False):
        a[...] = kept
    return False


def apply_transition(mean: Array, F: Array | None) -> Array:
    """The mean F theta, where F is a matrix, a diagonal or a number."""
    if F is None:
        return mean
    return F @ mean if F.ndim == 2 else (F * mean.T).T


def predict_step(s: State, mean: Array, p: FilterParams) -> bool:
    """Prediction: P <- F P F' + Q; `mean` is F mean or that of a nonlinear transition (survey, KF, arrow down)."""
    P, F, Q = s.covariance, p.transition, p.process_noise
    if F is not None:
        P = apply_transition(apply_transition(P, F).T, F)
        P = P / 2 + P.T / 2  # exactly symmetric, like Q
    if Q is not None:
        P = P + (Q if Q.ndim == 2 else Q * P.__array_namespace__().eye(len(P), dtype=P.dtype))
    if not is_finite(mean, P):
        return False
    s.mean[...] = mean
    if p.is_dynamic:
        s.scale[...] = moved_scale(s.covariance, F, P)
        s.covariance[...] = P
    return True


def moved_scale(P: Array, F: Array | None, predicted: Array) -> Array:
    """The variances (d,) for measuring rounding: the predicted ones, or those of the terms of F P F'."""
    if F is None or F.ndim < 2:
        return predicted.diagonal()
    xp = P.__array_namespace__()
    return xp.maximum(predicted.diagonal(), (F * F) @ P.diagonal())


def update(s: State, J: Array, E: Array, p: FilterParams) -> bool:
    """Correction: mean <- mean + K E, P <- P - K J P with K = P J'(J P J' + R)^-1 (survey, KF, arrow right)."""
    R = p.observation_noise
    if type(R) is not np.ndarray:
        R = fetch(R)[0]
    if is_singular(R):  # rows without noise
        here = host_parameters(p, R)
        return bool(run_on_host(s, lambda t, j, e: kalman.update(t, j, e, here), J, E))
    given = s.covariance, s.mean, J, E, R, s.precision_lost, limits_of(p), regained_covariance(J, p)
    return learn_step(*given, s.scale if p.is_dynamic and p.t > 1 else None)


def regained_covariance(J: Array, p: FilterParams) -> Any:
    """The covariance J Q J' that the process noise adds along the rows before the next step."""
    Q = p.process_noise
    return None if Q is None else (J @ Q if Q.ndim == 2 else J * Q) @ J.T


def rts_smooth(
    F: Sequence[Array],
    m_pred: Array,
    P_pred: Array,
    m: Array,
    P: Array,
    Q: Sequence[Array | None] | None = None,
    scale: Array | None = None,
) -> float:
    """Compute m[j - 1] += L (m[j] - m_pred[j]), and P likewise, from the last step j backwards.

    `scale` is None, since this backend has no filter with a root.
    """
    if not len(F):
        return 0.0
    if P.shape[1] >= MIN_FEATURES:
        return smooth(F, m_pred, P_pred, m, P, Q)
    means, covariances, mean, covariance = fetch(m_pred, P_pred, m, P)
    mean, covariance = mean.copy(), covariance.copy()
    noises: list[Any] = [None if q is None else fetch(q)[0] for q in Q or [None] * len(F)]
    error = kalman.rts_smooth([fetch(f)[0] for f in F], means, covariances, mean, covariance, noises)
    for a, new in ((m, mean), (P, covariance)):
        a[...] = a.__array_namespace__().asarray(new)
    return error


def learn_member(s: State, X: Host, Y: Host, p: FilterParams, out: Host | None) -> int:
    """Learn rows of one member of a fleet in host memory."""
    return int(kalman.learn(s, X, Y, host_parameters(p, np.resize(fetch(p.observation_noise)[0], len(X))), out))


fleet_learn = partial(learn_filters, make_fleet_learn(learn_member))

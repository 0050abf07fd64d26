"""Kalman filter (survey, Proposition 3) and Rauch-Tung-Striebel smoother (survey, Theorem 7, with A_j in the gain).

here              survey                 textbooks   what it is
s.mean            theta_(t|t)            x, m        mean of the state, one column an output
s.covariance      Sigma_(t|t)            P           its covariance, the same for every output
s.scale                                              its diagonal when the state last moved, or at the start
p.transition      A_t                    F           how the state moves, from the second step on
p.process_noise   Q_t                    Q           what is then added to its covariance
J, a row x'       X_t' (q, p)            H           how it is observed
p.observation_noise R_t (q, q)           R           covariance of the observations' noise
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import pinvh

from orfit_bench_numpy._algebra import Array, finite
from orfit_bench_numpy._covariance import change, noiseless_gain, rounding, singular


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """One row after another."""
    for i in range(len(X)):
        if not filter_step(s, X[i : i + 1], Y[i : i + 1], p.at(i), None if out is None else out[i : i + 1]):
            return i
    return len(X)


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as observations of one moment."""
    return filter_step(s, A, Y, p.at(0), None)


def filter_step(s: Any, A: Array, Y: Array, p: Any, out: Array | None) -> bool:
    """Prediction, from the second step on, and correction by the rows of A that were seen; or neither."""
    moves = p.is_dynamic and p.t > 1
    before = [a.copy() for a in s] if moves else []
    if moves and not predict_step(s, s.mean if p.transition is None else p.transition @ s.mean, p):
        return False
    f = A @ s.mean
    if out is not None:
        out[...] = f
    seen = ~np.isnan(Y).any(axis=1)
    R = p.observation_noise[seen][:, seen]
    if not seen.any() or update(s, A[seen], Y[seen] - f[seen], p._replace(observation_noise=R)):
        return True
    for a, kept in zip(s, before, strict=False):
        a[...] = kept
    return False


def predict_step(s: Any, mean: Array, p: Any) -> bool:
    """theta <- A theta (or another mean, from a nonlinear transition),  Sigma <- A Sigma A' + Q."""
    P, F, Q = s.covariance, p.transition, p.process_noise
    if F is not None:
        P = F @ P @ F.T
        P = P / 2 + P.T / 2  # symmetric to the last bit, as Q is
    if Q is not None:
        P = P + Q
    if not finite(mean) or not finite(P):
        return False
    s.mean[...], s.covariance[...], s.scale[...] = mean, P, np.diagonal(P)
    return True


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """theta <- theta + K E,  Sigma <- Sigma - K X'Sigma  with K = Sigma X (R + X'Sigma X)^-1, X' = J."""
    P, R = s.covariance, p.observation_noise
    if singular(R):
        return learn_exactly(s, J, E, p)
    least = 1.0 if p.transition is None else 0.01  # a transition may grow what is wrong, as forgetting does
    changed = change(P, J, E, R, renewed(J, p), least)
    if changed is None or not finite(mean := s.mean + changed.move):
        return False
    if changed.lost:
        s.precision_lost[...] = 1
    s.mean[...] = mean
    P -= changed.V.T @ changed.V  # symmetric to the last bit, so P is
    return True


def learn_exactly(s: Any, J: Array, E: Array, p: Any) -> bool:
    """The same where R is singular: Sigma <- (I - K X')Sigma(I - K X')' + K R K', of which an error of K is squared.

    What is left of a variance that is known exactly is rounding, which the next rows would divide by.
    """
    P, R = s.covariance, p.observation_noise
    K, least = noiseless_gain(P, J, R, s.scale)
    if not finite(mean := s.mean + K @ E):
        return False
    s.mean[...] = mean
    P -= K @ (J @ P)
    P -= (P @ J.T - K @ R) @ K.T
    P[...] = P / 2 + P.T / 2  # symmetric to the last bit
    known = np.diagonal(P) <= rounding(P) * s.scale
    P[known], P[:, known] = 0, 0
    if p.is_dynamic:  # which forgets `scale`, beside which the other directions' rounding is known for what it is
        P[...] = above(rounding(P) / least, P, s.scale)  # as I - K X' magnifies it
    return True


def above(least: float, P: Array, scale: Array) -> Array:
    """P without the directions whose variance is at most `least` of what it was when the diagonal was `scale`."""
    size = np.sqrt(np.maximum(scale, 0))
    unit = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    values, W = np.linalg.eigh(unit[:, None] * P * unit)
    new = values > least
    half = (W[:, new] * np.sqrt(values[new])).T * size
    left: Array = half.T @ half  # symmetric to the last bit
    return left


def renewed(J: Array, p: Any) -> Any:
    """The variance that each row's direction has again after the next prediction: a transition brings others there."""
    if p.transition is not None:
        return np.inf
    return 0.0 if p.process_noise is None else ((J @ p.process_noise) * J).sum(axis=1)


def rts_smooth(F: Sequence[Array], m_pred: Array, P_pred: Array, m: Array, P: Array) -> None:
    """theta_(j-1|n) = theta_(j-1|j-1) + L (theta_(j|n) - theta_(j|j-1)), and Sigma likewise, from the last j back.

    With L = Sigma_(j-1|j-1) A_j' Sigma_(j|j-1)^-1.
    """
    rests = [j > 0 and at_rest(F[j], P_pred[j], P[j - 1]) for j in range(len(F))]
    moved = [j for j in range(len(F)) if not rests[j]]
    scale = np.diagonal(P_pred, axis1=1, axis2=2)[moved][np.cumsum(np.logical_not(rests)) - 1]  # s.scale of the filter
    for j in range(len(F) - 1, 0, -1):
        if rests[j]:  # the same state, so what is known of it is the same
            m[j - 1], P[j - 1] = m[j], P[j]
            continue
        L = solved(P_pred[j], F[j] @ P[j - 1], (F[j] * F[j]) @ np.abs(scale[j - 1])).T
        m[j - 1] += L @ (m[j] - m_pred[j])
        S = P[j - 1] + L @ (P[j] - P_pred[j]) @ L.T
        P[j - 1] = S / 2 + S.T / 2


def at_rest(F: Array, P_pred: Array, P: Array) -> bool:
    """Whether the state did not move to this step, and nothing was added to its covariance."""
    return np.array_equal(P_pred, P) and np.array_equal(F, np.eye(len(F)))


def solved(P: Array, B: Array, scale: Array) -> Array:
    """P^-1 B, or P^+ B where some direction is known exactly: a variance that is but rounding counts as none.

    Rounding beside the larger of P's diagonal and `scale`, variances of which P is a sum and a difference.
    """
    size = np.sqrt(np.maximum(np.diagonal(P), scale))
    unit = np.divide(1, size, out=np.zeros_like(size), where=size > 0)[:, None]
    X: Array = pinvh(unit * P * unit.T, atol=rounding(P), rtol=0, check_finite=False) @ (unit * B)
    X *= unit
    return X

"""Laws of the smoother of the Kalman filter, against joint normal distributions conditioned on all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition
from orfit_bench.catalogue.laws.state_space import make_state_space, random_spd, to_float32
from orfit_bench.spec.law import Measured, Rows, deviation, nan_max


def smoothed_mean_and_covariance(create: Any, rows: Rows) -> Measured:
    """The smoothed moments of every state are those given all rows; the gain uses the transition to that state."""
    world = make_state_space(rows, 40)
    found = create(**world.start()).smooth(world.X, world.y, **world.varying(slice(None)))
    want = world.states(40)
    covariances = np.stack([want.of(i)[1] for i in range(40)])
    worst = nan_max(deviation(found["mean"].values, want.mean), deviation(found["covariance"].values, covariances))
    return Measured(worst, 40, want.condition)


def smoothed_random_walk(create: Any, rows: Rows) -> Measured:
    """The smoothed moments of a random walk with many missing observations are those given all rows."""
    world, n, d = make_state_space(rows, 24), 24, rows.X.shape[1]
    y = np.where(np.arange(n) % 4 == 0, rows.y[:n], np.nan)
    Q, R = world.process_noise[0], to_float32(np.asarray(world.observation_noise[0]))
    fixed = (np.tile(a, (n, *(1,) * a.ndim)) for a in (np.eye(d), Q, R))
    still = world._replace(y=y, **dict(zip(("transition", "process_noise", "observation_noise"), fixed, strict=True)))
    found = create(process_noise=Q, observation_noise=R, **world.start()).smooth(world.X, y)
    want = still.states(n)
    covariances = np.stack([want.of(i)[1] for i in range(n)])
    worst = nan_max(deviation(found["mean"].values, want.mean), deviation(found["covariance"].values, covariances))
    return Measured(worst, n, want.condition)


def smoothing_shrinks_covariance(create: Any, rows: Rows) -> Measured:
    """Every additional row shrinks the covariance of every earlier state: Sigma_(i|t) <= Sigma_(i|s), i <= s <= t."""
    world, n = make_state_space(rows, 12), 12
    smoothed = [
        create(**world.start()).smooth(world.X[:t], world.y[:t], **world.varying(slice(t)))["covariance"].values
        for t in range(1, n + 1)
    ]
    worst = 0.0
    for t in range(n):
        for s in range(t + 1):
            growth = np.linalg.eigvalsh(smoothed[t][: s + 1] - smoothed[s]).max(axis=-1)
            worst = nan_max(worst, *(growth / np.linalg.norm(smoothed[s], 2, axis=(1, 2))))
    want = world.states(n)  # and shrunk by exactly the information of the rows
    worst = nan_max(worst, *(deviation(smoothed[-1][i], want.of(i)[1]) for i in range(n)))
    return Measured(worst, n, want.condition)


def smoothing_keeps_exact_directions(create: Any, rows: Rows) -> Measured:
    """Exactly known directions stay exact, and a constant state has the same smoothed moments at all steps."""
    X, y = rows.X[:20] / np.linalg.norm(rows.X[:20], axis=1, keepdims=True), rows.y[:20] / abs(rows.y[:20]).max()
    known = np.arange(X.shape[1]) % 3 == 0
    mean, P = np.where(known, 0.3, 0.0), np.diag(np.where(known, 0.0, 2.0))
    found = create(initial_mean=mean, initial_covariance=P, transition=np.eye(len(P))).smooth(X, y)
    A = np.vstack([X[:, ~known], np.eye((~known).sum()) / np.sqrt(2.0)])
    b = np.concatenate([y - X @ mean, np.zeros((~known).sum())])
    w, S = mean.copy(), np.zeros_like(P)
    w[~known] += np.linalg.lstsq(A, b, rcond=None)[0]
    S[np.ix_(~known, ~known)] = np.linalg.inv(A.T @ A)
    means, covariances = found["mean"].values[:, :, 0], found["covariance"].values
    worst = nan_max(*(deviation(m, w) for m in means), *(deviation(C, S) for C in covariances))
    return Measured(worst, len(X), float(np.linalg.cond(A)))


def noise_free_smoothing(create: Any, rows: Rows) -> Measured:
    """Enough noise-free rows of a state without process noise determine the state at every step exactly."""
    rng, n, d, found = np.random.default_rng(rows.seed), 12, 5, list[Measured]()
    for k in range(20):
        X, w, P = to_float32(rng.standard_normal((n, d))), rng.standard_normal(d), to_float32(random_spd(rng, d))
        F = to_float32(np.linalg.qr(rng.standard_normal((d, d)))[0]) if k % 2 else np.eye(d)
        want = np.stack([np.linalg.matrix_power(F, i) @ w for i in range(n)])
        smoothed = create(observation_noise=0.0, transition=F, initial_covariance=P).smooth(X, (X * want).sum(axis=1))
        left = float(abs(smoothed["covariance"].values).max())
        worst = nan_max(deviation(smoothed["mean"].values[:, :, 0], want), left)
        pulled = [x @ np.linalg.matrix_power(F, i) for i, x in enumerate(X[:d])]  # in coordinates of the first state
        found.append(Measured(worst, n, condition(np.array(pulled)) ** 2 * condition(P)))  # P squares the condition
    best = sorted(found, key=lambda one: one.condition)[: len(found) // 2]
    return Measured(nan_max(*(one.deviation for one in best)), n, best[-1].condition)

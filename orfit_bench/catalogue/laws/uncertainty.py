"""Laws of predictive distributions: Bayesian linear regression, the chain rule, forecasts of a moving state."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, weakest_energy
from orfit_bench.catalogue.laws.state_space import make_state_space
from orfit_bench.catalogue.shared.gaussian_states import joint_prior
from orfit_bench.catalogue.shared.least_squares import information_rows, invert_information, solve_ridge
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max, to_numpy64

FACTORS = (0.97, 1.0, 1.02)


def _posterior(X: Array, y: Array, prior: float, ff: float) -> tuple[Array, Array, float]:
    """Mean (d, 1) and covariance (d, d) of the weights before the next row, for noise of variance 1; condition."""
    zero = np.zeros((X.shape[1], 1))
    if not len(X):
        return zero, np.eye(X.shape[1]) / prior / ff, 1.0
    A = information_rows(X, {"ridge": prior, "forgetting_factor": ff})
    assert A is not None
    return solve_ridge(X, y[:, None], zero, prior, ff), invert_information(A) / ff, condition(A)


def _log_density(y: Array, mean: Array, covariance: Array) -> float:
    """The log density of a normal vector y (n,)."""
    e = y - mean
    return float(
        -(len(y) * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + e @ np.linalg.solve(covariance, e)) / 2
    )


def deviation_of_bayesian_regression(create: Any, rows: Rows) -> Measured:
    """Standard deviations equal those of Bayesian regression with prior N(0, v / ridge I) and noise v."""
    X, y, seed = rows
    prior, v, worst, cond = weakest_energy(X), 0.25, 0.0, condition(X)
    new = np.random.default_rng(seed).standard_normal((9, X.shape[1])) * np.abs(X).max()
    for ff in FACTORS:
        w, P, number = _posterior(X, y, prior, ff)
        mean, std = (
            create(ridge=prior, forgetting_factor=ff).partial_fit(X, y).predict(new, return_std=True, noise_variance=v)
        )
        want = np.sqrt(v * (1 + ((new @ P) * new).sum(axis=1)))
        worst = nan_max(worst, deviation(std, want), deviation(mean, (new @ w)[:, 0]))
        cond = max(cond, number)
    return Measured(worst, len(X), cond)


def likelihood_is_joint_normal_density(create: Any, rows: Rows) -> Measured:
    """Without forgetting, the log likelihood is the joint normal density of the targets given earlier rows."""
    X, y, _ = rows
    prior, v, half, worst, cond = weakest_energy(X), 0.25 * float(np.var(y)), len(X) // 2, 0.0, condition(X)
    for seen in (0, half):
        w, P, number = _posterior(X[:seen], y[:seen], prior, 1.0)
        A, b = X[seen:], y[seen:]
        want = _log_density(b, (A @ w)[:, 0], v * (np.eye(len(A)) + A @ P @ A.T))
        learner = create(ridge=prior).partial_fit(X[:seen], y[:seen])
        got = learner.log_likelihood(A, b, noise_variance=v)
        worst, cond = nan_max(worst, deviation(got, want)), max(cond, number)
    return Measured(worst, len(X), cond)


def likelihood_is_chain_rule(create: Any, rows: Rows) -> Measured:
    """The log likelihood is the sum of the log densities of all rows, each given the batch solution of earlier rows."""
    X, y, _ = rows
    X, y, seen = X[:40], y[:40], 10
    prior, v, worst, cond = weakest_energy(X), 0.25 * float(np.var(y)), 0.0, condition(X)
    for ff in FACTORS:
        want = 0.0
        for t in range(seen, len(X)):
            w, P, number = _posterior(X[:t], y[:t], prior, ff)
            want += _log_density(y[t : t + 1], X[t : t + 1] @ w[:, 0], v * (1 + X[t : t + 1] @ P @ X[t : t + 1].T))
            cond = max(cond, number)
        learner = create(ridge=prior, forgetting_factor=ff).partial_fit(X[:seen], y[:seen])
        got = learner.log_likelihood(X[seen:], y[seen:], noise_variance=v)
        worst = nan_max(worst, deviation(got, want))
    return Measured(worst, len(X), cond)


def deviation_of_forecast(create: Any, rows: Rows) -> Measured:
    """Mean and deviation of a forecast equal those of the next observation given earlier rows, all jointly normal."""
    world, n, cond = make_state_space(rows, 20), 20, 1.0
    learner = create(**world.start()).partial_fit(world.X[:0], world.y[:0])
    got, want = np.empty((2, n)), np.empty((2, n))
    for t in range(n):
        dynamics, x = world.varying(slice(t, t + 1)), world.X[t]
        forecast = learner.predict(x[None], return_std=True, **{name: value[0] for name, value in dynamics.items()})
        got[:, t] = [to_numpy64(part)[0] for part in forecast]
        states = world._replace(y=np.where(np.arange(len(world.y)) < t, world.y, np.nan)).states(t + 1)
        mean, P = states.of(t)
        want[:, t] = (x @ mean)[0], np.sqrt(x @ P @ x + world.observation_noise[t])
        cond = max(cond, states.condition)
        learner.partial_fit(world.X[t : t + 1], world.y[t : t + 1], **dynamics)
    return Measured(nan_max(deviation(got[0], want[0]), deviation(got[1], want[1])), n, cond)


def likelihood_of_filter_is_joint_normal_density(create: Any, rows: Rows) -> Measured:
    """The log likelihood is the joint normal density of all targets that are not missing."""
    world, n, cond = make_state_space(rows, 30), 30, 1.0
    learner = create(**world.start())
    prior = joint_prior(world.transition, world.process_noise, world.mean, world.covariance)
    got, want = [], []
    for size in (1, n):
        seen = np.flatnonzero(~np.isnan(world.y[:size]))
        H = np.zeros((len(seen), *prior.mean.shape[:2]))
        H[np.arange(len(seen)), seen] = world.X[seen]
        H = H.reshape(len(seen), -1)
        S = H @ prior.covariance.reshape(prior.mean.size, -1) @ H.T + np.diag(world.observation_noise[seen])
        want.append(_log_density(world.y[seen], H @ prior.mean.reshape(-1), S))
        got.append(learner.log_likelihood(world.X[:size], world.y[:size], **world.varying(slice(size))))
        cond = max(cond, condition(S))
    learner.partial_fit(world.X[:1], world.y[:1], **world.varying(slice(0, 1)))
    got.append(learner.log_likelihood(world.X[1:n], world.y[1:n], **world.varying(slice(1, n))))
    want.append(want[1] - want[0])
    return Measured(deviation(np.array(got), np.array(want)), n, cond)


OF_REGRESSION = (
    Law(deviation_of_bayesian_regression, "slides, Recursive LS; survey, Lemma 3", exponent=2),
    Law(likelihood_is_joint_normal_density, "survey, Lemma 3", exponent=2),
    Law(likelihood_is_chain_rule, "survey, Lemma 3", exponent=2),
)
OF_FILTER = (
    Law(deviation_of_forecast, "survey, Proposition 3", exponent=1),
    Law(likelihood_of_filter_is_joint_normal_density, "survey, eq. (13)", exponent=1),
)

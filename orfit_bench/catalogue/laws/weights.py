"""Laws of weighted rows, for all methods that support weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights, weakest_energy
from orfit_bench.catalogue.laws.state_space import to_float32
from orfit_bench.catalogue.shared.least_squares import invert_information, row_weights
from orfit_bench.catalogue.shared.recursions import error_system, gradient_steps
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def make_weights(n: int, seed: int, integer: bool = False) -> Array:
    """Weights (n,) from 0 to 3, exact in every dtype; the first is positive."""
    weights = np.random.default_rng(seed).integers(0, 4 if integer else 13, n) / (1 if integer else 4)
    weights[0] = 2
    return weights


def solve_weighted(X: Array, Y: Array, weights: Array, prior: float, ff: float = 1.0) -> tuple[Array, Array]:
    """The w that minimizes the weighted squared errors and the prior, and the rows used; weight 0 omits a row."""
    kept = weights > 0
    X, Y, root = X[kept], Y[kept], np.sqrt(weights[kept])
    past = row_weights(len(X), ff)
    A = np.vstack([(past[:-1] * root)[:, None] * X, past[-1] * np.sqrt(prior) * np.eye(X.shape[1])])
    B = np.vstack([(past[:-1] * root)[:, None] * Y, np.zeros((X.shape[1], Y.shape[1]))])
    return np.linalg.lstsq(A, B, rcond=None)[0], A


def weights_multiply_squared_errors(create: Any, rows: Rows) -> Measured:
    """The weights minimize sum_i ff^(t-i) v_i e_i^2 with the prior; rows of weight v_i = 0 do not count."""
    X, y, seed = rows
    v, prior, worst, cond = make_weights(len(X), seed), weakest_energy(X), 0.0, condition(X)
    for ff in (0.97, 1.0, 1.02):
        learner = create(ridge=prior, forgetting_factor=ff)
        for part in (slice(0, 7), slice(7, len(X))):
            learner.partial_fit(X[part], y[part], sample_weight=v[part])
        want, A = solve_weighted(X, y[:, None], v, prior, ff)
        worst, cond = nan_max(worst, deviation(final_weights(learner), want)), max(cond, condition(A))
    return Measured(worst, len(X), cond)


def integer_weight_is_repetition(create: Any, rows: Rows) -> Measured:
    """An integer weight k counts as k copies of the row (truth: the batch solution of the repeated rows)."""
    X, y, seed = rows
    v, prior = make_weights(len(X), seed, integer=True), weakest_energy(X)
    again = v.astype(int)
    want, A = solve_weighted(np.repeat(X, again, axis=0), np.repeat(y, again)[:, None], np.ones(again.sum()), prior)
    learner = create(ridge=prior).partial_fit(X, y, sample_weight=v)
    return Measured(deviation(final_weights(learner), want), len(X), condition(A))


def predictions_ignore_own_weight(create: Any, rows: Rows) -> Measured:
    """Prequential predictions, also for rows of weight 0, use the weighted solution of the earlier rows."""
    X, y, seed = rows
    X, y = X[:40], y[:40]
    v, prior, want, cond = make_weights(len(X), seed), weakest_energy(X), np.zeros(len(X)), condition(X)
    for t in range(1, len(X)):
        w, A = solve_weighted(X[:t], y[:t, None], v[:t], prior)
        want[t], cond = (X[t] @ w)[0], max(cond, condition(A))
    return Measured(deviation(create(ridge=prior).prequential(X, y, sample_weight=v), want), len(X), cond)


def negative_weights_unlearn(create: Any, rows: Rows) -> Measured:
    """Rows learned with weight 1 and then -1 leave the solution and the information of the other rows."""
    X, y, _ = rows
    prior, half = weakest_energy(X[len(X) // 2 :]), len(X) // 2
    learner = create(ridge=prior).partial_fit(X, y)
    learner.partial_fit(X[:half], y[:half], sample_weight=-np.ones(half))
    want, A = solve_weighted(X[half:], y[half:, None], np.ones(len(X) - half), prior)
    found = nan_max(
        deviation(final_weights(learner), want),
        deviation(learner.array("information"), np.tril(A.T @ A)),
    )
    grown = float(np.linalg.norm(X, 2) / np.linalg.norm(A, 2))  # rounding errors scale with all rows
    return Measured(found, 2 * len(X), max(condition(A), condition(X)) * grown)


def weights_of_labels(create: Any, rows: Rows) -> Measured:
    """The scores minimize the weighted squared errors on one-hot targets."""
    X, _, seed = rows
    labels, v, prior = np.arange(len(X)) % 3, make_weights(len(X), seed), weakest_energy(X)
    want, A = solve_weighted(X, (labels[:, None] == np.arange(3)).astype(float), v, prior)
    learner = create(ridge=prior).partial_fit(X, labels, sample_weight=v)
    return Measured(deviation(final_weights(learner), want), len(X), condition(A))


def weights_divide_the_noise(create: Any, rows: Rows) -> Measured:
    """A weight divides the noise variance of its row; a row of weight 0 is not observed."""
    X, y, seed = rows
    v, variance, noise = make_weights(len(X), seed), to_float32(np.asarray(1 / weakest_energy(X))), 4.0
    learner = create(initial_covariance=variance, observation_noise=noise)
    state = learner.partial_fit(X, y, sample_weight=v).state()
    want, A = solve_weighted(X, y[:, None], v / noise, 1 / float(variance))
    worst = nan_max(deviation(state["mean"].values, want), deviation(state["covariance"].values, invert_information(A)))
    return Measured(worst, len(X), condition(A))


def weights_are_repeated_steps(create: Any, rows: Rows) -> Measured:
    """A row of weight 2.25 takes two steps and one of a quarter of the size (truth: a triangular system)."""
    X, y, seed = rows
    v, step = make_weights(len(X), seed), 0.5 / (rows.X**2).sum(1).max()
    again = np.ceil(v).astype(int)
    which = np.repeat(np.arange(len(X)), again)
    part = np.ones(len(which))
    last = np.cumsum(again)[again > 0] - 1
    part[last] = (v - again + 1)[again > 0]
    want = gradient_steps(X[which], y[which, None], np.zeros((X.shape[1], 1)), step * part)
    learner = create(step_size=step).partial_fit(X, y, sample_weight=v)
    return Measured(deviation(final_weights(learner), want), len(which), condition(error_system(X[which], step * part)))


SOURCE = "docs/decisions/0048, on thesis, eq. (2.2)"
OF_SQUARED_ERRORS = (
    Law(weights_multiply_squared_errors, SOURCE, exponent=2),
    Law(integer_weight_is_repetition, SOURCE, exponent=2),
    Law(predictions_ignore_own_weight, SOURCE, exponent=2),
)
OF_SUMS = (*OF_SQUARED_ERRORS, Law(negative_weights_unlearn, "survey, eq. (10)", exponent=2))
OF_LABELS = (Law(weights_of_labels, SOURCE, exponent=2),)
OF_NOISE = (Law(weights_divide_the_noise, "survey, Proposition 3", exponent=2),)
OF_STEPS = (Law(weights_are_repeated_steps, "slides, SGD beyond least square", exponent=1),)

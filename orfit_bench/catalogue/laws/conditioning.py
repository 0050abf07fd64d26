"""Laws of the Kalman filter as conditioning, in both of its forms."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition
from orfit_bench.catalogue.laws.state_space import make_state_space, moment_deviation, random_spd, to_float32
from orfit_bench.catalogue.shared.gaussian_states import condition_on_rows, joint_prior
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def conditional_mean_and_covariance(create: Any, rows: Rows) -> Measured:
    """Mean and covariance are those of the state given the rows so far, with time-varying settings and missing y."""
    world, worst, cond = make_state_space(rows, 40), 0.0, 1.0
    learner = create(**world.start())
    for lo, hi in ((0, 1), (1, 2), (2, 20), (20, 40)):
        learner.partial_fit(world.X[lo:hi], world.y[lo:hi], **world.varying(slice(lo, hi)))
        want = world.states(hi)
        worst, cond = nan_max(worst, moment_deviation(learner, want.of(hi - 1))), max(cond, want.condition)
    return Measured(worst, 40, cond)


def block_observations(create: Any, rows: Rows) -> Measured:
    """A block of observations conditions the state in one step; with independent noise, this equals single steps."""
    X, y, (size, d) = rows.X[:40], rows.y[:40], (5, rows.X.shape[1])
    rng, start = np.random.default_rng(rows.seed), (np.zeros((d, 1)), np.eye(d))
    scale, at_once, one_by_one = float((X * X).sum(1).mean()), create(), create()
    noise, number = to_float32(scale * random_spd(rng, size)), float(to_float32(np.asarray(0.1 * scale)))
    for i in range(0, 40, size):
        at_once.step(X[i : i + size], y[i : i + size], observation_noise=noise)
        one_by_one.step(X[i : i + size], y[i : i + size], observation_noise=number)
    still = joint_prior(np.eye(d)[None], np.zeros((1, d, d)), *start)
    worst, cond = 0.0, 1.0
    row_by_row = create(observation_noise=number).partial_fit(X, y)
    for learners, R in (((at_once,), noise), ((one_by_one, row_by_row), number * np.eye(size))):
        want = condition_on_rows(still, [(0, X[i : i + size], y[i : i + size, None], R) for i in range(0, 40, size)])
        worst = nan_max(worst, *(moment_deviation(learner, want.of(0)) for learner in learners))
        cond = max(cond, want.condition)
    return Measured(worst, 40, cond)


def square_root_form_conditions(create: Any, rows: Rows) -> Measured:
    """The square-root form has the same moments, with time-varying settings and missing y."""
    return conditional_mean_and_covariance(partial(create, form="square_root"), rows)


def square_root_form_conditions_on_blocks(create: Any, rows: Rows) -> Measured:
    """The square-root form has the same moments for blocks with correlated noise."""
    return block_observations(partial(create, form="square_root"), rows)


def loses_digits_with_the_condition_alone(create: Any, rows: Rows) -> Measured:
    """On columns of very different sizes, errors of the square-root form grow with the condition of the rows."""
    X, y, _ = rows
    d, dtype = X.shape[1], create(form="square_root").dtype
    X = (X * np.geomspace(1, float(np.finfo(dtype).eps) ** 0.4, d)).astype(dtype).astype(float)
    variance = float(to_float32(np.asarray(1 / np.square(X[:, -1]).sum())))  # the smallest column counts as the prior
    learner = create(form="square_root", initial_covariance=variance).partial_fit(X, y)
    A = np.vstack([X, np.eye(d) / np.sqrt(variance)])
    want = np.linalg.lstsq(A, np.append(y, np.zeros(d))[:, None], rcond=None)[0]
    return Measured(deviation(learner.array("mean"), want), len(X), condition(A))


ARRAYS = "Kailath, Sayed and Hassibi, Linear Estimation, chapter 12"
CONDITIONING = (
    Law(conditional_mean_and_covariance, "survey, Proposition 3", exponent=1),
    Law(block_observations, "survey, Lemma 2, several samples of one task", exponent=1),
    Law(square_root_form_conditions, f"survey, Proposition 3; {ARRAYS}", exponent=1),
    Law(square_root_form_conditions_on_blocks, f"survey, Lemma 2; {ARRAYS}", exponent=1),
    Law(loses_digits_with_the_condition_alone, ARRAYS, exponent=1),
)

"""Laws of the Kalman filter for unobserved moving states, for blocks between moves, and for overflowing means."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import is_refused
from orfit_bench.catalogue.laws.state_space import make_state_space, moment_deviation, to_float32
from orfit_bench.catalogue.shared.gaussian_states import condition_on_rows, joint_prior
from orfit_bench.errors import DivergedError
from orfit_bench.spec.law import Law, Measured, Rows, deviation, measure_claim, nan_max

BLOCKS = (3, 2, 4, 1, 3)
"""The numbers of rows observed in each step."""
FACTORS = {4.0: 600, 2.0**20: 600, 2.0**-4: 8}
"""Powers of two by which a state is multiplied, and the number of multiplications."""


def blocks_of_a_moving_state(create: Any, rows: Rows) -> Measured:
    """Blocks of observations, some of them missing, condition a state that moves between them."""
    world, n = make_state_space(rows, sum(BLOCKS)), len(BLOCKS)
    F, Q, noise = world.transition[0], world.process_noise[0], to_float32(np.asarray(world.observation_noise[0]))
    learner = create(transition=F, process_noise=Q, observation_noise=noise, **world.start())
    observed, at = [], 0
    for i, q in enumerate(BLOCKS):
        X, y = world.X[at : at + q], rows.y[at : at + q]
        missing = rows.X[at : at + 1] + 1  # an additional row between the others
        learner.step(np.vstack([X[:1], missing, X[1:]]), np.insert(y, 1, np.nan))
        observed.append((i, X, y[:, None], noise * np.eye(q)))
        at += q
    states = joint_prior(np.tile(F, (n, 1, 1)), np.tile(Q, (n, 1, 1)), world.mean, world.covariance)
    want = condition_on_rows(states, observed)
    return Measured(moment_deviation(learner, want.of(n - 1)), sum(BLOCKS), want.condition)


def square_root_form_of_blocks_of_a_moving_state(create: Any, rows: Rows) -> Measured:
    """In the square-root form, blocks of observations condition a state that moves between them."""
    return blocks_of_a_moving_state(partial(create, form="square_root"), rows)


def unseen_state_moves_until_it_overflows(create: Any, rows: Rows) -> Measured:
    """An unobserved state has the moments F^t m and F^t P F'^t, and the step that overflows is refused."""
    worst, d = 0.0, 3
    for factor, most in FACTORS.items():
        learner = create(transition=factor, initial_mean=1.0)
        largest = np.finfo(learner.dtype).maxexp / (2 * math.log2(factor))  # moves, at which the variance overflows
        want = most if factor < 1 else math.ceil(largest) - 1
        moves = _count_moves(learner, d, most)
        worst = nan_max(worst, 0.0 if moves == want else math.inf)
        worst = nan_max(worst, deviation(learner.array("mean")[:, 0], np.full(d, factor**want)))
        worst = nan_max(worst, deviation(learner.array("covariance"), np.eye(d) * factor ** (2 * want)))
    return Measured(worst, d, 1.0)


def _count_moves(learner: Any, d: int, most: int) -> int:
    """Move a state of d parameters up to `most` times or until a step is refused; return the number of moves."""
    n = most + 1
    try:
        learner.partial_fit(np.ones((n, d)), np.full(n, np.nan))
    except DivergedError as error:
        return error.row - 1
    return most


def root_of_an_unseen_state_moves_until_it_overflows(create: Any, rows: Rows) -> Measured:
    """In the square-root form, an unobserved state has the moments F^t m and F^t P F'^t until a step overflows."""
    return unseen_state_moves_until_it_overflows(partial(create, form="square_root"), rows)


def overflowing_mean_is_refused(create: Any, rows: Rows) -> Measured:
    """A step whose mean would overflow is refused, with and without noise, for one row and for several."""
    wrong, axes = 0, np.eye(3)[:2] * 2.0**-10
    for noise in (1.0, 0.0):
        learner = create(initial_covariance=2.0**14, observation_noise=noise)
        y = np.full(2, float(np.finfo(learner.dtype).max) / 2)
        learner.partial_fit(np.eye(3)[2:], [1.0])
        before = learner.to_bytes()
        wrong += not is_refused(learner.partial_fit, axes[:1], y[:1])
        wrong += not is_refused(learner.step, axes, y)
        wrong += learner.to_bytes() != before
    slowly = create()
    wrong += not is_refused(slowly.partial_fit, np.eye(3)[[0] * 12] / 2, np.full(12, 1.8 * y[0]))
    wrong += not np.isfinite(slowly.array("mean")).all()
    return measure_claim(wrong, rows)


def overflowing_mean_of_a_root_is_refused(create: Any, rows: Rows) -> Measured:
    """In the square-root form, a step whose mean would overflow is refused, with and without noise."""
    return overflowing_mean_is_refused(partial(create, form="square_root"), rows)


SOURCE = "survey, Proposition 3"
OVERFLOW = f"{SOURCE}, in floating point"
MOVING = (
    Law(blocks_of_a_moving_state, SOURCE, exponent=1),
    Law(square_root_form_of_blocks_of_a_moving_state, SOURCE, exponent=1),
    Law(unseen_state_moves_until_it_overflows, OVERFLOW, exponent=0, shape="own"),
    Law(root_of_an_unseen_state_moves_until_it_overflows, OVERFLOW, exponent=0, shape="own"),
    Law(overflowing_mean_is_refused, OVERFLOW, exponent=0, shape="own"),
    Law(overflowing_mean_of_a_root_is_refused, OVERFLOW, exponent=0, shape="own"),
)

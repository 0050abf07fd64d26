"""Laws of predictions while the variance of unobserved directions grows: accurate, marked as imprecise, or refused.

All rows are multiples of one x by powers of two, so that the problem has one parameter, along x, whose prediction and
variance are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import is_refused
from orfit_bench.catalogue.laws.state_space import to_float32
from orfit_bench.spec.law import Law, Measured, Rows, measure_claim, to_numpy64

STEPS, TRIALS = 120, 4
FEWEST = 4
"""Number of steps before any direction has grown enough for a row to be refused."""
MOST, SILENT = 0.1, 32.0
"""Largest errors of a prediction relative to its standard deviation: with a mark, and without (times sqrt(eps))."""
GROWTHS = (1.25, 1.5, 2.0, 3.0)
FACTORS = (0.5, 0.8, 0.95)

Step = Callable[[float, float], tuple[float, float]]
"""step(y, z): the mean and variance of the next prediction for x, after the row z x with target y."""


def forecasts_of_a_growing_state(create: Any, rows: Rows) -> Measured:
    """Forecasts of a state that grows with each move are accurate or marked as imprecise, or the row is refused."""
    rng, wrong = np.random.default_rng(rows.seed), 0
    for growth in TRIALS * GROWTHS:
        x = to_float32(rng.standard_normal((rows.X.shape[1],)))
        wrong += _count_wrong(create(transition=growth), x, _growing_state(float(x @ x), growth), rng)
    return measure_claim(wrong, rows)


def forecasts_after_cancelling_moves(create: Any, rows: Rows) -> Measured:
    """Forecasts are accurate, marked or refused if a move subtracts parameters that grow equally.

    The sum of the last two parameters doubles with each move and is not observed; their difference halves.
    """
    F, Q = np.array([[0.5, 0.5, -0.5], [0, 1.25, 0.75], [0, 0.75, 1.25]]), np.diag([0.25, 0, 0])
    step = _first_parameter(np.array([[0.5, 0.5], [0, 0.5]]), np.diag([0.25, 0]), np.diag([1.0, 2.0]))
    wrong = _count_wrong_of_first(create(transition=F, process_noise=Q), 3, step, rows)
    return measure_claim(wrong, rows)


def cancelling_moves_by_a_root(create: Any, rows: Rows) -> Measured:
    """In the square-root form, forecasts are accurate, marked or refused if a move subtracts growing parameters."""
    return forecasts_after_cancelling_moves(partial(create, form="square_root"), rows)


def forecasts_from_a_vague_state(create: Any, rows: Rows) -> Measured:
    """Forecasts are accurate, marked or refused if the first covariance is a million times the noise."""
    F, wrong = to_float32(np.array([[0.6, 0.8], [-0.8, 0.6]])), 0
    for vague in (9e5, 1.1e6):
        step = _first_parameter(F, np.zeros((2, 2)), vague * np.eye(2))
        wrong += _count_wrong_of_first(create(transition=F, initial_covariance=vague), 2, step, rows)
    return measure_claim(wrong, rows)


def _count_wrong_of_first(learner: Any, d: int, step: Step, rows: Rows) -> int:
    """The number of wrong forecasts of the first of d parameters, which the rows observe."""
    return _count_wrong(learner, np.eye(d)[0], step, np.random.default_rng(rows.seed), multiples=(1.0,))


def _first_parameter(A: Any, Q: Any, P: Any) -> Step:
    """The filter of a state whose first parameter is observed with noise variance 1; P is its first covariance."""
    mean = np.zeros(len(P))

    def step(y: float, z: float) -> tuple[float, float]:
        nonlocal mean, P
        K = P[:, 0] / (P[0, 0] + 1)
        mean, P = A @ (mean + K * (y - mean[0])), A @ (P - np.outer(K, P[0])) @ A.T + Q
        return float(mean[0]), float(P[0, 0]) + 1

    return step


def forecasts_by_a_root(create: Any, rows: Rows) -> Measured:
    """In the square-root form, forecasts of a growing state are accurate, marked as imprecise, or refused."""
    return forecasts_of_a_growing_state(partial(create, form="square_root"), rows)


def predictions_while_forgetting(create: Any, rows: Rows) -> Measured:
    """With forgetting, predictions along the only observed direction are accurate, marked as imprecise, or refused."""
    rng, wrong = np.random.default_rng(rows.seed), 0
    for ff in TRIALS * FACTORS:
        x = to_float32(rng.standard_normal((rows.X.shape[1],)))
        wrong += _count_wrong(create(forgetting_factor=ff, ridge=1.0), x, _forgetting(float(x @ x), ff), rng)
    return measure_claim(wrong, rows)


def predictions_by_a_root(create: Any, rows: Rows) -> Measured:
    """In the square-root form, predictions while forgetting are accurate, marked as imprecise, or refused."""
    return predictions_while_forgetting(partial(create, form="square_root"), rows)


def _growing_state(energy: float, growth: float) -> Step:
    """A filter of x'theta with variance |x|^2 and noise 1; a step corrects v z^2 / (v z^2 + 1) of an error."""
    mean, v = 0.0, energy

    def step(y: float, z: float) -> tuple[float, float]:
        nonlocal mean, v
        s = z * z * v + 1
        mean, v = growth * (mean + z * v / s * (y - z * mean)), growth**2 * v / s
        return mean, v + 1

    return step


def _forgetting(energy: float, ff: float) -> Step:
    """Regression on the unit vector along x with prior 1: information and moment of one weight."""
    information, moment, size = 1.0, 0.0, math.sqrt(energy)

    def step(y: float, z: float) -> tuple[float, float]:
        nonlocal information, moment
        information, moment = ff * information + z * z * energy, ff * moment + z * size * y
        return size * moment / information, 1 + energy / (ff * information)

    return step


def _count_wrong(learner: Any, x: Any, step: Step, rng: Any, multiples: tuple[float, ...] = (-1.0, 0.5, 2.0)) -> int:
    """The number of predictions that are wrong, or lost half of their digits without a mark, until a refusal."""
    wrong, silent = 0, SILENT * math.sqrt(np.finfo(learner.dtype).eps)
    for t in range(STEPS):
        y, z = float(to_float32(rng.standard_normal(1))[0]), float(rng.choice(multiples))
        if is_refused(learner.partial_fit, z * x[None], [y]):
            return wrong + (t < FEWEST)
        mean, variance = step(y, z)
        got, deviation = (float(to_numpy64(part)[0]) for part in learner.predict(x[None], return_std=True))
        error = max(abs(got - mean), abs(deviation - math.sqrt(variance))) / math.sqrt(variance)
        wrong += not error < (MOST if learner.array("precision_lost") else silent)
    return wrong


FILTER, REGRESSION = "survey, Proposition 3; docs/decisions/", "thesis, eq. (2.3); docs/decisions/"
OF_FILTER = (
    Law(forecasts_of_a_growing_state, f"{FILTER}0010", exponent=0),
    Law(forecasts_by_a_root, f"{FILTER}0061", exponent=0),
    Law(forecasts_after_cancelling_moves, f"{FILTER}0010", exponent=0, shape="own"),
    Law(cancelling_moves_by_a_root, f"{FILTER}0061", exponent=0, shape="own"),
    Law(forecasts_from_a_vague_state, f"{FILTER}0010", exponent=0, shape="own"),
)
OF_RLS = (
    Law(predictions_while_forgetting, f"{REGRESSION}0004", exponent=0),
    Law(predictions_by_a_root, f"{REGRESSION}0061", exponent=0),
)

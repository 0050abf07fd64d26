"""Laws of the Kalman filter for linearly dependent rows without noise, in one step or in several."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition
from orfit_bench.catalogue.laws.state_space import moment_deviation, to_float32
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, measure_claim, nan_max, to_numpy64

D, VARIANCE = 5, 2.0
"""Number of parameters, and their initial variance."""
TRIALS = 5
SHRINKING = 0.875
"""The factor by which each step multiplies the state, exact in every dtype."""

SMALL = (2.0**-20, 2.0**-14)
"""Variances of noise, much smaller than those of the parameters."""


def dependent_exact_rows_add_nothing(create: Any, rows: Rows) -> Measured:
    """Exact rows that are sums of others, of the same step or of earlier ones, change neither mean nor covariance."""
    rng, worst, cond, noise = np.random.default_rng(rows.seed), 0.0, 1.0, 0.5
    for _ in range(TRIALS):
        A, other, w = to_float32(rng.standard_normal((2, D))), to_float32(rng.standard_normal((1, D))), _truth()
        sums = np.vstack([A[0] + A[1], A[0] - A[1]])
        at_once, later = (create(observation_noise=0.0, initial_covariance=VARIANCE) for _ in range(2))
        block = np.vstack([A[:1], sums[:1], A[1:], other])
        at_once.step(block, block @ w, observation_noise=np.diag([0.0, 0, 0, noise]))
        for part, R in ((A, 0.0), (sums, 0.0), (other, noise), (sums[:1], 0.0)):
            later.step(part, part @ w, observation_noise=R)
        want = _moments(A, other, w, noise)
        worst = nan_max(worst, moment_deviation(at_once, want), moment_deviation(later, want))
        cond = max(cond, condition(A) ** 2)
    return Measured(worst, 4 * D, cond)


def square_root_form_of_dependent_exact_rows(create: Any, rows: Rows) -> Measured:
    """In the square-root form, exact rows that are sums of others change neither mean nor covariance."""
    return dependent_exact_rows_add_nothing(partial(create, form="square_root"), rows)


def known_directions_stay_known(create: Any, rows: Rows) -> Measured:
    """Directions determined by exact rows stay known in a moving state, even if other rows leave little variance."""
    return _measure_moving(create, rows.seed, 2.0**-10, 2.0**10)


def square_root_form_of_known_directions(create: Any, rows: Rows) -> Measured:
    """In the square-root form, known directions stay known; errors grow with standard deviations, not variances."""
    return _measure_moving(partial(create, form="square_root"), rows.seed, 2.0**-20, 2.0**10)


def _measure_moving(create: Any, seed: int, noise: float, cond: float) -> Measured:
    """Measure rows without noise and with little noise, then the former again after the state has moved."""
    rng, worst, w = np.random.default_rng(seed), 0.0, _truth()
    for _ in range(TRIALS):
        turned = to_float32(np.linalg.qr(rng.standard_normal((D, D)))[0])
        A, other = turned[:2], turned[2:]
        learner = create(observation_noise=0.0, transition=SHRINKING, initial_covariance=VARIANCE)
        learner.step(turned, turned @ w, observation_noise=np.diag([0.0] * 2 + [noise] * (D - 2)))
        learner.step(A, SHRINKING * A @ w)
        mean, P = _moments(A, other, w, noise)
        worst = nan_max(worst, moment_deviation(learner, (SHRINKING * mean, SHRINKING**2 * P)))
    return Measured(worst, 2 * D, cond)


def only_rounding_counts_as_known(create: Any, rows: Rows) -> Measured:
    """With an exact row, a variance above 10 d eps of its former value is kept; a smaller one is rounding, thus zero.

    For a constant state, with rows one by one and in one step, and for a state with a transition.
    """
    unit, wrong, eps = np.eye(2), 0, float(np.finfo(create().dtype).eps)
    for share in (0.25, 0.5, 2.0, 4.0):
        noise = share * 10 * len(unit) * eps
        alone, together, moving = create(), create(), create(transition=0.5)
        alone.partial_fit(unit[1:], [0.0], observation_noise=[noise])
        alone.partial_fit(unit[:1], [0.0], observation_noise=[0.0])
        for learner in (together, moving):
            learner.step(unit, [0.0, 0.0], observation_noise=np.diag([0.0, noise]))
        for learner in (alone, together, moving):
            left = float(to_numpy64(learner.array("covariance"))[1, 1]) / noise
            wrong += not (left == 0 if share < 1 else abs(left - 1) < 0.2)
    return measure_claim(wrong, rows)


def rows_count_as_much_at_any_scale(create: Any, rows: Rows) -> Measured:
    """In the square-root form, exact rows and differences stay known for any scale of the rows and deviations.

    Some rows have no noise, others have noise whose deviations differ by orders of magnitude, and two share one noise,
    so that a combination of them is exact. All rows are observed again after the state has moved.
    """
    rng, worst, w = np.random.default_rng(rows.seed), 0.0, np.linspace(-1, 1, 4)
    half = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2  # orthonormal without rounding
    for _ in range(TRIALS):
        unit = half[rng.permutation(4)] * rng.choice([-1, 1], 4)
        scale = 2.0 ** rng.choice([-12, -5, 6, 13], 4, replace=False)
        alone, shared = np.diag([0.0, 0, *SMALL]), np.diag([SMALL[0], 0, *SMALL])
        shared[0, 2] = shared[2, 0] = SMALL[0]
        for J, R in ((unit, alone), (np.vstack([unit[0] + unit[2], unit[1:]]), shared)):
            A, noise = scale[:, None] * J, np.outer(scale, scale) * R
            learner = create(
                form="square_root", observation_noise=0.0, transition=SHRINKING, initial_covariance=VARIANCE
            )
            for state in (w, SHRINKING * w):
                learner.step(A, A @ state, observation_noise=noise)
            worst = nan_max(worst, moment_deviation(learner, _moments_along(unit, w)))
    return Measured(worst, 32, float(np.sqrt(VARIANCE / min(SMALL))))


def _moments_along(unit: Array, w: Array) -> tuple[Array, Array]:
    """Mean and covariance after two steps that observe w along orthonormal directions, two of them without noise."""
    mean, P = unit @ w, np.zeros(4)
    for i, noise in enumerate(SMALL, start=2):
        first = 1 / (1 / VARIANCE + 1 / noise)
        m, moved = SHRINKING * first / noise * mean[i], SHRINKING**2 * first
        P[i] = 1 / (1 / moved + 1 / noise)
        mean[i] = m + P[i] / noise * (SHRINKING * mean[i] - m)
    mean[:2] *= SHRINKING
    return (unit.T @ mean)[:, None], unit.T * P @ unit


def _truth() -> Array:
    """The true parameters of the targets."""
    return np.linspace(-1, 1, D)


def _moments(A: Array, other: Array, w: Array, noise: float) -> tuple[Array, Array]:
    """Mean and covariance given A w exactly and `other` w with noise, in coordinates of the null space of A."""
    null = np.linalg.svd(A)[2][len(A) :].T
    known, free = np.linalg.pinv(A) @ (A @ w), other @ null
    P = np.linalg.inv(np.eye(null.shape[1]) / VARIANCE + free.T @ free / noise)
    u = P @ free.T @ (other @ (w - known)) / noise
    return (known + null @ u)[:, None], null @ P @ null.T


SOURCE = "survey, Proposition 3 with R = 0"
EXACT_ROWS = (
    Law(dependent_exact_rows_add_nothing, SOURCE, exponent=1, shape="own"),
    Law(square_root_form_of_dependent_exact_rows, SOURCE, exponent=1, shape="own"),
    Law(known_directions_stay_known, SOURCE, exponent=1, shape="own"),
    Law(square_root_form_of_known_directions, SOURCE, exponent=1, shape="own"),
    Law(only_rounding_counts_as_known, "docs/decisions/0010", exponent=0),
    Law(rows_count_as_much_at_any_scale, SOURCE, exponent=1, shape="own"),
)

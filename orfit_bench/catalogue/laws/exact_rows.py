"""Laws of the Kalman filter for rows without noise that depend on each other."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition
from orfit_bench.catalogue.laws.state_space import moment_deviation, to_float32
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, nan_max

D, NOISE = 5, 0.5


def dependent_exact_rows_add_nothing(create: Any, rows: Rows) -> Measured:
    """Exact rows that are sums of others, of the same step or of earlier ones, change neither mean nor covariance."""
    rng, worst, cond = np.random.default_rng(rows.seed), 0.0, 1.0
    for _ in range(5):
        A, w = to_float32(rng.standard_normal((2, D))), np.linspace(-1, 1, D)
        other = to_float32(rng.standard_normal((1, D)))
        sums, variance = np.vstack([A[0] + A[1], A[0] - A[1]]), np.array([0.0, 0, 0, NOISE])
        at_once, later = (create(observation_noise=0.0, initial_covariance=2.0) for _ in range(2))
        block = np.vstack([A[:1], sums[:1], A[1:], other])
        at_once.step(block, block @ w, observation_noise=np.diag(variance))
        for part, noise in ((A, 0.0), (sums, 0.0), (other, NOISE), (sums[:1], 0.0)):
            later.step(part, part @ w, observation_noise=noise)
        want = _moments(A, other, w)
        worst = nan_max(worst, moment_deviation(at_once, want), moment_deviation(later, want))
        cond = max(cond, condition(A) ** 2)
    return Measured(worst, 4 * D, cond)


def _moments(A: Array, other: Array, w: Array) -> tuple[Array, Array]:
    """Mean and covariance of N(0, 2 I) given A w, and other w with noise, in coordinates of the null space of A."""
    null = np.linalg.svd(A)[2][len(A) :].T
    known, free = np.linalg.pinv(A) @ (A @ w), other @ null
    information = np.eye(null.shape[1]) / 2 + free.T @ free / NOISE
    P = np.linalg.inv(information)
    u = P @ free.T @ (other @ (w - known)) / NOISE
    return (known + null @ u)[:, None], null @ P @ null.T


def square_root_form_of_dependent_exact_rows(create: Any, rows: Rows) -> Measured:
    """In the square-root form, exact rows that are sums of others change neither mean nor covariance."""
    return dependent_exact_rows_add_nothing(partial(create, form="square_root"), rows)


EXACT_ROWS = (
    Law(dependent_exact_rows_add_nothing, "survey, Proposition 3 with R = 0", exponent=1, shape="own"),
    Law(square_root_form_of_dependent_exact_rows, "survey, Proposition 3 with R = 0", exponent=1, shape="own"),
)

"""Laws of LMS."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.complex_numbers import complex_steps
from orfit_bench.catalogue.laws.helpers import condition, final_weights
from orfit_bench.catalogue.shared.lengths import unit_rows
from orfit_bench.catalogue.shared.recursions import error_system, gradient_steps
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def closed_form(create: Any, rows: Rows) -> Measured:
    """The a-priori errors of all rows solve one triangular system (the unrolled recursion)."""
    X, y, _ = rows
    step = 0.5 / (X * X).sum(1).max()
    learner = create(step_size=step).partial_fit(X, y)
    steps = np.full(len(X), step)
    want = gradient_steps(X, y[:, None], np.zeros((X.shape[1], 1)), steps)
    return Measured(deviation(final_weights(learner), want), len(X), condition(error_system(X, steps)))


def expected_convergence_rate(create: Any, rows: Rows) -> Measured:
    """E |w_t - w*|^2 <= (1 - step (2 - step) lambda_min)^t |w*|^2 for i.i.d. unit rows (mean over all sequences)."""
    rng = np.random.default_rng(rows.seed)
    points, T, step = unit_rows(rng.standard_normal((3, 2))), 5, 0.7
    truth = rng.standard_normal(2)
    gaps = []
    for order in product(range(3), repeat=T):
        X = points[list(order)]
        gaps.append(((final_weights(create(step_size=step).partial_fit(X, X @ truth))[:, 0] - truth) ** 2).sum())
    least = np.linalg.eigvalsh(points.T @ points / 3)[0]
    allowed = (1 - step * (2 - step) * least) ** T * (truth @ truth)
    return Measured(nan_max(0.0, float(np.mean(gaps)) / allowed - 1), T, 1.0)


def recurring_tasks_convergence_rate(create: Any, rows: Rows) -> Measured:
    """For two alternating tasks and even T: |w_T - w*|^2 <= c^(T-1) |w*|^2 with c = (x_1'x_2)^2."""
    points, w_star, c = _two_tasks(rows.seed)
    worst = 0.0
    for T in (2, 6, 10):
        X = np.tile(points, (T // 2, 1))
        gap = ((final_weights(create(step_size=1.0).partial_fit(X, X @ w_star))[:, 0] - w_star) ** 2).sum()
        worst = nan_max(worst, float(gap - c ** (T - 1) * (w_star @ w_star)) / float(w_star @ w_star))
    return Measured(nan_max(0.0, worst), 10, 1.0)


def alternating_steps_solve_two_tasks(create: Any, rows: Rows) -> Measured:
    """Two recurring tasks are solved after three rows with the steps 1, 1/(1-c), 1."""
    points, w_star, c = _two_tasks(rows.seed)
    X = points[[0, 1, 0]]
    learner = create(step_size={"sequence": {"values": [1.0, 1 / (1 - c), 1.0]}}).partial_fit(X, X @ w_star)
    return Measured(deviation(final_weights(learner)[:, 0], w_star), 3, 1 / (1 - c))


def _two_tasks(seed: int) -> tuple[Array, Array, float]:
    rng = np.random.default_rng(seed)
    points = unit_rows(rng.standard_normal((2, 4)))
    return points, points.T @ rng.standard_normal(2), float((points[0] @ points[1]) ** 2)


LAWS = (
    Law(closed_form, "survey, eq. (2)", exponent=1),
    Law(expected_convergence_rate, "survey, Theorem 1", exponent=0, shape="own"),
    Law(recurring_tasks_convergence_rate, "survey, Theorem 2", exponent=0, shape="own"),
    Law(alternating_steps_solve_two_tasks, "survey, Theorem 3", exponent=1, shape="own"),
    Law(complex_steps, "docs/decisions/0053, on survey, eq. (2)", exponent=0, numbers="complex"),
)

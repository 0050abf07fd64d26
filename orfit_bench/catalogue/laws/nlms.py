"""Laws of NLMS."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.complex_numbers import largest_energy, measure_complex_projections
from orfit_bench.catalogue.laws.helpers import condition, final_weights, measure_row_fit
from orfit_bench.catalogue.shared.recursions import error_system, gradient_steps, normalized_steps
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def closed_form(create: Any, rows: Rows) -> Measured:
    """The a-priori errors of all rows solve one triangular system (the unrolled recursion)."""
    X, y, _ = rows
    steps = normalized_steps(X, 0.5, 1e-3)
    want = gradient_steps(X, y[:, None], np.zeros((X.shape[1], 1)), steps)
    learner = create(step_size=0.5, eps=1e-3).partial_fit(X, y)
    return Measured(deviation(final_weights(learner), want), len(X), condition(error_system(X, steps)))


def fits_each_row(create: Any, rows: Rows) -> Measured:
    """With step 1 and eps 0, each step fits its row exactly: w is projected onto the row's hyperplane."""
    return measure_row_fit(create(step_size=1.0, eps=0.0), rows)


def equals_implicit_sgd(create: Any, rows: Rows) -> Measured:
    """With step 1 and eps = 1/eta the rule is implicit SGD: w_new = w + eta x (y - x'w_new)."""
    eta, learner, worst = 0.3, create(step_size=1.0, eps=1 / 0.3), 0.0
    w = np.zeros(rows.X.shape[1])
    for x, t in zip(rows.X, rows.y, strict=True):
        new = final_weights(learner.partial_fit(x[None], [t]))[:, 0]
        worst = nan_max(worst, deviation(new, np.linalg.solve(np.eye(len(x)) + eta * np.outer(x, x), w + eta * t * x)))
        w = new
    energy = (rows.X * rows.X).sum(1).max()
    return Measured(worst, len(rows.X), 1 + eta * energy)


def complex_steps(create: Any, rows: Rows) -> Measured:
    """On complex rows, each step moves part of the way to the solution of two real rows."""
    eps = 0.1 * largest_energy(rows)
    return measure_complex_projections(create(step_size=0.5, eps=eps), rows, 1, 0.5, eps)


LAWS = (
    Law(closed_form, "survey, the program (LMS)", exponent=1),
    Law(fits_each_row, "survey, the program (LMS)", exponent=0),
    Law(equals_implicit_sgd, "Krasulina paper, eq. (3) and (4)", exponent=1),
    Law(complex_steps, "docs/decisions/0053, on survey, the program (LMS)", exponent=0, numbers="complex"),
)

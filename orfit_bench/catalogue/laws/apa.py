"""Laws of APA."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.complex_numbers import largest_energy, measure_complex_projections
from orfit_bench.catalogue.laws.helpers import condition, final_weights, measure_min_norm
from orfit_bench.catalogue.shared.least_squares import affine_projections
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def projects_onto_solutions(create: Any, rows: Rows) -> Measured:
    """With step 1 and eps 0 each step projects w orthogonally onto the solutions of the last rows."""
    X, y, _ = rows
    learner, w, order, worst, cond = (
        create(projection_order=3, step_size=1.0, eps=0.0),
        np.zeros((X.shape[1], 1)),
        3,
        0.0,
        1.0,
    )
    for t in range(len(X)):
        A, b = X[max(0, t + 1 - order) : t + 1], y[max(0, t + 1 - order) : t + 1, None]
        want = w + np.linalg.pinv(A) @ (b - A @ w)
        w = final_weights(learner.partial_fit(X[t : t + 1], y[t : t + 1]))
        worst, cond = nan_max(worst, deviation(w, want)), max(cond, condition(A))
    return Measured(worst, len(X), cond)


def regularized_projection(create: Any, rows: Rows) -> Measured:
    """With step below 1 and eps above 0, each step moves part of the way to the solution of a ridge problem."""
    X, y = rows.X[:60], rows.y[:60]
    eps = 0.1 * float((X * X).sum(1).mean())
    learner = create(projection_order=4, step_size=0.5, eps=eps).partial_fit(X, y)
    want = affine_projections(X, y[:, None], np.zeros((X.shape[1], 1)), learner.settings)
    return Measured(deviation(final_weights(learner), want), len(X), float((X * X).sum(1).max()) / eps)


def min_norm_interpolation(create: Any, rows: Rows) -> Measured:
    """With all rows in the window (APA-dagger) w is the smallest vector that fits all rows."""
    return measure_min_norm(create(projection_order=None, step_size=1.0, eps=0.0), rows)


def repeated_row_is_averaged(create: Any, rows: Rows) -> Measured:
    """When a row is repeated with another target, the step moves w towards the least-squares compromise."""
    x, z = rows.X[:2] / np.linalg.norm(rows.X[:2], axis=1, keepdims=True)
    A, b = np.array([x, z, x]), np.array([[1.0], [0.5], [2.0]])
    w, worst = np.zeros((len(x), 1)), 0.0
    learner = create(projection_order=3, step_size=0.5, eps=0.0)
    for n in range(1, 4):
        w = w + 0.5 * np.linalg.lstsq(A[:n], b[:n] - A[:n] @ w, rcond=1e-3)[0]  # a repeated row counts as dependent
        learner.partial_fit(A[n - 1 : n], b[n - 1])
        worst = nan_max(worst, deviation(final_weights(learner), w))
    return Measured(worst, 3, float(np.linalg.cond(A[:2])))


def complex_steps(create: Any, rows: Rows) -> Measured:
    """On complex rows, each step moves part of the way to the solution of twice as many real rows."""
    eps = 0.1 * largest_energy(rows)
    learner = create(projection_order=3, step_size=0.5, eps=eps)
    return measure_complex_projections(learner, rows, 3, 0.5, eps)


LAWS = (
    Law(projects_onto_solutions, "survey, the program (APA)", exponent=1),
    Law(regularized_projection, "survey, the program (APA)", exponent=1),
    Law(repeated_row_is_averaged, "survey, the program (APA) with the pseudo-inverse", exponent=2),
    Law(min_norm_interpolation, "survey, Theorem 4", exponent=1, shape="wide"),
    Law(complex_steps, "docs/decisions/0053, on survey, the program (APA)", exponent=1, numbers="complex"),
)

"""Measurements for laws of complex learners: a complex problem with n unknowns is a real problem with 2n.

`as_real` converts a complex matrix to a real matrix of twice the size. Sums, products and transposes correspond, so
that every formula for real numbers applies to it. Shapes: X (n, d) complex rows x^H, y (n,), C (d, k).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights
from orfit_bench.catalogue.laws.subspaces import STEP, K, block_steps, gaussian_start
from orfit_bench.catalogue.shared.least_squares import regularized_move, weighted_rows
from orfit_bench.spec import Array
from orfit_bench.spec.law import Measured, Rows, deviation, nan_max

N_ROWS = 60
"""Number of rows that the measurements learn."""
Step = Callable[[Array, Array, float], Array]
"""step(C, A, s): the C after a step of size s by the sum over the rows of A, in real arithmetic."""


def as_real(A: Array) -> Array:
    """The real matrix of twice the size."""
    return np.block([[A.real, -A.imag], [A.imag, A.real]])


def largest_energy(rows: Rows) -> float:
    """The largest |x|^2 of the rows."""
    return float((np.abs(rows.X) ** 2).sum(1).max())


def complex_least_squares(create: Any, rows: Rows) -> Measured:
    """On complex rows, the weights solve the real least-squares problem of twice the size."""
    X, y, _ = rows
    ridge, worst, cond = float(np.linalg.norm(X, -2) ** 2), 0.0, condition(X)
    for ff in (0.97, 1.0):
        learner = create(ridge=ridge, forgetting_factor=ff).partial_fit(X, y)
        A, b = weighted_rows(X, y[:, None], ridge, ff)
        want = np.linalg.lstsq(as_real(A), as_real(b), rcond=None)[0]
        worst = nan_max(worst, deviation(as_real(final_weights(learner)), want))
        cond = max(cond, condition(A))
    return Measured(worst, len(X), cond)


def measure_complex_gradients(learner: Any, rows: Rows, step: float) -> Measured:
    """The deviation from w <- w + step x e with the two real rows of each complex one."""
    X, y = rows.X[:N_ROWS], rows.y[:N_ROWS]
    w = np.zeros((2 * X.shape[1], 2))
    for i in range(len(X)):
        A = as_real(X[i : i + 1])
        w = w + step * A.T @ (as_real(y[i : i + 1, None]) - A @ w)
    return Measured(deviation(as_real(final_weights(learner.partial_fit(X, y))), w), len(X), 1.0)


def complex_steps(create: Any, rows: Rows) -> Measured:
    """On complex rows, the weights are those of steps along two real rows for each complex row."""
    step = 0.5 / largest_energy(rows)
    return measure_complex_gradients(create(step_size=step), rows, step)


def measure_complex_projections(learner: Any, rows: Rows, order: int, step: float, eps: float) -> Measured:
    """The deviation from steps part of the way to the solution of the last rows, by real least-squares problems."""
    X, y = rows.X[:N_ROWS], rows.y[:N_ROWS]
    w, cond = np.zeros((2 * X.shape[1], 2)), 1.0
    for i in range(len(X)):
        last = slice(max(0, i + 1 - order), i + 1)
        A = as_real(X[last])
        w = w + step * regularized_move(A, as_real(y[last, None]) - A @ w, eps)
        cond = max(cond, condition(np.hstack([A, np.sqrt(eps) * np.eye(len(A))])))
    return Measured(deviation(as_real(final_weights(learner.partial_fit(X, y))), w), len(X), cond)


def measure_complex_steps(create: Any, rows: Rows, move: Step, compared: Callable[[Array], Array]) -> Measured:
    """The deviation of `compared(C)` after each step from its value for a step in real arithmetic."""
    size, worst = STEP / largest_energy(rows), 0.0
    learner = create(n_components=K, step_size=size, initial_basis=gaussian_start(rows))
    for A, before, C in block_steps(learner, rows):
        want = move(as_real(before), as_real(A), size / len(A))
        worst = nan_max(worst, deviation(compared(as_real(C)), compared(want)))
    return Measured(worst, len(rows.X), 1.0)


def unprojected(C: Array, A: Array, s: float) -> Array:
    """C + s Y Y'C (Oja)."""
    return np.asarray(C + s * A.T @ (A @ C))


def explicit(C: Array, A: Array, s: float) -> Array:
    """C - s (C X - Y) X' with X = C^+ Y (Krasulina, Sanger)."""
    X = np.linalg.pinv(C) @ A.T
    return np.asarray(C - s * (C @ X - A.T) @ X.T)


def implicit(C: Array, A: Array, s: float) -> Array:
    """(C + s Y X') (I + s X X')^-1 with X = C^+ Y."""
    X = np.linalg.pinv(C) @ A.T
    return np.asarray((C + s * A.T @ X.T) @ np.linalg.inv(np.eye(len(X)) + s * X @ X.T))

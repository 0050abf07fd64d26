"""Laws of Oja's rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.complex_numbers import measure_complex_steps, unprojected
from orfit_bench.catalogue.laws.helpers import condition
from orfit_bench.catalogue.laws.subspaces import (
    K,
    final_basis,
    gaussian_start,
    measure_gradient_steps,
    measure_refusals,
    numerical_gradient,
    projector,
    stays_orthonormal,
)
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation


def gradient(C: Array, A: Array) -> Array:
    """The gradient of the loss (7), (tr Y Y' - tr C'Y Y'C) / 2N: minus half the gradient of the captured variance."""
    return numerical_gradient(lambda C: ((A * A).sum() - ((A @ C) ** 2).sum()) / (2 * len(A)), C)


def orthonormalized_gradient_step(create: Any, rows: Rows) -> Measured:
    """C becomes the orthonormal factor of C - step * gradient of the loss (7) (truth: numerical gradient)."""
    return measure_gradient_steps(gradient, create, rows)


def span_is_independent_of_normalization(create: Any, rows: Rows) -> Measured:
    """The span equals that of the product of all I + step y y' times C_0, orthonormalized only at the end."""
    X, C0 = rows.X, gaussian_start(rows)
    step = float(3 / np.linalg.norm(X, 2) ** 2)
    learner = create(n_components=K, step_size=step, initial_basis=C0).partial_fit(X)
    product = np.eye(X.shape[1])
    for y in X:
        product = (np.eye(len(y)) + step * np.outer(y, y)) @ product
    want = product @ C0
    found = deviation(projector(final_basis(learner)), projector(want))
    return Measured(found, len(X), condition(want))


def full_batch_is_power_iteration(create: Any, rows: Rows) -> Measured:
    """T steps of all rows span V (I + step Lambda)^T V'C_0, where V Lambda V' is the second moment."""
    X, T = rows.X, 10
    values, V = np.linalg.eigh(X.T @ X / len(X))
    step, C0 = float(1 / values[-1]), gaussian_start(rows)
    learner = create(n_components=K, step_size=step, initial_basis=C0)
    for _ in range(T):
        learner.step(X)
    want = (V * (1 + step * values) ** T) @ V.T @ C0
    found = deviation(projector(final_basis(learner)), projector(want))
    return Measured(found, len(X), condition(want))


def imprecise_step_is_refused(create: Any, rows: Rows) -> Measured:
    """A step is refused exactly when it leaves too few digits in the other columns."""
    return measure_refusals(gradient, create, rows)


def complex_steps(create: Any, rows: Rows) -> Measured:
    """On complex rows, the span of C equals that of steps in real arithmetic with matrices of twice the size."""
    return measure_complex_steps(create, rows, unprojected, projector)


LAWS = (
    Law(stays_orthonormal, "Krasulina paper, eq. (6)", exponent=0),
    Law(imprecise_step_is_refused, "docs/decisions/0013, on Krasulina paper, eq. (6)", exponent=0),
    Law(orthonormalized_gradient_step, "Krasulina paper, eq. (7) and Oja's update after eq. (9)", exponent=0),
    Law(span_is_independent_of_normalization, "Krasulina paper, Oja's update after eq. (9)", exponent=1),
    Law(full_batch_is_power_iteration, "Krasulina paper, Oja's update after eq. (9)", exponent=1),
    Law(
        complex_steps,
        "docs/decisions/0053, on Krasulina paper, Oja's update after eq. (9)",
        exponent=0,
        numbers="complex",
    ),
)

"""Laws of Krasulina's rule."""

from __future__ import annotations

from typing import Any

from orfit_bench.catalogue.laws.complex_numbers import explicit, measure_complex_steps
from orfit_bench.catalogue.laws.subspaces import (
    leading_eigenvectors_are_fixed,
    measure_gradient_steps,
    measure_refusals,
    numerical_gradient,
    projector,
    stays_orthonormal,
)
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows


def gradient(C: Array, A: Array) -> Array:
    """The gradient of the loss (6), the mean of |C C'y - y|^2 / 2, which lies in the tangent space."""
    return numerical_gradient(lambda C: ((A @ C @ C.T - A) ** 2).sum() / (2 * len(A)), C)


def orthonormalized_gradient_step(create: Any, rows: Rows) -> Measured:
    """C becomes the orthonormal factor of C - step * gradient of the compression loss (truth: numerical gradient)."""
    return measure_gradient_steps(gradient, create, rows)


def imprecise_step_is_refused(create: Any, rows: Rows) -> Measured:
    """A step is refused exactly when it leaves too few digits in the other columns."""
    return measure_refusals(gradient, create, rows)


def complex_steps(create: Any, rows: Rows) -> Measured:
    """On complex rows, the span of C equals that of steps in real arithmetic with matrices of twice the size."""
    return measure_complex_steps(create, rows, explicit, projector)


LAWS = (
    Law(stays_orthonormal, "Krasulina paper, eq. (6)", exponent=0),
    Law(imprecise_step_is_refused, "docs/decisions/0013, on Krasulina paper, eq. (6)", exponent=0),
    Law(orthonormalized_gradient_step, "Krasulina paper, eq. (6), (8) and (9)", exponent=0),
    Law(leading_eigenvectors_are_fixed, "Krasulina paper, eq. (8)", exponent=0),
    Law(complex_steps, "docs/decisions/0053, on Krasulina paper, eq. (9)", exponent=0, numbers="complex"),
)

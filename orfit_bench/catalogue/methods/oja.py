"""Oja's rule: a gradient step for the variance of the projection, then orthonormalised."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods import _subspace as subspace
from orfit_bench.catalogue.methods import _subspace_laws as laws
from orfit_bench.catalogue.methods._batch import Array
from orfit_bench.catalogue.methods._common import condition
from orfit_bench.spec.law import Law, Measured, Rows, deviation
from orfit_bench.spec.method import Cost, Method


def gradient(C: Array, A: Array) -> Array:
    """Of the loss (7), (tr Y Y' - tr C'Y Y'C) / 2N: minus half the variance of the projection."""
    return laws.numerical_gradient(lambda C: ((A * A).sum() - ((A @ C) ** 2).sum()) / (2 * len(A)), C)


def unprojected_gradient(create: Any, rows: Rows) -> Measured:
    """C becomes the unique orthonormal factor of C - step * gradient of the loss (7), found here numerically."""
    return laws.along(gradient, create, rows)


def any_normalisation(create: Any, rows: Rows) -> Measured:
    """The subspace is that of the product of all I + step y y' times C_0, orthonormalised at the end alone."""
    X, C0 = rows.X, laws.gaussian_start(rows)
    step = float(3 / np.linalg.norm(X, 2) ** 2)
    learner = create(n_components=laws.K, step_size=step, initial_basis=C0).partial_fit(X)
    product = np.eye(X.shape[1])
    for y in X:
        product = (np.eye(len(y)) + step * np.outer(y, y)) @ product
    want = product @ C0
    found = deviation(laws.projection(laws.basis(learner)), laws.projection(want))
    return Measured(found, len(X), condition(want))


def power_iteration(create: Any, rows: Rows) -> Measured:
    """T steps of all rows lead to the span of V (I + step Lambda)^T V'C_0, V Lambda V' being the second moment."""
    X, T = rows.X, 10
    values, V = np.linalg.eigh(X.T @ X / len(X))
    step, C0 = float(1 / values[-1]), laws.gaussian_start(rows)
    learner = create(n_components=laws.K, step_size=step, initial_basis=C0)
    for _ in range(T):
        learner.step(X)
    want = (V * (1 + step * values) ** T) @ V.T @ C0
    found = deviation(laws.projection(laws.basis(learner)), laws.projection(want))
    return Measured(found, len(X), condition(want))


def drowned(create: Any, rows: Rows) -> Measured:
    """A step is refused exactly where it leaves the other columns too few digits."""
    return laws.refuses_what_drowns(gradient, create, rows)


METHOD = Method(
    name="oja",
    summary="Oja's rule for k-PCA: up the gradient of the variance, orthonormalised after every step",
    formulas="C <- QR(C + step/N Y Y'C), the columns of Y being the N rows of the step\nnothing is centred",
    source="Krasulina paper, after eq. (9)",
    settings=subspace.settings(0.01),
    fields=(subspace.ORTHONORMAL,),
    cost=Cost(  # made orthonormal when it must be, for its span does not depend on that
        flops=lambda s, z: 4 * s["n_components"] * z["parameter"],
        floats=lambda s, z: (1 + 2 * s["n_components"] / s["batch_size"]) * z["parameter"],
    ),
    laws=(
        Law(laws.orthonormal, "Krasulina paper, eq. (6)", exponent=0),
        Law(drowned, "docs/decisions/0013, on Krasulina paper, eq. (6)", exponent=0),
        Law(unprojected_gradient, "Krasulina paper, eq. (7) and Oja's update after eq. (9)", exponent=0),
        Law(any_normalisation, "Krasulina paper, Oja's update after eq. (9)", exponent=1),
        Law(power_iteration, "Krasulina paper, Oja's update after eq. (9)", exponent=1),
    ),
    kind="subspace",
    blocks=True,
    merge=subspace.JOINT,
)

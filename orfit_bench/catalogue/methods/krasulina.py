"""Krasulina's rule: a step along the projected gradient of the compression loss, then orthonormalised."""

from __future__ import annotations

from typing import Any

from orfit_bench.catalogue.methods import _subspace as subspace
from orfit_bench.catalogue.methods import _subspace_laws as laws
from orfit_bench.catalogue.methods._batch import Array
from orfit_bench.spec.law import Law, Measured, Rows
from orfit_bench.spec.method import Cost, Method


def gradient(C: Array, A: Array) -> Array:
    """Of the loss (6), the mean of |C C'y - y|^2 / 2; it lies in the tangent space already."""
    return laws.numerical_gradient(lambda C: ((A @ C @ C.T - A) ** 2).sum() / (2 * len(A)), C)


def projected_gradient(create: Any, rows: Rows) -> Measured:
    """C becomes the unique orthonormal factor of C - step * gradient of the compression loss, found numerically."""
    return laws.along(gradient, create, rows)


def drowned(create: Any, rows: Rows) -> Measured:
    """A step is refused exactly where it leaves the other columns too few digits."""
    return laws.refuses_what_drowns(gradient, create, rows)


METHOD = Method(
    name="krasulina",
    summary="Krasulina's rule for k-PCA: down the projected gradient of the compression loss, orthonormalised",
    formulas="X = C'Y\nC <- QR(C - step/N (C X - Y) X'), the columns of Y being the N rows of the step\n"
    "nothing is centred",
    source="Krasulina paper, eq. (8) and (9)",
    settings=subspace.settings(0.01),
    fields=(subspace.ORTHONORMAL,),
    cost=Cost(  # C is read, then read and written; what makes it orthonormal has k numbers
        flops=lambda s, z: 6 * s["n_components"] * z["parameter"],
        floats=lambda s, z: (1 + 3 * s["n_components"] / s["batch_size"]) * z["parameter"],
    ),
    laws=(
        Law(laws.orthonormal, "Krasulina paper, eq. (6)", exponent=0),
        Law(drowned, "docs/decisions/0013, on Krasulina paper, eq. (6)", exponent=0),
        Law(projected_gradient, "Krasulina paper, eq. (6), (8) and (9)", exponent=0),
        Law(laws.stationary, "Krasulina paper, eq. (8)", exponent=0),
    ),
    kind="subspace",
    blocks=True,
    merge=subspace.JOINT,
)

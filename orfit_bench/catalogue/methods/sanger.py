"""Sanger's rule in the Krasulina paper's form: the explicit step for k-PCA without orthonormality.

It is not the generalised Hebbian algorithm that bears Sanger's name: that one subtracts the lower triangle of x x'
alone, so that its columns become the eigenvectors one by one. Here the whole of C x with x = C^+ y is subtracted, and
only the span of C means something.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods import _subspace as subspace
from orfit_bench.catalogue.methods import _subspace_laws as laws
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.method import Cost, Method


def explicit_step(create: Any, rows: Rows) -> Measured:
    """C <- C - step/N (C X - Y) X', X being the minimum-norm least-squares coordinates of the rows (by SVD)."""
    step, worst = laws.relative_step(rows), 0.0
    for A, C, found in laws.free_steps(create, rows, step):
        X = np.linalg.pinv(C) @ A.T
        want = C - step / len(A) * (C @ X - A.T) @ X.T
        worst = largest(worst, deviation(found, want))
    gain = laws.STEP / np.linalg.svd(laws.MIXED, compute_uv=False)[-1]  # step |y| |x|, |x| <= |y| / sigma_min
    return Measured(worst, len(rows.X), laws.free_condition(gain))


METHOD = Method(
    name="sanger",
    summary="Sanger's rule for k-PCA (pseudo-inverse form, no triangle): the explicit step, never orthonormalised",
    formulas="X = C^+ Y\nC <- C - step/N (C X - Y) X', the columns of Y being the N rows of the step\n"
    "nothing is centred",
    source="Krasulina paper, the explicit variant after eq. (12)",
    settings=subspace.settings(1e-6),
    fields=(subspace.FREE,),
    cost=Cost(  # an inverse of C'C goes along; C is read, then read and written
        flops=lambda s, z: 6 * s["n_components"] * z["parameter"] + 7 * s["n_components"] ** 2,
        floats=lambda s, z: (1 + 3 * s["n_components"]) * z["parameter"] + 2 * s["n_components"] ** 2,
    ),
    laws=(
        Law(explicit_step, "Krasulina paper, the explicit variant after eq. (12)", exponent=1),
        Law(laws.stationary, "Krasulina paper, eq. (11)", exponent=0),
    ),
    kind="subspace",
    blocks=True,
    averages=("basis",),
    merge=subspace.MEAN,
)

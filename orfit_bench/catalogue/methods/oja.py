"""Oja's rule: a gradient step for the variance of the projection, then orthonormalised."""

from __future__ import annotations

from orfit_bench.catalogue.laws.oja import LAWS
from orfit_bench.catalogue.shared.subspaces import ORTHONORMAL, PROJECTION_MERGE, step_settings
from orfit_bench.spec.method import Cost, Method

METHOD = Method(
    name="oja",
    summary="Oja's rule for k-PCA: up the gradient of the variance, orthonormalised after every step",
    formulas="C <- QR(C + step/N Y Y'C), the columns of Y being the N rows of the step\nnothing is centred",
    source="Krasulina paper, after eq. (9)",
    settings=step_settings(0.01),
    fields=(ORTHONORMAL,),
    cost=Cost(  # made orthonormal when it must be, for its span does not depend on that
        flops=lambda s, z: 4 * s["n_components"] * z["parameter"],
        floats=lambda s, z: (1 + 2 * s["n_components"] / s["batch_size"]) * z["parameter"],
    ),
    laws=LAWS,
    kind="subspace",
    blocks=True,
    merge=PROJECTION_MERGE,
)

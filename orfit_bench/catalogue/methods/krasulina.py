"""Krasulina's rule: a step along the projected gradient of the compression loss, then orthonormalised."""

from __future__ import annotations

from orfit_bench.catalogue.laws.krasulina import LAWS
from orfit_bench.catalogue.shared.subspaces import ORTHONORMAL, PROJECTION_MERGE, step_settings
from orfit_bench.spec.method import Cost, Method

METHOD = Method(
    name="krasulina",
    summary="Krasulina's rule for k-PCA: down the projected gradient of the compression loss, orthonormalised",
    formulas="X = C'Y\nC <- QR(C - step/N (C X - Y) X'), the columns of Y being the N rows of the step\n"
    "nothing is centred",
    source="Krasulina paper, eq. (8) and (9)",
    settings=step_settings(0.01),
    fields=(ORTHONORMAL,),
    cost=Cost(  # C is read, then read and written; what makes it orthonormal has k numbers
        flops=lambda s, z: 6 * s["n_components"] * z["parameter"],
        floats=lambda s, z: (1 + 3 * s["n_components"] / s["batch_size"]) * z["parameter"],
    ),
    laws=LAWS,
    kind="subspace",
    blocks=True,
    merge=PROJECTION_MERGE,
)

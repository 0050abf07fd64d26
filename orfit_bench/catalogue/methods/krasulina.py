"""Krasulina's rule: a projected gradient step on the compression loss, then orthonormalization."""

from __future__ import annotations

from orfit_bench.catalogue.laws.krasulina import LAWS
from orfit_bench.catalogue.shared.subspaces import ORTHONORMAL, PROJECTION_MERGE, step_settings
from orfit_bench.spec import Combine, Cost, KernelSpec, Method, StateSpec, Theory

METHOD = Method(
    name="krasulina",
    summary="Krasulina's rule for k-PCA: a projected gradient step on the compression loss, then orthonormalization",
    use_when="You track the k leading principal directions with an orthonormal basis, taking small steps along the "
    "projected gradient: a row that the basis explains fully leaves the basis unchanged. For small steps it behaves "
    "like oja.",
    avoid_when="Steps are large or the scale of the rows varies: a large step turns the basis towards the residual "
    "of a single row, whereas implicit_krasulina is stable for any step. Singular values are needed: use "
    "incremental_pca.",
    formulas="X = C'Y\nC <- QR(C - step/N (C X - Y) X'), with the N rows of the step as columns of Y\n"
    "nothing is centred",
    source="Krasulina paper, eq. (8) and (9)",
    kind="subspace",
    settings=step_settings(0.01),
    state=StateSpec((ORTHONORMAL,)),
    kernel=KernelSpec(has_complex_form=lambda settings: True, blocks=True),
    theory=Theory(
        laws=LAWS,
        cost=Cost(  # C is read, then read and written; restoring orthonormality needs k numbers
            flops=lambda s, z: 6 * s["n_components"] * z["parameter"],
            floats=lambda s, z: (1 + 3 * s["n_components"] / s["batch_size"]) * z["parameter"],
        ),
    ),
    combine=Combine(PROJECTION_MERGE),
)

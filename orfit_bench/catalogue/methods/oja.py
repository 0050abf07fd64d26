"""Oja's rule: a gradient step that increases the captured variance, then orthonormalization."""

from __future__ import annotations

from orfit_bench.catalogue.laws.oja import LAWS
from orfit_bench.catalogue.shared.subspaces import ORTHONORMAL, PROJECTION_MERGE, step_settings
from orfit_bench.spec import Combine, Cost, KernelSpec, Method, StateSpec, Theory

METHOD = Method(
    name="oja",
    summary="Oja's rule for k-PCA: a gradient step that increases the captured variance, then orthonormalization",
    use_when="You track the k leading principal directions of a stream with an orthonormal basis, in O(k d) memory, "
    "and can choose a step size; a constant step also follows a drifting subspace.",
    avoid_when="The step size cannot be tuned: incremental_pca has none, and implicit_krasulina tolerates large "
    "steps. Singular values, or an accurate solution after few rows, are needed: use incremental_pca.",
    formulas="C <- QR(C + step/N Y Y'C), with the N rows of the step as columns of Y\nnothing is centred",
    source="Krasulina paper, after eq. (9)",
    kind="subspace",
    settings=step_settings(0.01),
    state=StateSpec((ORTHONORMAL,)),
    kernel=KernelSpec(has_complex_form=lambda settings: True, blocks=True),
    theory=Theory(
        laws=LAWS,
        cost=Cost(  # with delayed orthonormalization, which does not change the span
            flops=lambda s, z: 4 * s["n_components"] * z["parameter"],
            floats=lambda s, z: (1 + 2 * s["n_components"] / s["batch_size"]) * z["parameter"],
        ),
    ),
    combine=Combine(PROJECTION_MERGE),
)

"""Sanger's rule in the Krasulina paper's form: an explicit gradient step for k-PCA without orthonormalization.

This is not the generalized Hebbian algorithm, which is also named after Sanger: that algorithm subtracts only the lower
triangle of x x', so that its columns become the eigenvectors one by one. Here the whole of C x with x = C^+ y is
subtracted, and only the span of C has a meaning.
"""

from __future__ import annotations

from orfit_bench.catalogue.laws.sanger import LAWS
from orfit_bench.catalogue.shared.subspaces import MEAN_MERGE, UNCONSTRAINED, step_settings
from orfit_bench.spec import Combine, Cost, KernelSpec, Method, StateSpec, Theory

METHOD = Method(
    name="sanger",
    summary="Sanger's rule for k-PCA in its pseudo-inverse form: an explicit gradient step without orthonormalization",
    use_when="You want to reproduce the explicit rule of the Krasulina paper, or compare explicit with implicit "
    "steps. Small steps on rows of known, uniform scale are required.",
    avoid_when="In practice: implicit_krasulina costs the same and is stable for any step. You need the individual "
    "eigenvectors, which the generalized Hebbian algorithm estimates: this rule estimates only the span.",
    formulas="X = C^+ Y\nC <- C - step/N (C X - Y) X', with the N rows of the step as columns of Y\nnothing is centred",
    source="Krasulina paper, the explicit variant after eq. (12)",
    kind="subspace",
    settings=step_settings(1e-6),
    state=StateSpec((UNCONSTRAINED,)),
    kernel=KernelSpec(has_complex_form=lambda settings: True, blocks=True),
    theory=Theory(
        laws=LAWS,
        cost=Cost(  # also updates (C'C)^-1; C is read, then read and written
            flops=lambda s, z: 6 * s["n_components"] * z["parameter"] + 7 * s["n_components"] ** 2,
            floats=lambda s, z: (1 + 3 * s["n_components"]) * z["parameter"] + 2 * s["n_components"] ** 2,
        ),
    ),
    combine=Combine(MEAN_MERGE, averages=("basis",)),
)

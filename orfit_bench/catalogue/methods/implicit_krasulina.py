"""The implicit form of Krasulina's rule, without orthonormalization: an online EM step for k-PCA."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from orfit_bench.catalogue.laws.implicit_krasulina import LAWS
from orfit_bench.catalogue.shared.subspaces import MEAN_MERGE, UNCONSTRAINED, step_settings
from orfit_bench.spec import Array, Combine, Cost, Field, KernelSpec, Method, Settings, StateSpec, Theory


def derived(fields: Mapping[str, Array], settings: Settings) -> dict[str, Array]:
    """The inverse (C'C)^-1 that belongs to C."""
    pseudo = np.linalg.pinv(fields["basis"])
    return {"inverse": pseudo @ pseudo.conj().T}


METHOD = Method(
    name="implicit_krasulina",
    summary="implicit form of Krasulina's rule for k-PCA: the gradient is taken at the end of the step; no "
    "orthonormalization",
    use_when="You track the k leading principal directions and cannot tune the step: any step size is stable, "
    "including large ones and rows of varying scale, at about the cost of oja.",
    avoid_when="You need an orthonormal state or singular values: use oja or incremental_pca. The subspace drifts "
    "and you need a known tracking rate: C is not normalized, and the effective step depends on its scale.",
    formulas="x = C^+ y\nC <- C - step/(1 + step |x|^2) (C x - y) x' for one row\n"
    "C <- (Y X'/N + C/step) (X X'/N + I/step)^-1 for the N columns of Y, X = C^+ Y\nnothing is centred",
    source="Krasulina paper, eq. (12) and (13); (C'C)^-1 as in Efficient Implementation",
    kind="subspace",
    settings=step_settings(0.01),
    state=StateSpec(
        (
            UNCONSTRAINED,
            Field(
                "inverse",
                ("n_components", "n_components"),
                "(C'C)^-1 from the first row on, so that C^+ = (C'C)^-1 C'",
                compared="nothing",
            ),
        )
    ),
    kernel=KernelSpec(has_complex_form=lambda settings: True, blocks=True),
    theory=Theory(
        laws=LAWS,
        cost=Cost(  # also updates (C'C)^-1; C is read, then read and written
            flops=lambda s, z: 6 * s["n_components"] * z["parameter"] + 7 * s["n_components"] ** 2,
            floats=lambda s, z: (1 + 3 * s["n_components"]) * z["parameter"] + 2 * s["n_components"] ** 2,
        ),
    ),
    combine=Combine(MEAN_MERGE, averages=("basis",), derive=derived),
)

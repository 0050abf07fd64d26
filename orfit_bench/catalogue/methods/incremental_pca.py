"""Incremental PCA: truncated singular value decomposition of the current basis and the new rows."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.laws.incremental_pca import LAWS
from orfit_bench.catalogue.shared.subspaces import BATCH_SIZE, DIMS, N_COMPONENTS
from orfit_bench.spec import Array, Combine, Cost, Field, KernelSpec, Merge, Method, Settings, Side, StateSpec, Theory


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The k leading singular vectors and values of [U_a Sigma_a, U_b Sigma_b]; zero columns for values of 0."""
    k = settings["n_components"]
    M = np.hstack([side.fields["basis"] * side.fields["singular_values"] for side in (a, b)])
    if not np.isfinite(M).all():
        raise ValueError("the product of a basis and its singular values overflows")
    U, values, _ = np.linalg.svd(M, full_matrices=False)
    there = values[:k] > max(M.shape) * a.eps * values[0]
    return {"basis": np.where(there, U[:, :k], 0), "singular_values": np.where(there, values[:k], 0)}


METHOD = Method(
    name="incremental_pca",
    summary="incremental PCA: truncated singular value decomposition of the current basis and the new rows",
    use_when="You want the k leading principal directions and singular values without a step size, accurate after "
    "few rows; the result is exact while the rank of the rows is at most k.",
    avoid_when="The subspace drifts: all rows count equally and old ones are never forgotten; oja with a constant "
    "step adapts. Rows are noisy and their leading singular values are close: truncation after every step can discard "
    "a direction that matters later. Singular values tie at the cut: rounding decides which direction stays, so that "
    "the result can depend on the chunk size.",
    formulas="U, Sigma <- the k leading singular vectors and values of [U Sigma, Y], Y the N rows as columns\n"
    "nothing is centred",
    source="Krasulina paper, Experiments (the incremental algorithm of Arora et al. 2012); thesis, eq. (3.3) and (3.4)",
    kind="subspace",
    settings=(N_COMPONENTS, BATCH_SIZE),
    state=StateSpec(
        (
            Field("basis", DIMS, "U, orthonormal columns; zero while fewer directions have been seen", compared="span"),
            Field(
                "singular_values", ("n_components",), "Sigma, descending; zero while fewer directions have been seen"
            ),
        )
    ),
    kernel=KernelSpec(has_complex_form=lambda settings: True, blocks=True),
    theory=Theory(
        laws=LAWS,
        cost=Cost(  # with delayed rotations, two passes over U
            flops=lambda s, z: 8 * s["n_components"] * z["parameter"],
            floats=lambda s, z: (1 + 2 * s["n_components"] / s["batch_size"]) * z["parameter"],
        ),
    ),
    combine=Combine(
        Merge(
            "approximate",
            "the k leading singular vectors of both [U Sigma] side by side; exact while the rank is at most k",
            merge,
        )
    ),
)

"""Incremental PCA: the singular value decomposition of what is kept and the new rows, truncated."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.laws.incremental_pca import LAWS
from orfit_bench.catalogue.shared.subspaces import BATCH_SIZE, DIMS, N_COMPONENTS
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Array, Cost, Field, Method, Settings


def joined(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The k leading singular vectors and values of [U_a Sigma_a, U_b Sigma_b]; zero columns for values of 0."""
    k = settings["n_components"]
    M = np.hstack([side.fields["basis"] * side.fields["singular_values"] for side in (a, b)])
    U, values, _ = np.linalg.svd(M, full_matrices=False)
    there = values[:k] > max(M.shape) * np.finfo(float).eps * values[0]
    return {"basis": np.where(there, U[:, :k], 0), "singular_values": np.where(there, values[:k], 0)}


METHOD = Method(
    name="incremental_pca",
    summary="incremental PCA: a truncated singular value decomposition of what is kept and the new rows",
    formulas="U, Sigma <- the k leading singular vectors and values of [U Sigma, Y], Y the N rows as columns\n"
    "nothing is centred",
    source="Krasulina paper, Experiments (the incremental algorithm of Arora et al. 2012); thesis, eq. (3.3) and (3.4)",
    settings=(N_COMPONENTS, BATCH_SIZE),
    fields=(
        Field("basis", DIMS, "U, orthonormal columns; zero where fewer directions were seen", compared="span"),
        Field("singular_values", ("n_components",), "Sigma, descending; zero where fewer directions were seen"),
    ),
    cost=Cost(  # its rotation delayed, which leaves two passes over U
        flops=lambda s, z: 8 * s["n_components"] * z["parameter"],
        floats=lambda s, z: (1 + 2 * s["n_components"] / s["batch_size"]) * z["parameter"],
    ),
    laws=LAWS,
    kind="subspace",
    blocks=True,
    merge=Merge(
        "approximate",
        "the k leading singular vectors of both [U Sigma]; exact while the rank is at most k",
        joined,
    ),
)

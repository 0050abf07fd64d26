"""Incremental PCA: the singular value decomposition of what is kept and the new rows, truncated."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods import _subspace as subspace
from orfit_bench.catalogue.methods import _subspace_laws as laws
from orfit_bench.catalogue.methods._batch import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Cost, Field, Method, Settings


def moment(learner: Any) -> Array:
    """U Sigma^2 U' of a learner: what it knows, whatever the signs of its columns."""
    state = learner.state()
    kept = state["basis"].values.astype(float) * state["singular_values"].values
    return np.asarray(kept @ kept.T)


def batch_pca(create: Any, rows: Rows) -> Measured:
    """While the rank is at most k, U Sigma^2 U' is the second moment of all rows and Sigma their singular values."""
    X, worst = rows.X, 0.0
    learner, lo = create(n_components=len(X)), 0
    for size in (1, 1, 5, 4, len(X) - 11):
        learner.step(X[lo : lo + size])
        lo += size
        values = np.zeros(len(X))
        values[:lo] = np.linalg.svd(X[:lo], compute_uv=False)
        found = deviation(learner.state()["singular_values"].values, values)
        worst = largest(worst, found, deviation(moment(learner), X[:lo].T @ X[:lo]))
    return Measured(worst, 4 * len(X), 1.0)  # a moment is a square, with twice the rounding


def incremental_svd(create: Any, rows: Rows) -> Measured:
    """After truncations too U Sigma^2 U' is what the leading eigenvectors of U Sigma^2 U' + Y Y' leave, row by row."""
    k, gap = 5, np.inf
    want = np.zeros((rows.X.shape[1],) * 2)
    for x in rows.X:
        values, V = np.linalg.eigh(want + np.outer(x, x))
        gap = min(gap, 1 - values[-k - 1] / values[-k] if values[-k] > 0 else np.inf)
        want = (V[:, -k:] * values[-k:]) @ V[:, -k:].T
    found = deviation(moment(create(n_components=k).partial_fit(rows.X)), want)
    return Measured(found, len(rows.X), 1 / gap)  # a near tie at the cut amplifies rounding


def orthonormal(create: Any, rows: Rows) -> Measured:
    """The columns of U are orthonormal, those not filled yet are zero."""
    k, worst = 5, 0.0
    learner, d = create(n_components=k), rows.X.shape[1]
    for n, x in enumerate(rows.X, start=1):
        U = laws.basis(learner.partial_fit(x[None]))
        worst = largest(worst, deviation(U.T @ U, np.diag(np.arange(k) < n)))
    return Measured(worst, d * (k + 1), 1.0)  # numbers that one step's decomposition reflects


def drops_rounding(create: Any, rows: Rows) -> Measured:
    """Rows along one direction fill one column, whatever their scale: what is rounding beside it is zero."""
    x, worst = rows.X[0] / np.linalg.norm(rows.X[0]), 0.0
    for k in (-60, 0, 60):
        A = np.ldexp(np.outer(np.arange(1.0, 8.0) / 3, x), k)
        state = create(n_components=2).partial_fit(A).state()
        Sigma = np.array([np.linalg.norm(A), 0])
        worst = largest(
            worst, deviation(state["singular_values"].values, Sigma), float(abs(state["basis"][:, 1]).max())
        )
    return Measured(worst, rows.X.shape[1], 1.0)


def merged(create: Any, rows: Rows) -> Measured:
    """While the rank is at most k, two learners merged know the second moment of both parts."""
    X, half = rows.X, len(rows.X) // 2
    one, other = (create(n_components=len(X)).partial_fit(part) for part in (X[:half], X[half:]))
    return Measured(deviation(moment(one.merge(other)), X.T @ X), 4 * len(X), 1.0)


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
    settings=(subspace.N_COMPONENTS, subspace.BATCH_SIZE),
    fields=(
        Field("basis", subspace.DIMS, "U, orthonormal columns; zero where fewer directions were seen", compared="span"),
        Field("singular_values", ("n_components",), "Sigma, descending; zero where fewer directions were seen"),
    ),
    cost=Cost(  # its rotation delayed, which leaves two passes over U
        flops=lambda s, z: 8 * s["n_components"] * z["parameter"],
        floats=lambda s, z: (1 + 2 * s["n_components"] / s["batch_size"]) * z["parameter"],
    ),
    laws=(
        Law(batch_pca, "Krasulina paper, eq. (2); thesis, eq. (3.3)", exponent=0, shape="wide"),
        Law(incremental_svd, "thesis, eq. (3.3) and (3.4)", exponent=1),
        Law(drops_rounding, "Krasulina paper, incremental PCA", exponent=0),
        Law(orthonormal, "Krasulina paper, eq. (6)", exponent=0),
        Law(merged, "Krasulina paper, eq. (2)", exponent=0, shape="wide"),
    ),
    kind="subspace",
    blocks=True,
    merge=Merge(
        "approximate",
        "the k leading singular vectors of both [U Sigma]; exact while the rank is at most k",
        joined,
    ),
)

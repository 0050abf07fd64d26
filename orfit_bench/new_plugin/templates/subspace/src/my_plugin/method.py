"""Normalized Oja: a step along x x'C / |x|^2, then orthonormalization, so that the length of a row does not matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from orfit_bench import spec

Create = Callable[..., Any]


def random_start(settings: spec.Settings, sizes: spec.Sizes, draw: spec.Draw) -> spec.Array:
    """An orthonormal basis drawn at random, the same for the same random_state."""
    Q: spec.Array = np.linalg.qr(draw((sizes["feature"], sizes["n_components"])))[0]
    return Q


def basis_of(learner: Any) -> spec.Array:
    """The basis C (d, k) of a learner in double precision."""
    C: spec.Array = learner.array("basis").astype(float)
    return C


def stays_orthonormal(create: Create, rows: spec.Rows) -> spec.Measured:
    """C'C = I after any number of rows."""
    C = basis_of(create(n_components=2, step_size=0.5).partial_fit(rows.X))
    return spec.Measured(float(np.linalg.norm(C.T @ C - np.eye(2))), len(rows.X), 1.0)


def spans_a_product(create: Create, rows: spec.Rows) -> spec.Measured:
    """The span is that of the product of all I + step x x' / |x|^2, times the basis after the first row."""
    X, step = rows.X[:20], 0.3
    learner = create(n_components=2, step_size=step).partial_fit(X[:1])
    C = basis_of(learner)
    for x in X[1:]:
        C = C + step * np.outer(x, x @ C) / (x @ x)
    Q, found = np.linalg.qr(C)[0], basis_of(learner.partial_fit(X[1:]))
    return spec.Measured(spec.deviation(found @ found.T, Q @ Q.T), len(X), float(np.linalg.cond(C)))


METHOD = spec.Method(
    name="my_plugin",
    summary="normalized Oja rule for k-PCA: the step does not depend on the length of a row",
    use_when="You track the leading directions of rows whose lengths differ, and only their directions matter.",
    avoid_when="Long rows should count more, as in PCA: use oja or incremental_pca.",
    formulas="C <- QR(C + step x x'C / |x|^2)\nnothing is centred",
    source="E. Oja, Simplified neuron model as a principal component analyzer, with normalized rows",
    kind="subspace",
    settings=(
        spec.Setting("n_components", spec.Integer(1), 2, "number of directions k to estimate, at most d"),
        spec.Setting("step_size", spec.Number(0, closed="neither"), 0.05, "step size, relative to the row"),
    ),
    state=spec.StateSpec(
        (
            spec.Field(
                "basis",
                ("feature", "n_components"),
                "C, orthonormal columns",
                start=random_start,
                compared="span",
            ),
        )
    ),
    kernel=spec.KernelSpec(),
    theory=spec.Theory(
        laws=(
            spec.Law(stays_orthonormal, "the definition of an orthonormal basis", exponent=0),
            spec.Law(spans_a_product, "orthonormalization does not change a span", exponent=1),
        ),
        cost=spec.Cost(
            flops=lambda s, z: 4 * s["n_components"] * z["parameter"],
            floats=lambda s, z: (1 + 2 * s["n_components"]) * z["parameter"],
        ),
    ),
)

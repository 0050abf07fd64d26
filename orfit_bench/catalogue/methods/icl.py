"""ICL: fit the new row under the constraint that all former ones stay fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods._batch import while_memory_lasts
from orfit_bench.catalogue.methods._common import (
    BASIS,
    MEMORY,
    WEIGHTS,
    against_min_norm,
    condition,
    directions,
    final_weights,
)
from orfit_bench.catalogue.methods._merging import UNION, in_parts
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.method import Cost, Growth, Method


def min_norm(create: Any, rows: Rows) -> Measured:
    """The weights are the smallest that fit all rows."""
    return against_min_norm(create(), rows)


def projection(create: Any, rows: Rows) -> Measured:
    """I - U U' is the projection off all rows, eq. (5)."""
    U = np.asarray(create().partial_fit(rows.X, rows.y).state()["basis"].values, float).T
    want = np.linalg.pinv(rows.X) @ rows.X
    return Measured(deviation(U @ U.T, want), len(rows.X), condition(rows.X))


def constrained(create: Any, rows: Rows) -> Measured:
    """Each step minimises the new row's squared error among the weights that fit all former rows, moving least."""
    X, y, _ = rows
    learner, w, worst = create(), np.zeros((X.shape[1], 1)), 0.0
    for t in range(len(X)):
        N = np.linalg.svd(X[:t])[2][t:].T if t else np.eye(X.shape[1])  # where the former rows see nothing
        want = w + N @ np.linalg.lstsq(X[t : t + 1] @ N, y[t : t + 1, None] - X[t : t + 1] @ w, rcond=None)[0]
        w = final_weights(learner.partial_fit(X[t : t + 1], y[t : t + 1]))
        worst = largest(worst, deviation(w, want))
    return Measured(worst, len(X), condition(X))


def merges(create: Any, rows: Rows) -> Measured:
    """Learners of a part of the rows each merge into the smallest weights, and the projection, of all rows."""
    state = in_parts(create, rows.X, rows.y, cuts=(7, 12)).state()
    U, inverse = state["basis"].values.astype(float), np.linalg.pinv(rows.X)
    found = largest(deviation(U.T @ U, inverse @ rows.X), deviation(state["w"].values[:, 0], inverse @ rows.y))
    return Measured(found, len(rows.X), condition(rows.X))


METHOD = Method(
    name="icl",
    summary="ideal continual learner: fit the new row, keep all former ones fitted",
    formulas="r = x - U U'x\nw <- w + e r / (x'r)\nU <- [U r/|r|] while there is room",
    source="survey, Proposition 1 and Remark 1",
    settings=(MEMORY,),
    fields=(WEIGHTS, BASIS),
    cost=Cost(  # rows in blocks, made orthogonal once
        flops=lambda s, z: (4 * z["count"] + 4 * z["output"] + 4) * z["parameter"],
        floats=lambda s, z: (2 + 2 * z["output"]) * z["parameter"],
    ),
    laws=(
        Law(min_norm, "survey, Theorem 5", exponent=1, shape="wide"),
        Law(constrained, "survey, Proposition 1", exponent=1, shape="wide"),
        Law(projection, "survey, Remark 1 with eq. (5) and (7)", exponent=1, shape="wide"),
        Law(merges, "survey, Theorem 5 with eq. (5)", exponent=1, shape="wide"),
    ),
    merge=UNION,
    batch=while_memory_lasts,
    models=True,
    blocks=True,
    grows=Growth("direction", directions),
)

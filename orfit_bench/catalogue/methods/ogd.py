"""OGD: gradient steps that leave former predictions alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods._batch import Array
from orfit_bench.catalogue.methods._common import (
    BASIS,
    MEMORY,
    STEP_SIZE,
    WEIGHTS,
    condition,
    directions,
    final_weights,
)
from orfit_bench.catalogue.methods._merging import residual, union
from orfit_bench.spec.law import Law, Measured, Rows, deviation, here, largest
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Cost, Growth, Method, Settings


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array | None:
    """In the coordinates of X = L Q' the errors solve a triangular system; n independent rows, memory not full."""
    if len(X) > min(X.shape[1], settings["memory"] or X.shape[1]):
        return None
    return projected_steps(X, Y, w0, settings["step_size"](np.arange(1, len(X) + 1)))


def projected_steps(X: Array, Y: Array, w0: Array, steps: Array) -> Array:
    """Row t moves w by step_t e_t l_tt q_t, so that e = y - X w0 - strictly-lower(L) diag(step diag L) e."""
    Qt, Rt = np.linalg.qr(X.T)
    sign = np.sign(np.diagonal(Rt))
    L, Q = (Rt * sign[:, None]).T, Qt * sign
    scale = steps * np.diagonal(L)
    e = np.linalg.solve(np.eye(len(X)) + np.tril(L, -1) * scale, Y - X @ w0)
    w: Array = w0 + Q @ (scale[:, None] * e)
    return w


def closed_form(create: Any, rows: Rows) -> Measured:
    """In the coordinates of an LQ factorisation all errors solve one triangular system."""
    X, y, _ = rows
    step = 0.5 / (X * X).sum(1).max()
    got = final_weights(create(step_size=step).partial_fit(X, y))
    want = projected_steps(X, y[:, None], np.zeros((X.shape[1], 1)), np.full(len(X), step))
    return Measured(deviation(got, want), len(X), condition(X))


def never_forgets(create: Any, rows: Rows) -> Measured:
    """A step moves the prediction of its own row and leaves those of all former rows as they were."""
    X, y, _ = rows
    learner, worst = create(step_size=1.0 / (X * X).sum(1).max()), 0.0
    scale = abs(y).max()
    for t in range(1, len(X)):
        before = here(learner.partial_fit(X[t - 1 : t], y[t - 1 : t]).predict(X[: t + 1]))
        after = here(learner.copy().partial_fit(X[t : t + 1], y[t : t + 1]).predict(X[: t + 1]))
        learned = abs(after[t] - before[t]) > 0 or before[t] == y[t]
        worst = largest(worst, float(abs(after - before)[:t].max() / scale) if learned else float("inf"))
    return Measured(worst, len(X), condition(X))


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """b's whole move off the span of a's rows; as in learning, a basis that is full takes in no more."""
    U, room = a.fields["basis"], settings["memory"] or a.fields["w"].shape[0]
    move = b.fields["w"] - a.start["w"]
    both = union(a, b)["basis"]
    return {"w": a.fields["w"] + residual(U, move), "basis": both[:room]}


METHOD = Method(
    name="ogd",
    summary="orthogonal gradient descent: steps that leave former predictions alone",
    formulas="r = x - U U'x\nw <- w + step e r\nU <- [U r/|r|] while there is room, the gradient taken after the step",
    source="thesis, eq. (2.4); survey, (OGD)",
    settings=(STEP_SIZE, MEMORY),
    fields=(WEIGHTS, BASIS),
    examples=({"memory": 3, "step_size": 0.05},),
    cost=Cost(  # rows in blocks, made orthogonal once
        flops=lambda s, z: (4 * z["count"] + 4 * z["output"] + 4) * z["parameter"],
        floats=lambda s, z: (2 + 2 * z["output"]) * z["parameter"],
    ),
    laws=(
        Law(closed_form, "thesis, eq. (2.4); survey, (OGD)", exponent=1, shape="wide"),
        Law(never_forgets, "thesis, Lemma 1", exponent=1, shape="wide"),
    ),
    batch=batch,
    models=True,
    blocks=True,
    fresh=True,
    grows=Growth("direction", directions),
    merge=Merge(
        "approximate",
        "the other's move off the span of this one's rows, whose predictions stay; the union of both bases while there "
        "is room",
        merge,
    ),
)

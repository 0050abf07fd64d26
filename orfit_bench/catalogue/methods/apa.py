"""APA: fit the last rows together, moving least."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods._batch import Array
from orfit_bench.catalogue.methods._common import WEIGHTS, against_min_norm, condition, final_weights
from orfit_bench.catalogue.methods._merging import mean
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Cost, Field, Growth, Method, Settings, Sizes
from orfit_bench.spec.setting import Setting


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """Each step as a regularised least-squares problem of its own, solved by an orthogonal factorisation."""
    w, order, eps = w0.copy(), settings["projection_order"] or len(X), settings["eps"]
    steps = settings["step_size"](np.arange(1, len(X) + 1))
    for t in range(len(X)):
        A, b = X[max(0, t + 1 - order) : t + 1], Y[max(0, t + 1 - order) : t + 1]
        w = w + steps[t] * move(A, b - A @ w, eps)
    return w


def move(A: Array, errors: Array, eps: float) -> Array:
    """The z that minimises |A z - errors|^2 + eps |z|^2; for eps 0 the smallest such z."""
    k, d = A.shape
    if not eps:
        return np.asarray(np.linalg.pinv(A, rcond=np.sqrt(np.finfo(float).eps)) @ errors)
    both = np.hstack([A, np.sqrt(eps) * np.eye(k)])  # the smallest (z, v) with A z + sqrt(eps) v = errors
    return np.asarray(np.linalg.lstsq(both, errors, rcond=None)[0][:d])


def projects(create: Any, rows: Rows) -> Measured:
    """With step 1 and eps 0 each step is the orthogonal projection of w onto the last rows' solutions."""
    X, y, _ = rows
    learner, w, order, worst, cond = (
        create(projection_order=3, step_size=1.0, eps=0.0),
        np.zeros((X.shape[1], 1)),
        3,
        0.0,
        1.0,
    )
    for t in range(len(X)):
        A, b = X[max(0, t + 1 - order) : t + 1], y[max(0, t + 1 - order) : t + 1, None]
        want = w + np.linalg.pinv(A) @ (b - A @ w)
        w = final_weights(learner.partial_fit(X[t : t + 1], y[t : t + 1]))
        worst, cond = largest(worst, deviation(w, want)), max(cond, condition(A))
    return Measured(worst, len(X), cond)


def regularised(create: Any, rows: Rows) -> Measured:
    """With step below 1 and eps above 0 each step goes part of the way to a ridge problem's solution."""
    X, y = rows.X[:60], rows.y[:60]
    eps = 0.1 * float((X * X).sum(1).mean())
    learner = create(projection_order=4, step_size=0.5, eps=eps).partial_fit(X, y)
    want = batch(X, y[:, None], np.zeros((X.shape[1], 1)), learner.settings)
    return Measured(deviation(final_weights(learner), want), len(X), float((X * X).sum(1).max()) / eps)


def min_norm(create: Any, rows: Rows) -> Measured:
    """With all rows kept (APA-dagger) w is the smallest that fits them all."""
    return against_min_norm(create(projection_order=None, step_size=1.0, eps=0.0), rows)


def repeated_row(create: Any, rows: Rows) -> Measured:
    """Where a row comes again with another target the step is a share of the least-squares compromise."""
    x, z = rows.X[:2] / np.linalg.norm(rows.X[:2], axis=1, keepdims=True)
    A, b = np.array([x, z, x]), np.array([[1.0], [0.5], [2.0]])
    w, worst = np.zeros((len(x), 1)), 0.0
    learner = create(projection_order=3, step_size=0.5, eps=0.0)
    for n in range(1, 4):
        w = w + 0.5 * np.linalg.lstsq(A[:n], b[:n] - A[:n] @ w, rcond=1e-3)[0]  # a repeated row counts as dependent
        learner.partial_fit(A[n - 1 : n], b[n - 1])
        worst = largest(worst, deviation(final_weights(learner), w))
    return Measured(worst, 3, float(np.linalg.cond(A[:2])))


def _rows_kept(settings: Settings, sizes: Sizes) -> int | None:
    order = settings["projection_order"]
    return None if order is None else order * sizes["gradients"]


def _window(settings: Settings, sizes: Sizes) -> float:
    return float(settings["projection_order"] or max(1, sizes["count"]))


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The mean of the weights, by rows seen; in the window b's rows follow a's."""
    order = settings["projection_order"]
    q = len(b.fields["rows"]) // min(b.rows, order or b.rows)  # gradients of a row
    first = -order * q if order else 0
    joined = {name: np.concatenate([a.fields[name], b.fields[name]])[first:] for name in ("rows", "targets")}
    return mean(a, b, "w") | joined


METHOD = Method(
    name="apa",
    summary="affine projection: fit the last rows together, moving least",
    formulas="A, b: the last projection_order rows that exist, this one included\n"
    "w <- w + step A'(A A' + eps I)^+ (b - A w)",
    source="survey, the programs (APA) and (APA-dagger)",
    settings=(
        Setting(
            "projection_order",
            "integer",
            4,
            "[1, inf)",
            "how many rows are fitted together; None keeps all",
            optional=True,
        ),
        Setting("step_size", "schedule", 0.5, "(0, 2]", "the share of the errors that a step removes"),
        Setting("eps", "number", 1e-6, "[0, inf)", "added to the diagonal of A A'"),
    ),
    fields=(
        WEIGHTS,
        Field("rows", ("row", "parameter"), "the last rows (gradients, on a nonlinear model)"),
        Field("targets", ("row", "output"), "what the last rows should give"),
    ),
    examples=({"projection_order": None, "eps": 0.0},),
    cost=Cost(  # the Gram matrix of the window and its errors gain a row
        flops=lambda s, z: 2 * (_window(s, z) * (1 + z["output"]) + z["output"]) * z["parameter"],
        floats=lambda s, z: (_window(s, z) + 2 * z["output"]) * z["parameter"],
    ),
    laws=(
        Law(projects, "survey, the program (APA)", exponent=1),
        Law(regularised, "survey, the program (APA)", exponent=1),
        Law(repeated_row, "survey, the program (APA) with the pseudo-inverse", exponent=2),
        Law(min_norm, "survey, Theorem 4", exponent=1, shape="wide"),
    ),
    batch=batch,
    models=True,
    grows=Growth("row", _rows_kept),
    merge=Merge("averaged", "the mean of the weights, by rows seen; the window holds the last rows of both", merge),
)

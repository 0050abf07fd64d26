"""Normalized LMS on unit vectors: each row moves the scores of all classes towards the unit vector of its label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from orfit_bench import spec

Create = Callable[..., Any]


def batch(X: spec.Array, Y: spec.Array, w0: spec.Array, settings: spec.Settings) -> spec.Array:
    """The errors of all rows solve a triangular system; Y has a unit vector for each label."""
    steps = settings["step_size"] / (settings["eps"] + (X * X).sum(axis=1))
    errors = np.linalg.solve(np.eye(len(X)) + np.tril(X @ X.T, -1) * steps, Y - X @ w0)
    weights: spec.Array = w0 + X.T @ (steps[:, None] * errors)
    return weights


def labels_of(rows: spec.Rows) -> spec.Array:
    """Three labels: the lower, middle and upper third of the targets of the data set."""
    labels: spec.Array = np.searchsorted(np.quantile(rows.y, [1 / 3, 2 / 3]), rows.y)
    return labels


def repeated_row(create: Create, rows: spec.Rows) -> spec.Measured:
    """A row x is repeated T times: its score is 1 - (1 - q)^T with q = step |x|^2 / (eps + |x|^2)."""
    T, step, worst = 20, 0.1, 0.0
    for x in rows.X[:5]:
        size = float(x @ x)
        learner = create(step_size=step, eps=0.5 * size).partial_fit(np.tile(x, (T, 1)), np.full(T, "a"))
        want = 1 - (1 - step / 1.5) ** T
        worst = max(worst, spec.deviation(learner.array("w")[:, 0], want * x / size))
    return spec.Measured(worst, T, 1.0)


def scores_of_a_full_step(create: Create, rows: spec.Rows) -> spec.Measured:
    """With step 1 and eps 0 the last row has score 1 for its own class and 0 for all others."""
    X, labels = rows.X, labels_of(rows)
    learner = create(step_size=1.0, eps=0.0).partial_fit(X, labels)
    W = learner.array("w").astype(float)
    want = (np.asarray(learner.classes_) == labels[-1]).astype(float)
    size = float(np.linalg.norm(X[-1]) * np.linalg.norm(W))
    return spec.Measured(float(np.abs(X[-1] @ W - want).max()), len(X), max(1.0, size))


def mean(a: spec.Side, b: spec.Side, settings: spec.Settings) -> dict[str, spec.Array]:
    """The mean of the weights, weighted by the number of rows."""
    share = b.rows / (a.rows + b.rows)
    return {"w": (1 - share) * a.fields["w"] + share * b.fields["w"]}


METHOD = spec.Method(
    name="my_plugin",
    summary="normalized LMS on unit vectors of labels; classes may appear at any time",
    use_when="Labels drift, rows have different lengths, and a row may cost O(d) operations per class.",
    avoid_when="Labels do not drift: class_rls converges faster. Probabilities are needed: use softmax.",
    formulas="w_k <- w_k + step x (y_k - w_k'x) / (eps + |x|^2), y the unit vector of the label\n"
    "a new class has w_k = 0",
    source="S. Haykin, Adaptive Filter Theory, normalized LMS",
    kind="classification",
    settings=(
        spec.Setting("step_size", spec.Number(0, 2, closed="neither"), 0.1, "part of the error that a step removes"),
        spec.Setting("eps", spec.Number(0), 1e-6, "added to the squared length of the row"),
    ),
    state=spec.StateSpec((spec.Field("w", ("parameter", "output"), "weights, one column per class"),)),
    kernel=spec.KernelSpec(),
    theory=spec.Theory(
        laws=(
            spec.Law(repeated_row, "the recursion on one row is a geometric series", exponent=1),
            spec.Law(scores_of_a_full_step, "S. Haykin, Adaptive Filter Theory, normalized LMS", exponent=1),
        ),
        batch=batch,
        cost=spec.Cost(
            flops=lambda s, z: (4 * z["output"] + 2) * z["parameter"],
            floats=lambda s, z: (2 * z["output"] + 1) * z["parameter"],
        ),
    ),
    combine=spec.Combine(
        spec.Merge("averaged", "the mean of the weights, weighted by the number of rows", mean),
    ),
)

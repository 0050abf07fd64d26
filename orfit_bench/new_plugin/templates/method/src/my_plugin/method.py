"""Leaky LMS: a gradient step on the error of the new row, with decaying weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from orfit_bench import spec

Create = Callable[..., Any]


def batch(X: spec.Array, Y: spec.Array, w0: spec.Array, settings: spec.Settings) -> spec.Array:
    """The errors of all rows solve a triangular system; w0 and each step decay by the factors of the later rows."""
    n = len(X)
    steps = settings["step_size"](np.arange(1, n + 1))
    fade = np.eye(n + 1)  # fade[t, i]: the decay from row i + 1 to row t
    for i in range(n):
        fade[i + 1 :, i] = np.cumprod(1 - settings["leak"] * steps[i:])
    errors = np.linalg.solve(np.eye(n) + fade[:-1, 1:] * (X @ X.T) * steps, Y - fade[:-1, :1] * (X @ w0))
    weights: spec.Array = fade[-1, 0] * w0 + X.T @ ((fade[-1, 1:] * steps)[:, None] * errors)
    return weights


def repeated_row(create: Create, rows: spec.Rows) -> spec.Measured:
    """A row (x, y) is repeated T times: w = (1 - q^T) y x / (leak + |x|^2) with q = 1 - step (leak + |x|^2)."""
    T, worst = 20, 0.0
    for x, y in zip(rows.X[:5], rows.y[:5], strict=True):
        leak = 0.1 * x @ x
        step = 0.1 / (leak + x @ x)
        learner = create(step_size=step, leak=leak).partial_fit(np.tile(x, (T, 1)), np.full(T, y))
        want = (1 - 0.9**T) * y * x / (leak + x @ x)
        worst = max(worst, spec.deviation(learner.array("w")[:, 0], want))
    return spec.Measured(worst, T, 1.0)


def mean(a: spec.Side, b: spec.Side, settings: spec.Settings) -> dict[str, spec.Array]:
    """The mean of the weights, weighted by the number of rows."""
    share = b.rows / (a.rows + b.rows)
    return {"w": (1 - share) * a.fields["w"] + share * b.fields["w"]}


METHOD = spec.Method(
    name="my_plugin",
    summary="leaky LMS: a gradient step on the error of the new row, with decaying weights",
    use_when="Targets drift or features are redundant, and the weights should stay bounded at O(d) operations per row.",
    avoid_when="An unbiased solution is needed: the leak shrinks the weights as a ridge does.",
    formulas="e = y - x'w\nw <- (1 - leak step) w + step e x",
    source="S. Haykin, Adaptive Filter Theory, leaky LMS",
    settings=(
        spec.Setting(
            "step_size", spec.NumberOrSchedule(0, closed="neither"), 0.001, "step size, a number or a schedule"
        ),
        spec.Setting("leak", spec.Number(0), 0.01, "how fast the weights decay: the penalty of a ridge regression"),
    ),
    state=spec.StateSpec(
        (spec.Field("w", ("parameter", "output"), "weights; for a linear model, one column per output"),)
    ),
    kernel=spec.KernelSpec(models=True),
    theory=spec.Theory(
        laws=(spec.Law(repeated_row, "the recursion on one row is a geometric series", exponent=1),),
        batch=batch,
        cost=spec.Cost(
            flops=lambda s, z: 5 * z["parameter"] * z["output"],
            floats=lambda s, z: 3 * z["parameter"] * z["output"],
        ),
    ),
    combine=spec.Combine(
        spec.Merge("averaged", "the mean of the weights, weighted by the number of rows", mean), averages=("w",)
    ),
)

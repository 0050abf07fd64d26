"""NLMS: LMS with the step divided by the row's energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods._batch import Array, error_system, gradient_steps
from orfit_bench.catalogue.methods._common import WEIGHTS, against_rows_fitted, condition, final_weights
from orfit_bench.catalogue.methods._merging import averaged
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.method import Cost, Method
from orfit_bench.spec.setting import Setting


def normalised(X: Array, step: Any, eps: float) -> Array:
    """The step of each row over eps + x'x; 0 for a row of zeros."""
    energy = eps + (X * X).sum(1)
    steps: Array = np.divide(step, energy, out=np.zeros(len(X)), where=energy > 0)
    return steps


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The errors solve a triangular system; w is w0 plus their steps."""
    steps = normalised(X, settings["step_size"](np.arange(1, len(X) + 1)), settings["eps"])
    return gradient_steps(X, Y, w0, steps)


def closed_form(create: Any, rows: Rows) -> Measured:
    """The a-priori errors of all rows solve one triangular system (unrolled recursion)."""
    X, y, _ = rows
    steps = normalised(X, 0.5, 1e-3)
    want = gradient_steps(X, y[:, None], np.zeros((X.shape[1], 1)), steps)
    learner = create(step_size=0.5, eps=1e-3).partial_fit(X, y)
    return Measured(deviation(final_weights(learner), want), len(X), condition(error_system(X, steps)))


def fits_the_row(create: Any, rows: Rows) -> Measured:
    """With step 1 and eps 0 each row is fitted by its own step: w is projected onto its hyperplane."""
    return against_rows_fitted(create(step_size=1.0, eps=0.0), rows)


def implicit_gradient(create: Any, rows: Rows) -> Measured:
    """Step 1 and eps = 1/eta is implicit SGD: w_new = w + eta x (y - x'w_new)."""
    eta, learner, worst = 0.3, create(step_size=1.0, eps=1 / 0.3), 0.0
    w = np.zeros(rows.X.shape[1])
    for x, t in zip(rows.X, rows.y, strict=True):
        new = final_weights(learner.partial_fit(x[None], [t]))[:, 0]
        worst = largest(worst, deviation(new, np.linalg.solve(np.eye(len(x)) + eta * np.outer(x, x), w + eta * t * x)))
        w = new
    energy = (rows.X * rows.X).sum(1).max()
    return Measured(worst, len(rows.X), 1 + eta * energy)


METHOD = Method(
    name="nlms",
    summary="normalised LMS: the step divided by the energy of the row",
    formulas="e = y - x'w\nw <- w + step e x / (eps + x'x)",
    source="survey, the program (LMS); Krasulina paper, after eq. (13)",
    settings=(
        Setting("step_size", "schedule", 0.5, "(0, 2]", "the share of the error that a step removes"),
        Setting("eps", "number", 1e-8, "[0, inf)", "added to the energy of a row, so that small rows move little"),
    ),
    fields=(WEIGHTS,),
    cost=Cost(
        flops=lambda s, z: (4 * z["output"] + 2) * z["parameter"],
        floats=lambda s, z: (1 + 2 * z["output"]) * z["parameter"],
    ),
    laws=(
        Law(closed_form, "survey, the program (LMS)", exponent=1),
        Law(fits_the_row, "survey, the program (LMS)", exponent=0),
        Law(implicit_gradient, "Krasulina paper, eq. (3) and (4)", exponent=1),
    ),
    batch=batch,
    models=True,
    averages=("w",),
    merge=averaged("w"),
)

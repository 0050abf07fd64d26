"""LMS, least mean squares: a gradient step on the squared error of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.lms import LAWS
from orfit_bench.catalogue.shared.declarations import STEP_SIZE, WEIGHTS
from orfit_bench.catalogue.shared.merging import combine_by_mean
from orfit_bench.catalogue.shared.recursions import gradient_steps
from orfit_bench.spec import Array, Cost, KernelSpec, Method, StateSpec, Theory


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The errors of all rows solve a triangular system; w is w0 plus the steps."""
    return gradient_steps(X, Y, w0, settings["step_size"](np.arange(1, len(X) + 1)))


METHOD = Method(
    name="lms",
    summary="least mean squares: one gradient step on the squared error of each row",
    use_when="You need the cheapest update: O(d) operations and no memory beyond the weights. Features are scaled "
    "and not strongly correlated, or the target drifts slowly and the step is small enough to average out noise.",
    avoid_when="Features are correlated or badly scaled: convergence slows down with the condition number, and rls "
    "needs far fewer rows. The scale of the rows is unknown: nlms normalizes the step. Earlier rows must stay "
    "fitted: lms forgets them gradually.",
    formulas="e = y - x'w\nw <- w + step e x",
    source="survey, eq. (2)",
    settings=(STEP_SIZE,),
    state=StateSpec((WEIGHTS,)),
    kernel=KernelSpec(has_complex_form=lambda settings: True, models=True, needs_dense_rows=lambda settings: ""),
    theory=Theory(
        laws=LAWS,
        batch=batch,
        batch_memory=lambda settings, sizes: 0.0,  # only a few blocks
        cost=Cost(
            flops=lambda s, z: 4 * z["output"] * z["parameter"],
            floats=lambda s, z: (1 + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=combine_by_mean("w"),
)

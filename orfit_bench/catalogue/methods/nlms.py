"""NLMS, normalized LMS: the step is divided by the squared norm of the row."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.nlms import LAWS
from orfit_bench.catalogue.shared.declarations import WEIGHTS
from orfit_bench.catalogue.shared.merging import combine_by_mean
from orfit_bench.catalogue.shared.recursions import gradient_steps, normalized_steps
from orfit_bench.spec import Array, Cost, KernelSpec, Method, Number, NumberOrSchedule, Setting, StateSpec, Theory


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The errors of all rows solve a triangular system; w is w0 plus the steps."""
    steps = normalized_steps(X, settings["step_size"](np.arange(1, len(X) + 1)), settings["eps"])
    return gradient_steps(X, Y, w0, steps)


METHOD = Method(
    name="nlms",
    summary="normalized LMS: the step is divided by the squared norm of the row",
    use_when="You want an O(d) method whose step does not depend on the scale of the rows: steps below 2 are stable "
    "for any input. It tracks drifting targets, with a smaller step averaging out more noise.",
    avoid_when="Consecutive rows are strongly correlated: apa or rls converges in far fewer rows. Targets are noisy "
    "and accuracy matters more than speed: with a constant step the error does not vanish, and rls averages over all "
    "rows.",
    formulas="e = y - x'w\nw <- w + step e x / (eps + x'x)",
    source="survey, the program (LMS); Krasulina paper, after eq. (13)",
    settings=(
        Setting(
            "step_size", NumberOrSchedule(0, 2, closed="right"), 0.5, "fraction of the row's error removed by one step"
        ),
        Setting(
            "eps", Number(0), 1e-8, "added to the squared norm of the row, so that small rows change the weights little"
        ),
    ),
    state=StateSpec((WEIGHTS,)),
    kernel=KernelSpec(has_complex_form=lambda settings: True, models=True, needs_dense_rows=lambda settings: ""),
    theory=Theory(
        laws=LAWS,
        batch=batch,
        batch_memory=lambda settings, sizes: 0.0,  # a few blocks
        cost=Cost(
            flops=lambda s, z: (4 * z["output"] + 2) * z["parameter"],
            floats=lambda s, z: (1 + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=combine_by_mean("w"),
)

"""NLMS: LMS with the step divided by the row's energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.nlms import LAWS
from orfit_bench.catalogue.shared.declarations import WEIGHTS
from orfit_bench.catalogue.shared.merging import average_rule
from orfit_bench.catalogue.shared.recursions import gradient_steps, normalized_steps
from orfit_bench.spec.method import Array, Cost, Method
from orfit_bench.spec.setting import Setting


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The errors solve a triangular system; w is w0 plus their steps."""
    steps = normalized_steps(X, settings["step_size"](np.arange(1, len(X) + 1)), settings["eps"])
    return gradient_steps(X, Y, w0, steps)


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
    laws=LAWS,
    batch=batch,
    models=True,
    averages=("w",),
    merge=average_rule("w"),
)

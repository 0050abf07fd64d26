"""Class RLS: recursive least squares on one-hot targets, with classes added as they appear."""

from __future__ import annotations

from typing import Any

from orfit_bench.catalogue.laws.class_rls import LAWS
from orfit_bench.catalogue.shared.declarations import P_LOSES_PRECISION
from orfit_bench.catalogue.shared.least_squares import information_rows, ridge_solution
from orfit_bench.catalogue.shared.merging import add_information, remaining_weight
from orfit_bench.catalogue.shared.probabilities import nearest_distributions
from orfit_bench.spec.merge import Combine, Merge, Side
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Diagonal, Field, Settings, Sizes, StateSpec
from orfit_bench.spec.theory import Cost, InverseGram, Theory
from orfit_bench.spec.types import Number
from orfit_bench.spec.weighting import Weighting


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The sum of the information matrices; a class that one learner has not seen has targets 0 in that learner."""
    return add_information(a, b, remaining_weight(settings["forgetting_factor"], b.steps))


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(1 / settings["ridge"], sizes["parameter"])


METHOD = Method(
    name="class_rls",
    summary="least-squares classifier: RLS on one-hot targets; classes may appear at any time",
    use_when="You classify with a linear model and want an exact solution after every row, without a step size, "
    "while new classes may appear at any time. All classes share one matrix P, so many classes are cheap.",
    avoid_when="You need calibrated probabilities or robustness to mislabelled rows: predict_proba only gives the "
    "distribution nearest to the least-squares scores, whereas softmax and sgd with the logistic loss model "
    "probabilities. There are many features: each row costs O(d^2) operations.",
    formulas="y = the unit vector of the label's class; a new class adds a zero column to w\n"
    "s = ff + x'P x\nw <- w + P x (y - w'x)' / s\nP <- (P - P x x'P / s) / ff\n"
    "minimizes sum_i ff^(t-i) |y_i - w'x_i|^2 + ff^t ridge |w|^2 over steps i",
    source="survey, (D-RLS) with eq. (11) and (12), new columns starting at zero",
    kind="classification",
    settings=(
        Setting(
            "forgetting_factor",
            Number(0, closed="neither"),
            1.0,
            "factor by which the weight of past errors is multiplied at each step",
        ),
        Setting("ridge", Number(0, closed="neither"), 1.0, "weight of the prior |w|^2"),
    ),
    examples=({"forgetting_factor": 0.9},),
    state=StateSpec(
        (
            Field("w", ("parameter", "output"), "weights, one column per class", role="weights"),
            Field(
                "P", ("parameter", "parameter"), "inverse of the weighted information", start=_prior, role="covariance"
            ),
            Field("precision_lost", (), "1 once half of the digits of P are lost"),
        ),
        warning=P_LOSES_PRECISION,
        probabilities=lambda scores, settings: nearest_distributions(scores),
    ),
    kernel=KernelSpec(weighting=Weighting("errors"), blocks=True),
    theory=Theory(
        laws=LAWS,
        batch=ridge_solution,
        batch_memory=lambda settings, sizes: 64.0 * (sizes["feature"] + sizes["output"]) ** 2,
        inverse_gram=InverseGram("P", information_rows),
        cost=Cost(  # in blocks of 64 rows, with P's symmetry
            flops=lambda s, z: (3 * z["parameter"] + 4 * z["output"]) * z["parameter"],
            floats=lambda s, z: (z["parameter"] / 32 + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=Combine(
        Merge("exact", "the sum of both information matrices, with the prior counted once; the classes of both", merge)
    ),
)

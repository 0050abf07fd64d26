"""Ridge regression in information form: the weighted normal equations, solved when predictions need the weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.ridge import LAWS
from orfit_bench.catalogue.shared.least_squares import ridge_solution
from orfit_bench.catalogue.shared.merging import remaining_weight
from orfit_bench.spec.merge import Combine, Merge, Side
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Diagonal, Field, Settings, Sizes, Solution, StateSpec, WeightCovariance
from orfit_bench.spec.theory import Cost, Theory
from orfit_bench.spec.types import Number
from orfit_bench.spec.weighting import Weighting


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The sum of information and moment, with the prior counted once."""
    ff = settings["forgetting_factor"]
    early, late = (a, b) if ff <= 1 else (b, a)  # above 1, the state is divided by ff^t and b's rows count less
    kept = remaining_weight(min(ff, 1 / ff), late.steps)
    merged = {name: kept * (early.fields[name] - prior) + late.fields[name] for name, prior in a.start.items()}
    before, prior, after = (np.abs(np.diagonal(side["information"])) for side in (early.fields, a.start, late.fields))
    unseen = _unseen(b, kept) if ff < 1 else np.zeros(len(before), bool)  # else the difference from a prior is exact
    L = np.diagonal(merged["information"]).real
    merged["information"][unseen, unseen] = kept * before[unseen]
    if (a.eps**0.5 * (kept * (before + prior) + after) > L)[~unseen].any():
        raise ValueError("half of the digits of the information are lost where it is a difference from the prior")
    return merged


def _unseen(side: Side, kept: float) -> Array:
    """The columns (p,) that were zero in all rows: without products with others, and with the moment of the prior."""
    L = np.tril(side.fields["information"], -1)
    moved = side.fields["moment"] != kept * side.start["moment"]
    return np.asarray(~(L.any(axis=0) | L.any(axis=1) | moved.any(axis=1)))


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(settings["ridge"], sizes["parameter"])


def _prior_moment(w0: Array, settings: Settings) -> dict[str, Array]:
    return {"moment": settings["ridge"] * w0}


def _covariance_scale(settings: Settings, steps: int) -> float:
    """The factor of the inverse information at the next step; for ff above 1, the information is divided by ff^t."""
    ff = settings["forgetting_factor"]
    return float(ff ** -(1 if ff <= 1 else steps + 1))


def _has_no_covariance(settings: Settings, steps: int) -> str:
    """The reason why the uncertainty of the weights is unknown; empty if it is known."""
    return "" if settings["ridge"] or steps else "without a prior and rows the variance is infinite"


def needs_dense_rows(settings: Settings) -> str:
    """The reason why a row changes the sums of features that are zero; empty if it does not."""
    return "" if settings["forgetting_factor"] == 1 else "with a forgetting_factor a step needs all columns"


METHOD = Method(
    name="ridge",
    summary="ridge regression in information form: the normal equations are summed, and solved when predictions need "
    "the weights",
    use_when="You learn many rows and predict rarely: a chunk costs one symmetric product, and the first prediction "
    "after it one Cholesky factorization. Learners of parts of the data merge exactly, by addition.",
    avoid_when="Every row is predicted before it is learned: rls costs O(d^2) per row, while ridge solves a system in "
    "O(d^3). The features are nearly collinear: the normal equations square their condition number.",
    formulas="L <- ff L + x x', m <- ff m + x y', from L = ridge I and m = ridge w0\nw = L^-1 m\n"
    "minimizes sum_i ff^(t-i) e_i^2 + ff^t ridge |w - w0|^2 over steps i",
    source="slides, Recursive LS; thesis, eq. (2.2); survey, eq. (10)",
    settings=(
        Setting(
            "forgetting_factor",
            Number(0, closed="neither"),
            1.0,
            "factor by which the weight of past errors is multiplied at each step",
        ),
        Setting(
            "ridge",
            Number(0),
            1.0,
            "weight of the prior |w - w0|^2; with 0, the weights are the smallest that minimize the errors",
        ),
    ),
    examples=({"forgetting_factor": 0.9}, {"forgetting_factor": 1.1}),
    state=StateSpec(
        (
            Field(
                "information",
                ("parameter", "parameter"),
                "weighted sum of x x' and the prior: its lower triangle, with zeros above the diagonal; for a "
                "forgetting factor above 1 divided by ff^t",
                start=_prior,
                role="information",
            ),
            Field(
                "moment", ("parameter", "output"), "weighted sum of x y' and ridge w0, divided likewise", role="moment"
            ),
        ),
        solution=Solution(
            _prior_moment,
            "half of the digits of the weights are lost: some directions carry little information compared with "
            "others, and those with none get no weight. Remedies: a larger ridge, a forgetting factor nearer 1, fewer "
            "or less correlated features",
        ),
        covariance=WeightCovariance(_covariance_scale, right_side="moment", refuses=_has_no_covariance),
    ),
    kernel=KernelSpec(
        has_complex_form=lambda settings: True,
        weighting=Weighting("errors", sums=("information", "moment")),
        blocks=True,
        needs_dense_rows=needs_dense_rows,
    ),
    theory=Theory(
        laws=LAWS,
        batch=ridge_solution,
        batch_memory=lambda settings, sizes: 64.0 * (sizes["feature"] + sizes["output"]) ** 2,
        cost=Cost(  # in blocks of 64 rows
            flops=lambda s, z: (z["parameter"] + 2 * z["output"]) * z["parameter"],
            floats=lambda s, z: z["parameter"] ** 2 / 64 + z["parameter"],
        ),
    ),
    combine=Combine(Merge("exact", "the sum of information and moment, with the prior counted once", merge)),
)

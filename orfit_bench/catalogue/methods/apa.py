"""APA, affine projection: fit the last rows together with the smallest change of the weights."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.laws.apa import LAWS
from orfit_bench.catalogue.shared.declarations import WEIGHTS
from orfit_bench.catalogue.shared.least_squares import affine_projections
from orfit_bench.catalogue.shared.merging import weighted_mean
from orfit_bench.spec.merge import Combine, Merge, Side
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Field, Growth, Settings, Sizes, StateSpec
from orfit_bench.spec.theory import Cost, Theory
from orfit_bench.spec.types import Integer, Number, NumberOrSchedule


def _rows_kept(settings: Settings, sizes: Sizes) -> int | None:
    order = settings["projection_order"]
    return None if order is None else order * sizes["gradients"]


def _window(settings: Settings, sizes: Sizes) -> float:
    return float(settings["projection_order"] or max(1, sizes["count"]))


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The weighted mean of the weights; in the window, b's rows follow a's."""
    order = settings["projection_order"]
    q = len(b.fields["rows"]) // min(b.rows, order or b.rows)  # gradients of a row
    first = -order * q if order else 0
    joined = {name: np.concatenate([a.fields[name], b.fields[name]])[first:] for name in ("rows", "targets")}
    return weighted_mean(a, b, "w") | joined


METHOD = Method(
    name="apa",
    summary="affine projection: fit the last rows together with the smallest change of the weights",
    use_when="Consecutive rows are correlated, as in a tapped delay line, and rls is too expensive: fitting the last "
    "K rows together speeds up convergence at O(K d) operations per row.",
    avoid_when="Rows are independent or noisy: a longer window fits noise and gains little over nlms. All rows "
    "should count, not only the last K: use rls for noisy targets, or orfit or icl for exact ones. The scales of "
    "columns differ by 1e7 or more (1e3 in float32): the smaller ones count as rounding.",
    formulas="A, b: the last projection_order rows (fewer at the start), including this one\n"
    "w <- w + step A'(A A' + eps I)^+ (b - A w)",
    source="survey, the programs (APA) and (APA-dagger)",
    settings=(
        Setting("projection_order", Integer(1), 4, "number of rows fitted together; None uses all rows", optional=True),
        Setting("step_size", NumberOrSchedule(0, 2, closed="right"), 0.5, "fraction of the errors removed by one step"),
        Setting("eps", Number(0), 1e-6, "added to the diagonal of A A'"),
    ),
    examples=({"projection_order": None, "eps": 0.0},),
    state=StateSpec(
        (
            WEIGHTS,
            Field("rows", ("row", "parameter"), "the last rows (gradients on a nonlinear model)", role="rows"),
            Field("targets", ("row", "output"), "targets of the last rows"),
        ),
        growth=Growth("row", _rows_kept),
    ),
    kernel=KernelSpec(has_complex_form=lambda settings: True, models=True),
    theory=Theory(
        laws=LAWS,
        batch=affine_projections,
        batch_memory=lambda s, z: 24.0 * (k := min(s["projection_order"] or z["row"], z["row"])) * (z["feature"] + k),
        cost=Cost(  # a row is added to the Gram matrix of the window and to its errors
            flops=lambda s, z: 2 * (_window(s, z) * (1 + z["output"]) + z["output"]) * z["parameter"],
            floats=lambda s, z: (_window(s, z) + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=Combine(
        Merge(
            "averaged",
            "the mean of the weights, weighted by the number of rows; the window holds the last rows of both",
            merge,
        )
    ),
)

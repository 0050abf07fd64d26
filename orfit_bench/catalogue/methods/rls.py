"""RLS, recursive least squares, with a forgetting factor below, at or above 1, or interpolating with factor 0."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.rls import LAWS
from orfit_bench.catalogue.shared.declarations import BASIS, P_LOSES_PRECISION, WEIGHTS, max_directions
from orfit_bench.catalogue.shared.information_roots import add_root_information, solve_directional
from orfit_bench.catalogue.shared.least_squares import information_rows, ridge_solution, solve_min_norm
from orfit_bench.catalogue.shared.merging import add_information, merge_constraints, remaining_weight, union_refusal
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.merge import Combine, Merge, Side
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Diagonal, Field, Growth, Settings, Sizes, StateSpec, WeightCovariance
from orfit_bench.spec.theory import Cost, InverseGram, Theory
from orfit_bench.spec.types import Choice, Number
from orfit_bench.spec.weighting import Weighting


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array | None:
    """The weighted ridge problem, solved directly; for ff = 0 the smallest change that fits the independent rows.

    Directional forgetting does not minimize a sum over the rows; its recursion is computed with the information itself.
    """
    if settings["forgetting_factor"] == 0:
        return solve_min_norm(X, Y, w0)
    if settings["forgetting"] == "directional":
        return solve_directional(X, Y, w0, settings["ridge"], settings["forgetting_factor"])
    return ridge_solution(X, Y, w0, settings)


def validate_rows(settings: Settings, steps: int, X: Array, Y: Array, is_step: bool, linear: bool) -> None:
    """Require, without a prior, a first block that determines all weights and leaves P enough digits."""
    if steps or settings["ridge"] or not settings["forgetting_factor"]:
        return
    if not linear:
        raise ValueError("rls with ridge=0 learns the linear model only: set ridge > 0")
    if not is_step:
        raise ValueError(
            "rls with ridge=0 has no prior: the first call must be step(A0, y0), A0 of full column rank; a pipeline, "
            "which has no step, needs ridge > 0"
        )
    A = to_host(X)
    largest = max(np.abs(A.real).max(initial=1), np.abs(A.imag).max(initial=1))  # |z| itself may overflow
    A = A / largest  # so that no singular value overflows
    rank = int(np.linalg.matrix_rank(A, rtol=np.sqrt(np.finfo(A.dtype).eps)))
    if rank < X.shape[1]:
        raise ValueError(
            f"rls with ridge=0: the first block has rank {rank}, want {X.shape[1]}: pass more rows or set ridge > 0"
        )


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The sum of the information matrices, or for forgetting factor 0 the union of the constraints."""
    ff = settings["forgetting_factor"]
    if ff == 0:
        return merge_constraints(a, b)
    if _keeps_root(settings):
        return add_root_information(a, b, remaining_weight(ff, b.steps))
    return add_information(a, b, remaining_weight(ff, b.steps), prior=settings["ridge"] > 0)


def _forgets(settings: Settings) -> bool:
    return bool(settings["forgetting_factor"] != 0)


def _keeps_root(settings: Settings) -> bool:
    is_default = settings["form"] == "covariance" and settings["forgetting"] == "exponential"
    return _forgets(settings) and not is_default


def _keeps_p(settings: Settings) -> bool:
    return _forgets(settings) and not _keeps_root(settings)


def _may_wind_up(settings: Settings) -> bool:
    """Whether unobserved directions can be forgotten, as with a forgetting factor below 1."""
    return _forgets(settings) and settings["forgetting"] == "exponential"


def _prior_root(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(float(np.sqrt(settings["ridge"])), sizes["parameter"])


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(1 / settings["ridge"] if settings["ridge"] else 0.0, sizes["parameter"])


def _merge_refusal(settings: Settings, linear: bool) -> str:
    if settings["forgetting"] == "directional" and settings["forgetting_factor"] not in (0, 1):
        return "with directional forgetting, what one learner forgets depends on the rows of the other"
    return union_refusal(settings, linear)


def _covariance_scale(settings: Settings, steps: int) -> float:
    return float(1 / settings["forgetting_factor"])


def _has_no_covariance(settings: Settings, steps: int) -> str:
    """The reason why the uncertainty of the weights is unknown; empty if it is known."""
    if not _forgets(settings):
        return "with forgetting_factor=0 it fits every row as if there was no noise"
    if settings["forgetting"] == "directional":
        return "with directional forgetting, old rows have no common weight"
    return "" if settings["ridge"] or steps else "without a prior and rows the variance is infinite"


METHOD = Method(
    name="rls",
    summary="recursive least squares with a forgetting factor: below 1 forgets, above 1 favours old rows, 0 "
    "interpolates",
    use_when="You want the exact (weighted, regularized) least-squares solution after every row: correlated features "
    "and noisy targets are handled without a step size, and several outputs share one matrix P. A forgetting factor "
    "below 1 tracks drifting targets.",
    avoid_when="There are many features: each row costs O(d^2) operations and P holds d^2 numbers; lms, nlms or sgd "
    "cost O(d). Forgetting is used while some directions are rarely excited: P grows there until precision is lost, "
    "unless forgetting is 'directional'.",
    formulas="s = ff + x'P x\nw <- w + P x e / s\nP <- (P - P x x'P / s) / ff\n"
    "minimizes sum_i ff^(t-i) e_i^2 + ff^t ridge |w - w0|^2 over steps i",
    source="thesis, section 2.2; least-squares notes; slides; survey, RLS-(beta, lambda): beta = ff, lambda = ridge",
    settings=(
        Setting(
            "forgetting_factor",
            Number(0),
            1.0,
            "factor by which the weight of past errors is multiplied at each step; 0 interpolates",
        ),
        Setting(
            "ridge", Number(0), 1.0, "weight of the prior |w - w0|^2; 0 requires a first block of full column rank"
        ),
        Setting(
            "forgetting",
            Choice(("exponential", "directional")),
            "exponential",
            "which information is forgotten: all (exponential), or only along the directions of the current rows "
            "(directional: SIFt-RLS, by rows with |x|^2 of at least |1 - ff| ridge, always in the square-root form)",
            added=True,
        ),
        Setting(
            "form",
            Choice(("covariance", "square_root")),
            "covariance",
            "what is stored: P, or a square root of its inverse; with the square root, rounding errors grow "
            "with the condition number of the rows instead of its square, but steps take six to nine times as long, "
            "and a forgetting factor ff above 1 makes it overflow in float64 after about 1,420 / ln(ff) steps",
            added=True,
        ),
    ),
    examples=(
        {"forgetting_factor": 0.9},
        {"forgetting_factor": 0.0},
        {"form": "square_root", "forgetting_factor": 0.95},
        {"forgetting": "directional", "forgetting_factor": 0.9},
    ),
    state=StateSpec(
        (
            WEIGHTS,
            Field(
                "P",
                ("parameter", "parameter"),
                "inverse of the weighted information",
                start=_prior,
                when=_keeps_p,
                role="covariance",
            ),
            Field(
                "precision_lost",
                (),
                "1 once half of the digits of P, or of predictions, are lost",
                when=_may_wind_up,
            ),
            Field(
                "root",
                ("parameter", "parameter"),
                "R, upper triangular with a positive diagonal: R'R is the weighted information",
                start=_prior_root,
                when=_keeps_root,
                role="information_root",
            ),
            replace(BASIS, when=lambda settings: not _forgets(settings)),
        ),
        growth=Growth("direction", max_directions),
        warning=P_LOSES_PRECISION._replace(
            text=P_LOSES_PRECISION.text + ", forgetting='directional', or form='square_root' instead of P"
        ),
        covariance=WeightCovariance(_covariance_scale, "P", root="root", refuses=_has_no_covariance),
    ),
    kernel=KernelSpec(
        has_complex_form=lambda settings: True,
        weighting=Weighting("errors"),
        models=True,
        blocks=True,
        validate_rows=validate_rows,
    ),
    theory=Theory(
        laws=LAWS,
        batch=batch,
        batch_memory=lambda settings, sizes: 64.0 * (sizes["feature"] + sizes["output"]) ** 2,
        inverse_gram=InverseGram("P", information_rows),
        cost=Cost(  # in blocks of 64 rows, with P's symmetry
            flops=lambda s, z: 3 * z["parameter"] ** 2 if _forgets(s) else (8 * z["count"] + 8) * z["parameter"],
            floats=lambda s, z: z["parameter"] ** 2 / 32 if _forgets(s) else 4 * z["parameter"],
        ),
    ),
    combine=Combine(
        Merge(
            "exact",
            "the sum of both information matrices, with the prior counted once (for factor 0 the union of the "
            "constraints, where dependent rows agree); linear model",
            merge,
            _merge_refusal,
        )
    ),
)

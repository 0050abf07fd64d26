"""RLS: least squares over all rows, as they come; it may forget, or remember."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.methods import _batch, _merging
from orfit_bench.catalogue.methods._batch import Array, inverse_information, weighted
from orfit_bench.catalogue.methods._common import (
    BASIS,
    WEIGHTS,
    against_min_norm,
    condition,
    directions,
    final_weights,
    least_energy,
    refused,
)
from orfit_bench.catalogue.methods._digit_laws import digits_are_said
from orfit_bench.catalogue.methods._merging import in_parts, union, unlimited_and_linear
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Cost, Diagonal, Field, Growth, Method, Settings, Sizes
from orfit_bench.spec.setting import Setting


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The weighted ridge problem, solved at once; for ff = 0 the smallest move that fits the independent rows."""
    if settings["forgetting_factor"] == 0:
        return _batch.min_norm(X, Y, w0)
    return _batch.ridge(X, Y, w0, settings["ridge"], settings["forgetting_factor"])


def admit(settings: Settings, steps: int, X: Array, Y: Array, is_step: bool, linear: bool) -> None:
    """Without a prior the first block must determine all weights, with digits left in P, whose condition is squared."""
    if settings["ridge"] or not settings["forgetting_factor"] or steps:
        return
    if not linear:
        raise ValueError("rls with ridge=0 learns the linear model only: set ridge > 0")
    if not is_step:
        raise ValueError("rls with ridge=0 has no prior: the first call must be step(A0, y0), A0 of full column rank")
    rank = int(np.linalg.matrix_rank(to_host(X), rtol=np.sqrt(np.finfo(X.dtype).eps)))
    if rank < X.shape[1]:
        raise ValueError(
            f"rls with ridge=0: the first block has rank {rank}, want {X.shape[1]}: pass more rows or set ridge > 0"
        )


def ridge(create: Any, rows: Rows) -> Measured:
    """The weights minimise the weighted squared errors with the prior, for forgetting factors below, at and above 1."""
    X, y, _ = rows
    prior = least_energy(X)
    worst, cond = 0.0, condition(X)
    for ff in (0.97, 1.0, 1.02):
        learner = create(ridge=prior, forgetting_factor=ff).partial_fit(X, y)
        A, b = weighted(X, y[:, None], prior, ff)
        worst = largest(worst, deviation(final_weights(learner), np.linalg.lstsq(A, b, rcond=None)[0]))
        cond = max(cond, condition(A))
    return Measured(worst, len(X), cond)


def information(create: Any, rows: Rows) -> Measured:
    """P is the inverse of the weighted information matrix, forgetting or remembering."""
    X, y, _ = rows
    prior, worst, cond = least_energy(X), 0.0, condition(X)
    for ff, n in ((0.97, len(X)), (2.0, 3)):
        P = create(ridge=prior, forgetting_factor=ff).partial_fit(X[:n], y[:n]).state()["P"].values
        A, _ = weighted(X[:n], y[:n, None], prior, ff)
        want = inverse_information(A) / max(1, ff**n)  # the rows of A are scaled by the largest weight
        worst, cond = largest(worst, deviation(P, want)), max(cond, condition(A))
    return Measured(worst, len(X), cond)


def blocks(create: Any, rows: Rows) -> Measured:
    """Blocks of any size from a first one of full rank, without a prior, give the full least-squares solution."""
    X, y, _ = rows
    d = X.shape[1]
    learner = create(ridge=0.0)
    for lo, hi in ((0, 4 * d), (4 * d, 4 * d + 1), (4 * d + 1, 6 * d), (6 * d, len(X))):
        learner.step(X[lo:hi], y[lo:hi])
    want = np.linalg.lstsq(X, y[:, None], rcond=None)[0]
    return Measured(deviation(final_weights(learner), want), len(X), condition(X[: 4 * d]))


def first_block(create: Any, rows: Rows) -> Measured:
    """A first block without a prior is refused exactly where its weights or its P leave the floats."""
    A, wrong = np.eye(3), 0
    bits = np.finfo(create(ridge=0.0).step(A, np.zeros(3)).state()["P"].dtype).maxexp
    for share, answer in ((-0.3, 0.5), (-0.45, -0.45), (-0.55, -0.55), (-0.3, 0.75), (-0.55, 0.75)):
        x, y = int(share * bits), int(answer * bits)
        overflows = y - x >= bits or -2 * x >= bits
        wrong += refused(create(ridge=0.0).step, np.ldexp(A, x), np.ldexp(np.ones(3), y)) != overflows
    return Measured(float("inf") if wrong else 0.0, len(rows.X), 1.0)


def min_norm(create: Any, rows: Rows) -> Measured:
    """With forgetting factor 0 the weights are the smallest that fit all rows."""
    return against_min_norm(create(forgetting_factor=0.0), rows)


def merges(create: Any, rows: Rows) -> Measured:
    """Learners of a part of the rows each merge into weights and P of all rows, the prior counting once."""
    X, y, _ = rows
    prior = least_energy(X)
    worst, cond = 0.0, condition(X)
    for ff in (0.97, 1.0, 1.02):
        make = partial(create, ridge=prior, forgetting_factor=ff)
        state = in_parts(make, X, y, cuts=(5, len(X) // 2)).state()
        A, b = weighted(X, y[:, None], prior, ff)
        found = deviation(state["w"].values, np.linalg.lstsq(A, b, rcond=None)[0])
        P = inverse_information(A) / max(1, ff ** len(X))  # the rows of A are scaled by the largest weight
        worst = largest(worst, found, deviation(state["P"].values, P))
        cond = max(cond, condition(A))
    return Measured(worst, len(X), cond)


def merges_constraints(create: Any, rows: Rows) -> Measured:
    """With forgetting factor 0 learners of a part of the rows each merge into the smallest weights that fit all."""
    X, y, _ = rows
    merged = in_parts(partial(create, forgetting_factor=0.0), X, y, cuts=(7, 12))
    return Measured(deviation(final_weights(merged)[:, 0], np.linalg.pinv(X) @ y), len(X), condition(X))


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The sum of the information, or without forgetting the union of the constraints."""
    ff = settings["forgetting_factor"]
    if ff == 0:
        return union(a, b)
    return _merging.information(a, b, _merging.kept(ff, b.steps), prior=settings["ridge"] > 0)


def _forgets(settings: Settings) -> bool:
    return bool(settings["forgetting_factor"] != 0)


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(1 / settings["ridge"] if settings["ridge"] else 0.0, sizes["parameter"])


METHOD = Method(
    name="rls",
    summary="recursive least squares, forgetting (below 1), remembering (above 1) or interpolating (0)",
    formulas="P x: the gain's direction, s = ff + x'P x\nw <- w + P x e / s\nP <- (P - P x x'P / s) / ff\n"
    "minimises sum_i ff^(t-i) e_i^2 + ff^t ridge |w - w0|^2 over steps i",
    source="thesis, section 2.2; least-squares notes; slides; survey, RLS-(beta, lambda): beta = ff, lambda = ridge",
    settings=(
        Setting(
            "forgetting_factor",
            "number",
            1.0,
            "[0, inf)",
            "weight of a step's errors one step later; 0 interpolates",
        ),
        Setting("ridge", "number", 1.0, "[0, inf)", "weight of the prior; 0 needs a first block of full column rank"),
    ),
    fields=(
        WEIGHTS,
        Field("P", ("parameter", "parameter"), "inverse of the weighted information", start=_prior, when=_forgets),
        Field("digits_lost", (), "1 once half of the digits are gone", when=_forgets),
        replace(BASIS, when=lambda settings: not _forgets(settings)),
    ),
    examples=({"forgetting_factor": 0.9}, {"forgetting_factor": 0.0}),
    cost=Cost(  # in blocks of 64 rows, with P's symmetry
        flops=lambda s, z: 3 * z["parameter"] ** 2 if _forgets(s) else (8 * z["count"] + 8) * z["parameter"],
        floats=lambda s, z: z["parameter"] ** 2 / 32 if _forgets(s) else 4 * z["parameter"],
    ),
    laws=(
        Law(ridge, "thesis, eq. (2.2) and (2.3); slides, Recursive LS; survey, Proposition 2", exponent=2),
        Law(information, "survey, eq. (10) and (12)", exponent=2),
        Law(digits_are_said, "docs/decisions/0004, on survey, eq. (12)", exponent=0, shape="own"),
        Law(blocks, "least-squares notes, block update", exponent=2),
        Law(first_block, "least-squares notes, block 0", exponent=0, shape="own"),
        Law(min_norm, "thesis, Proposition 2; survey, Lemma 1", exponent=1, shape="wide"),
        Law(merges, "survey, eq. (9) and (10)", exponent=2),
        Law(merges_constraints, "thesis, Proposition 2", exponent=1, shape="wide"),
    ),
    batch=batch,
    merge=Merge(
        "exact",
        "the sum of the information of both, the prior counting once (for factor 0 the union of the constraints, where "
        "dependent rows agree); on a linear model",
        merge,
        unlimited_and_linear,
    ),
    information=("P", _batch.information),
    models=True,
    blocks=True,
    grows=Growth("direction", directions),
    admit=admit,
    warns=(
        "digits_lost",
        "half of the digits of P are gone: it winds up in directions that the rows hardly visit, or the rows are large "
        "beside the prior. What helps: a forgetting factor nearer 1, a larger ridge, fewer features, scaled data",
    ),
)

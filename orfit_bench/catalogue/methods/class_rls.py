"""Class RLS: recursive least squares on one-hot targets, whose classes come as they are seen."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.methods import _batch, _merging
from orfit_bench.catalogue.methods._batch import Array, inverse_information, weighted
from orfit_bench.catalogue.methods._common import condition, final_weights, least_energy
from orfit_bench.catalogue.methods._digit_laws import digits_are_said
from orfit_bench.catalogue.methods._merging import in_parts
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Cost, Diagonal, Field, Method, Settings, Sizes
from orfit_bench.spec.setting import Setting


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The weighted ridge problem on one-hot rows Y (n, classes), solved at once."""
    return _batch.ridge(X, Y, w0, settings["ridge"], settings["forgetting_factor"])


def labelled(y: Array) -> tuple[Array, Array]:
    """Labels (n,) by the size of y, two of the four classes unknown in the first third; and their one-hot rows."""
    labels = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)
    labels[: len(y) // 3] %= 2
    classes = list(dict.fromkeys(labels.tolist()))  # in order of first appearance
    return labels, (labels[:, None] == classes).astype(float)


def one_hot_ridge(create: Any, rows: Rows) -> Measured:
    """The weights minimise the weighted squared distance to one-hot targets, padded by zeros for later classes."""
    X, prior = rows.X, least_energy(rows.X)
    labels, Y = labelled(rows.y)
    worst, cond = 0.0, condition(X)
    for ff in (0.97, 1.0, 1.02):
        learner = create(ridge=prior, forgetting_factor=ff).partial_fit(X, labels)
        A, B = weighted(X, Y, prior, ff)
        worst = largest(worst, deviation(final_weights(learner), np.linalg.lstsq(A, B, rcond=None)[0]))
        cond = max(cond, condition(A))
    return Measured(worst, len(X), cond)


def information(create: Any, rows: Rows) -> Measured:
    """P is the inverse of the weighted information matrix, whatever the labels."""
    X, prior = rows.X, least_energy(rows.X)
    P = create(ridge=prior, forgetting_factor=0.97).partial_fit(X, labelled(rows.y)[0]).state()["P"].values
    A, _ = weighted(X, X, prior, 0.97)
    return Measured(deviation(P, inverse_information(A)), len(X), max(condition(A), condition(X)))


def blocks(create: Any, rows: Rows) -> Measured:
    """Blocks of any size, with classes that are new to them, give the same solution as rows."""
    X, prior, d = rows.X, least_energy(rows.X), rows.X.shape[1]
    labels, Y = labelled(rows.y)
    learner = create(ridge=prior)
    for lo, hi in ((0, 1), (1, 4 * d), (4 * d, len(X) // 3 + 2), (len(X) // 3 + 2, len(X))):
        learner.step(X[lo:hi], labels[lo:hi])
    A, B = weighted(X, Y, prior, 1.0)
    want = np.linalg.lstsq(A, B, rcond=None)[0]
    return Measured(deviation(final_weights(learner), want), len(X), max(condition(A), condition(X)))


def merges(create: Any, rows: Rows) -> Measured:
    """Learners of a part of the rows each, and of the classes, merge into weights and P of all of them."""
    X, prior = rows.X, least_energy(rows.X)
    labels, Y = labelled(rows.y)
    worst, cond = 0.0, condition(X)
    for ff in (0.97, 1.0, 1.02):
        make = partial(create, ridge=prior, forgetting_factor=ff)
        state = in_parts(make, X, labels, cuts=(5, len(X) // 2)).state()
        A, B = weighted(X, Y, prior, ff)
        found = deviation(state["w"].values, np.linalg.lstsq(A, B, rcond=None)[0])
        P = inverse_information(A) / max(1, ff ** len(X))  # the rows of A are scaled by the largest weight
        worst = largest(worst, found, deviation(state["P"].values, P))
        cond = max(cond, condition(A))
    return Measured(worst, len(X), cond)


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The sum of the information; a class that one has not seen has there the targets 0, which teach nothing."""
    return _merging.information(a, b, _merging.kept(settings["forgetting_factor"], b.steps))


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(1 / settings["ridge"], sizes["parameter"])


METHOD = Method(
    name="class_rls",
    summary="a classifier by least squares: RLS on one-hot targets, classes as they come",
    formulas="y = the unit vector of the label's class; a new class has a new column of w, zero\n"
    "P x: the gain's direction, s = ff + x'P x\nw <- w + P x (y - w'x)' / s\nP <- (P - P x x'P / s) / ff\n"
    "minimises sum_i ff^(t-i) |y_i - w'x_i|^2 + ff^t ridge |w|^2 over steps i",
    source="survey, (D-RLS) with eq. (11) and (12), new columns starting at zero",
    settings=(
        Setting("forgetting_factor", "number", 1.0, "(0, inf)", "weight of a step's errors one step later"),
        Setting("ridge", "number", 1.0, "(0, inf)", "weight of the prior"),
    ),
    fields=(
        Field("w", ("parameter", "output"), "weights, one column a class"),
        Field("P", ("parameter", "parameter"), "inverse of the weighted information", start=_prior),
        Field("digits_lost", (), "1 once half of the digits are gone"),
    ),
    examples=({"forgetting_factor": 0.9},),
    cost=Cost(  # in blocks of 64 rows, with P's symmetry
        flops=lambda s, z: (3 * z["parameter"] + 4 * z["output"]) * z["parameter"],
        floats=lambda s, z: (z["parameter"] / 32 + 2 * z["output"]) * z["parameter"],
    ),
    laws=(
        Law(one_hot_ridge, "survey, (D-RLS)", exponent=2),
        Law(information, "survey, eq. (10) and (12)", exponent=2),
        Law(digits_are_said, "docs/decisions/0004, on survey, eq. (12)", exponent=0, shape="own"),
        Law(blocks, "least-squares notes, block update", exponent=2),
        Law(merges, "survey, eq. (9) and (10) with (D-RLS)", exponent=2),
    ),
    batch=batch,
    information=("P", _batch.information),
    kind="classification",
    blocks=True,
    merge=Merge("exact", "the sum of the information of both, the prior counting once; the classes of both", merge),
    warns=(
        "digits_lost",
        "half of the digits of P are gone: it winds up in directions that the rows hardly visit, or the rows are large "
        "beside the prior. What helps: a forgetting factor nearer 1, a larger ridge, fewer features, scaled data",
    ),
)

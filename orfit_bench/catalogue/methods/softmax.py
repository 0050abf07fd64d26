"""Softmax regression: gradient steps on the cross-entropy of labels, with classes added as they appear."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.softmax import LAWS
from orfit_bench.catalogue.shared.cross_entropy import dual_steps, softmax
from orfit_bench.catalogue.shared.merging import weighted_mean
from orfit_bench.spec import (
    Array,
    Combine,
    Cost,
    Field,
    KernelSpec,
    Merge,
    Method,
    Number,
    NumberOrSchedule,
    Setting,
    Settings,
    Side,
    StateSpec,
    Theory,
    Weighting,
)


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The final weights by the dual form: the coefficients of all rows, from their inner products."""
    return dual_steps(X, Y, settings["step_size"](np.arange(1, len(X) + 1)), settings["ridge"])


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The mean of the weights, weighted by the number of rows; the counts of labels add up."""
    return weighted_mean(a, b, "w") | {"seen": a.fields["seen"] + b.fields["seen"]}


def needs_dense_rows(settings: Settings) -> str:
    """The reason why a step changes weights of features that are zero; empty if it does not."""
    return "with ridge a step needs all columns" if settings["ridge"] > 0 else ""


METHOD = Method(
    name="softmax",
    summary="softmax regression, also on networks: gradient steps on the cross-entropy of labels; classes may appear "
    "at any time",
    use_when="You need probabilities of several classes, at O(d) operations per row and class. Each step is bounded by "
    "the size of the row, so that a wrong label does little harm.",
    avoid_when="Classes arrive one after another: gradient steps forget earlier classes, class_rls does not. The step "
    "size cannot be tuned or the features are not scaled: class_rls needs neither, at O(d^2) operations per row. There "
    "are only two classes: sgd with the logistic loss has half the weights, and supports averaging.",
    formulas="q_k = exp(w_k'x) / sum_j exp(w_j'x) over the classes seen so far, including the label of this row\n"
    "w_k <- w_k - step ((q_k - y_k) x + ridge w_k), y the unit vector of the label; a new class has w_k = 0\n"
    "on a model with outputs f_k: w <- w - step (sum_k (q_k - y_k) grad f_k + ridge w); a new class has f_k = 0\n"
    "minimizes the mean of -log q_label plus ridge/2 |w|^2",
    source="slides, SGD beyond least square, with the multinomial logistic loss",
    kind="classification",
    settings=(
        Setting("step_size", NumberOrSchedule(0, closed="neither"), 0.01, "step size: a number or a schedule"),
        Setting("ridge", Number(0), 0.0, "coefficient of the penalty ridge/2 |w|^2 added to the mean loss"),
    ),
    examples=({"step_size": {"power": {"eta0": 0.3, "power": 0.5}}, "ridge": 0.1},),
    state=StateSpec(
        (
            Field("w", ("parameter", "output"), "weights; on the linear model one column per class", role="weights"),
            Field("seen", ("class",), "number of rows of each class"),
        ),
        probabilities=lambda scores, settings: softmax(scores),
    ),
    kernel=KernelSpec(
        weighting=Weighting("repetitions"),
        models=True,
        blocks=True,
        needs_targets=True,
        needs_dense_rows=needs_dense_rows,
    ),
    theory=Theory(
        laws=LAWS,
        batch=batch,
        batch_memory=lambda settings, sizes: 8.0 * sizes["row"] * (sizes["row"] + 2 * sizes["output"]),
        cost=Cost(
            flops=lambda s, z: 4 * z["output"] * z["parameter"],
            floats=lambda s, z: (1 + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=Combine(Merge("averaged", "the mean of the weights, weighted by the number of rows", merge)),
)

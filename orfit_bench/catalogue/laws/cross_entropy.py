"""Laws of SGD with the cross-entropy of several classes, on the linear model and on networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import final_weights
from orfit_bench.catalogue.laws.networks import scaled_rows, start_network
from orfit_bench.catalogue.laws.softmax import CONDITION, make_labels
from orfit_bench.catalogue.shared.cross_entropy import dual_steps, gradient_of_scores
from orfit_bench.models import MLP
from orfit_bench.spec import Model
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max

SETTINGS = {"loss": "cross_entropy"}


def cross_entropy_in_dual_form(create: Any, rows: Rows) -> Measured:
    """With the cross-entropy, a run equals its dual form, also on a network of one linear layer."""
    X, _, seed = rows
    _, Y = make_labels(X, seed)
    step, worst = float(np.float32(1 / (X * X).sum(1).max())), 0.0
    for ridge in (0.0, float(np.float32(0.25 / step / len(X)))):
        want = dual_steps(X, Y, np.full(len(X), step), ridge, all_known=True)
        given = {**SETTINGS, "step_size": step, "ridge": ridge}
        linear = create(**given).partial_fit(X, Y)
        layer = create(**given, model=MLP((), bias=False), initial_weights=np.zeros(want.size)).partial_fit(X, Y)
        worst = nan_max(worst, *(deviation(final_weights(it).reshape(want.shape), want) for it in (linear, layer)))
    return Measured(worst, len(X), CONDITION)


def cross_entropy_of_a_network(create: Any, rows: Rows) -> Measured:
    """A step on a network moves w against the complex-step gradient of the mean cross-entropy with the penalty."""
    model: Model = MLP((4, 3))
    X, _ = scaled_rows(rows, 8)
    X = X.astype("float32").astype(float)
    _, Y = make_labels(X, rows.seed)
    w = start_network(model, X, Y.shape[1])[0].astype("float32").astype(float)
    step, ridge = 0.5, 0.125
    learner = create(**SETTINGS, step_size=step, ridge=ridge, model=model, initial_weights=w)
    got = final_weights(learner.step(X, Y))[:, 0]
    want = w - step * gradient_of_scores(lambda v: model.predict(v, X), Y, w, ridge)
    return Measured(deviation(got, want), len(X), CONDITION)


SOURCE = "slides, SGD beyond least square, with the multinomial logistic loss"
LAWS = (
    Law(cross_entropy_in_dual_form, SOURCE, exponent=1),
    Law(cross_entropy_of_a_network, SOURCE, exponent=1),
)

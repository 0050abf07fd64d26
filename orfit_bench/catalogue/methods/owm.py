"""OWM: gradient steps of a deep network, each layer's shaped by an RLS matrix of what the layer takes in.

The survey names this (EBP, and OWM in continual learning) and gives no formulas. What stands here is our reading of
it, docs/decisions/0017-layer-wise-rls.md: RLS-(beta, lambda) on the inputs of each layer, its new P times the layer's
gradient step. On one linear layer with step 1 it is RLS itself, which the first law proves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods._batch import Array, inverse_information, weighted
from orfit_bench.catalogue.methods._common import WEIGHTS, condition, final_weights, least_energy, refused
from orfit_bench.catalogue.methods._digit_laws import digits_are_said
from orfit_bench.catalogue.methods._layers import followed, start, tame
from orfit_bench.catalogue.methods._merging import inverse, kept, mean
from orfit_bench.models import MLP
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Cost, Diagonal, Field, Method, Settings, Sizes
from orfit_bench.spec.setting import Setting

SETTINGS = {"step_size": 0.05, "ridge": 0.5, "forgetting_factor": 0.97}
"""Those of the laws on networks."""


def one_layer(create: Any, rows: Rows) -> Measured:
    """On one linear layer with step 1 the weights minimise the weighted squared errors with the prior: RLS."""
    A = np.column_stack([rows.X, np.full(len(rows.X), abs(rows.X).max())])
    Y = np.column_stack([rows.y, np.random.default_rng(rows.seed).standard_normal(len(rows.y)) * abs(rows.y).max()])
    prior = least_energy(A)
    w0 = np.linalg.lstsq(A, Y[::-1], rcond=None)[0]  # of the size that weights have here
    worst, cond = 0.0, condition(A)
    for ff in (0.97, 1.0, 1.02):
        start = {"model": MLP((), bias=False), "initial_weights": w0.ravel()}
        learner = create(step_size=1.0, ridge=prior, forgetting_factor=ff, **start).partial_fit(A, Y)
        B, b = weighted(A, Y - A @ w0, prior, ff)
        want = w0 + np.linalg.lstsq(B, b, rcond=None)[0]
        worst = largest(worst, deviation(final_weights(learner).reshape(want.shape), want))
        cond = max(cond, condition(B))
    return Measured(worst, len(A), cond)


def information(create: Any, rows: Rows) -> Measured:
    """Each layer's P is the inverse of the weighted information of what the layer took in before the steps."""
    X, Y = tame(rows, 60, outputs=2)
    model, worst = MLP((6, 4)), 0.0
    w, inputs = start(model, X, outputs=2)
    learner = create(model=model, initial_weights=w, **SETTINGS)
    taken_in = [seen.inputs for seen in followed(learner, model, X, Y)]
    state = learner.state()
    for k, layer in enumerate(zip(*taken_in, strict=True), start=1):
        want = inverse_information(_weighted(np.array(layer)))
        worst = largest(worst, deviation(state[f"P_{k}"].values, want))
    return Measured(worst, len(X), max(condition(_weighted(A)) for A in inputs))


def digits_of_a_layer(create: Any, rows: Rows) -> Measured:
    """It warns exactly when half of the digits of a layer's P are gone, and refuses exactly when too few are left."""
    one = {"model": MLP((), bias=False), "initial_weights": np.zeros(3), "step_size": 1.0}
    return digits_are_said(create, rows, "P_1", **one)


def shaped(create: Any, rows: Rows) -> Measured:
    """Each layer's step is its gradient step divided by the information with the new row in it, solved anew."""
    X, Y = tame(rows, 60, outputs=2)
    model, worst = MLP((6, 4), "leaky_relu"), 0.0
    step, ridge, ff = SETTINGS.values()
    w, inputs = start(model, X, outputs=2)
    learner = create(model=model, initial_weights=w, **SETTINGS)
    information: list[Array] = []
    for seen in followed(learner, model, X, Y):
        information = information or [ridge * np.eye(len(Theta)) for Theta in seen.before]
        for k, (Theta, a, Delta) in enumerate(zip(seen.before, seen.inputs, seen.move, strict=True)):
            information[k] = ff * information[k] + np.outer(a, a)
            want = Theta + step * np.linalg.solve(information[k], Delta)
            worst = largest(worst, deviation(seen.after[k], want))
    return Measured(worst, len(X), max(condition(_weighted(A)) for A in inputs))


def weights_that_overflow(create: Any, rows: Rows) -> Measured:
    """A step with which a weight leaves the floats is refused, and leaves weights and P."""
    learner = create(model=MLP((), bias=False), initial_weights=[0.0], step_size=4.0).partial_fit([[1.0]], [0.0])
    if not refused(learner.partial_fit, [[1.0]], [0.9 * float(np.finfo(learner.dtype).max)]):
        return Measured(float("inf"), 1, 1.0)
    return Measured(deviation(learner.state()["P_1"].values, [[0.5]]), 1, 1.0)


def _weighted(A: Array) -> Array:
    """Rows whose Gram matrix is the information after the rows of A, under SETTINGS."""
    return weighted(A, A, SETTINGS["ridge"], SETTINGS["forgetting_factor"])[0]


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(1 / settings["ridge"], sizes["input"])


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The mean of the weights; each layer's information is that of both, its prior counting once."""
    left = kept(settings["forgetting_factor"], b.steps)
    merged = mean(a, b, "w") | {"digits_lost": np.maximum(a.fields["digits_lost"], b.fields["digits_lost"])}
    for P in (name for name in a.fields if name.startswith("P_")):
        L_a, L_b, L_0 = (inverse(M, a.eps, P) for M in (a.fields[P], b.fields[P], a.start[P]))
        merged[P] = inverse(left * (L_a - L_0) + L_b, a.eps, P)
    return merged


METHOD = Method(
    name="owm",
    summary="layer-wise RLS: each layer's step multiplied by the RLS matrix of what the layer takes in",
    formulas="a: what layer l takes in, Delta_l: what plain gradient descent on |y - f|^2 / 2 would add to Theta_l\n"
    "P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff, for all layers l\n"
    "Theta_l <- Theta_l + step P_l Delta_l, with the new P_l",
    source="survey, EBP and OWM, named there without formulas: a reading (docs/decisions/0017-layer-wise-rls.md)",
    settings=(
        Setting("step_size", "schedule", 0.5, "(0, inf)", "the step; 1 makes one linear layer RLS, several overshoot"),
        Setting("ridge", "number", 1.0, "(0, inf)", "weight of the prior of every layer"),
        Setting("forgetting_factor", "number", 1.0, "(0, inf)", "weight of what a layer took in one step later"),
    ),
    fields=(
        WEIGHTS,
        Field("P", ("input", "input"), "inverse of the weighted information of the layer", start=_prior, layered=True),
        Field("digits_lost", (), "1 once half of the digits of a P are gone"),
    ),
    examples=({"forgetting_factor": 0.9},),
    cost=Cost(
        flops=lambda s, z: (2 * z["gradients"] + 2) * z["parameter"] + 5 * z["input"] ** 2,
        floats=lambda s, z: (z["gradients"] + 2) * z["parameter"] + 2 * z["input"] ** 2,
    ),
    merge=Merge("averaged", "the mean of the weights by rows seen; each layer's P counts what both took in", merge),
    laws=(
        Law(one_layer, "survey, EBP and OWM read with one layer; thesis, eq. (2.2)", exponent=2),
        Law(information, "survey, EBP and OWM as read; eq. (10) and (12)", exponent=2),
        Law(digits_of_a_layer, "docs/decisions/0004, on survey, EBP and OWM as read", exponent=0, shape="own"),
        Law(weights_that_overflow, "survey, EBP and OWM as read", exponent=0, shape="own"),
        Law(shaped, "survey, EBP and OWM as read", exponent=2),
    ),
    warns=(
        "digits_lost",
        "half of the digits of a layer's P are gone: it winds up in directions that the layer hardly takes in, or what "
        "it takes in is large beside the prior. What helps: a forgetting factor nearer 1, a larger ridge, narrower "
        "layers, scaled data",
    ),
)

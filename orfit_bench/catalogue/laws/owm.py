"""Laws of OWM, layer-wise RLS."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.covariance import warns_on_precision_loss
from orfit_bench.catalogue.laws.helpers import condition, final_weights, is_refused, weakest_energy
from orfit_bench.catalogue.laws.networks import follow, scaled_rows, start_network
from orfit_bench.catalogue.shared.least_squares import invert_information, weighted_rows
from orfit_bench.models import MLP
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max

SETTINGS = {"step_size": 0.05, "ridge": 0.5, "forgetting_factor": 0.97}
"""Settings of the laws on networks."""


def one_layer_equals_rls(create: Any, rows: Rows) -> Measured:
    """On one linear layer with step 1, the weights minimize the weighted squared errors with the prior: RLS."""
    A = np.column_stack([rows.X, np.full(len(rows.X), abs(rows.X).max())])
    Y = np.column_stack([rows.y, np.random.default_rng(rows.seed).standard_normal(len(rows.y)) * abs(rows.y).max()])
    prior = weakest_energy(A)
    w0 = np.linalg.lstsq(A, Y[::-1], rcond=None)[0]  # of the same magnitude as the solution
    worst, cond = 0.0, condition(A)
    for ff in (0.97, 1.0, 1.02):
        start = {"model": MLP((), bias=False), "initial_weights": w0.ravel()}
        learner = create(step_size=1.0, ridge=prior, forgetting_factor=ff, **start).partial_fit(A, Y)
        B, b = weighted_rows(A, Y - A @ w0, prior, ff)
        want = w0 + np.linalg.lstsq(B, b, rcond=None)[0]
        worst = nan_max(worst, deviation(final_weights(learner).reshape(want.shape), want))
        cond = max(cond, condition(B))
    return Measured(worst, len(A), cond)


def layer_p_is_inverse_information(create: Any, rows: Rows) -> Measured:
    """Each layer's P is the inverse of the weighted information of the layer's inputs before each step."""
    X, Y = scaled_rows(rows, 60, outputs=2)
    model, worst = MLP((6, 4)), 0.0
    w, inputs = start_network(model, X, outputs=2)
    learner = create(model=model, initial_weights=w, **SETTINGS)
    taken_in = [seen.inputs for seen in follow(learner, model, X, Y)]
    state = learner.state()
    for k, layer in enumerate(zip(*taken_in, strict=True), start=1):
        want = invert_information(_information_rows(np.array(layer)))
        worst = nan_max(worst, deviation(state[f"P_{k}"].values, want))
    return Measured(worst, len(X), max(condition(_information_rows(A)) for A in inputs))


def layer_warns_on_precision_loss(create: Any, rows: Rows) -> Measured:
    """The learner warns exactly when half of the digits of a layer's P are lost, and refuses when too few are left."""
    one = {"model": MLP((), bias=False), "initial_weights": np.zeros(3), "step_size": 1.0}
    return warns_on_precision_loss(create, rows, "P_1", **one)


def gradient_times_inverse_information(create: Any, rows: Rows) -> Measured:
    """Each layer's step is its gradient step times the inverse information with the new row (truth: dense solve)."""
    X, Y = scaled_rows(rows, 60, outputs=2)
    model, worst = MLP((6, 4), "leaky_relu"), 0.0
    step, ridge, ff = SETTINGS.values()
    w, inputs = start_network(model, X, outputs=2)
    learner = create(model=model, initial_weights=w, **SETTINGS)
    information: list[Array] = []
    for seen in follow(learner, model, X, Y):
        information = information or [ridge * np.eye(len(Theta)) for Theta in seen.before]
        for k, (Theta, a, Delta) in enumerate(zip(seen.before, seen.inputs, seen.move, strict=True)):
            information[k] = ff * information[k] + np.outer(a, a)
            want = Theta + step * np.linalg.solve(information[k], Delta)
            worst = nan_max(worst, deviation(seen.after[k], want))
    return Measured(worst, len(X), max(condition(_information_rows(A)) for A in inputs))


def overflowing_step_is_refused(create: Any, rows: Rows) -> Measured:
    """A step that would make a weight overflow is refused, and P stays unchanged."""
    learner = create(model=MLP((), bias=False), initial_weights=[0.0], step_size=4.0).partial_fit([[1.0]], [0.0])
    if not is_refused(learner.partial_fit, [[1.0]], [0.9 * float(np.finfo(learner.dtype).max)]):
        return Measured(float("inf"), 1, 1.0)
    return Measured(deviation(learner.array("P_1"), [[0.5]]), 1, 1.0)


def _information_rows(A: Array) -> Array:
    """Rows whose Gram matrix is the information after the rows of A, under SETTINGS."""
    return weighted_rows(A, A, SETTINGS["ridge"], SETTINGS["forgetting_factor"])[0]


SOURCE = "survey, EBP and OWM, interpreted in docs/decisions/0017"
LAWS = (
    Law(one_layer_equals_rls, f"{SOURCE}, for one layer; thesis, eq. (2.2)", exponent=2),
    Law(layer_p_is_inverse_information, f"{SOURCE}; eq. (10) and (12)", exponent=2),
    Law(layer_warns_on_precision_loss, "docs/decisions/0004, on EBP and OWM of the survey", exponent=0, shape="own"),
    Law(overflowing_step_is_refused, SOURCE, exponent=0, shape="own"),
    Law(gradient_times_inverse_information, SOURCE, exponent=2),
)

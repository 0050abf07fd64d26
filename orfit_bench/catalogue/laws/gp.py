"""Laws of gradient projection (GP)."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights
from orfit_bench.catalogue.laws.networks import follow, scaled_rows, start_network
from orfit_bench.catalogue.shared.recursions import projected_steps
from orfit_bench.models import MLP
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max

WIDE = (48, 40)
"""Layer widths above the number of rows, so that the features stay independent."""
STEP = 0.01


def earlier_layer_outputs_are_unchanged(create: Any, rows: Rows) -> Measured:
    """The inputs of all layers and the prediction stay unchanged for earlier rows; the new row's error shrinks."""
    X, Y = scaled_rows(rows, 12, outputs=2)
    worst, cond = 0.0, 1.0
    for activation in ("tanh", "relu", "softplus"):
        model = MLP(WIDE, activation)
        w, inputs = start_network(model, X, outputs=2)
        learner = create(model=model, step_size=STEP, initial_weights=w)
        features: list[list[Array]] = []
        for t in range(len(X)):
            v = final_weights(learner.partial_fit(X[t : t + 1], Y[t : t + 1]))[:, 0]
            before, after = (float(((Y[t] - model.predict(a, X[t : t + 1])[0]) ** 2).sum()) for a in (w, v))
            worst = nan_max(worst, 0.0 if after < before else np.inf)
            features.append(_features(model, v, X[t]))
            w = v
        for x, was in zip(X, features, strict=True):
            worst = nan_max(worst, *(deviation(a, b) for a, b in zip(_features(model, w, x), was, strict=True)))
        cond = max(cond, *map(condition, inputs))
    return Measured(worst, len(X), cond)


def _features(model: Any, w: Array, x: Array) -> list[Array]:
    """The inputs of all layers and the prediction."""
    return [*model.layers(w, x), model.predict(w, x[None])[0]]


def gradient_is_projected(create: Any, rows: Rows) -> Measured:
    """Each layer's step is its gradient step projected off the layer's inputs, taken after earlier steps.

    It never points against the gradient step, and every layer moves.
    """
    X, Y = scaled_rows(rows, 12, outputs=2)
    model, worst = MLP(WIDE), 0.0
    w, inputs = start_network(model, X, outputs=2)
    past: list[Array] = []
    for seen in follow(create(model=model, step_size=STEP, initial_weights=w), model, X, Y):
        past = past or [Theta.T[:0] for Theta in seen.before]
        for k, (A, Theta, Delta) in enumerate(zip(past, seen.before, seen.move, strict=True)):
            want = STEP * (Delta - np.linalg.pinv(A) @ (A @ Delta))
            along = float(((seen.after[k] - Theta) * Delta).sum())
            worst = nan_max(worst, deviation(seen.after[k], Theta + want), 0.0 if along > 0 else np.inf)
            past[k] = np.vstack([A, seen.then[k]])
    return Measured(worst, len(X), max(map(condition, inputs)))


def basis_spans_layer_inputs(create: Any, rows: Rows) -> Measured:
    """Each layer's basis spans exactly the layer's inputs, taken just after each row was learned."""
    X, Y = scaled_rows(rows, 12)
    model = MLP(WIDE)
    w, inputs = start_network(model, X, outputs=1)
    learner = create(model=model, step_size=STEP, initial_weights=w)
    then = [seen.then for seen in follow(learner, model, X, Y)]
    state, worst = learner.state(), 0.0
    for k, layer in enumerate(zip(*then, strict=True), start=1):
        A, U = np.array(layer), np.asarray(state[f"basis_{k}"].values, float)
        worst = nan_max(worst, deviation(U.T @ U, np.linalg.pinv(A) @ A))
    return Measured(worst, len(X), max(map(condition, inputs)))


def one_layer_equals_ogd(create: Any, rows: Rows) -> Measured:
    """A network of one layer learns as OGD: in an LQ factorization all errors solve one triangular system."""
    X, Y = scaled_rows(rows, len(rows.X), outputs=2)
    A = np.column_stack([X, np.ones(len(X))])
    w0 = np.random.default_rng(rows.seed).standard_normal((A.shape[1], 2))
    step = 0.5 / float((A * A).sum(1).max())
    learner = create(model=MLP(()), step_size=step, initial_weights=w0.ravel())
    got = final_weights(learner.partial_fit(X, Y)).reshape(w0.shape)
    return Measured(deviation(got, projected_steps(A, Y, w0, np.full(len(A), step))), len(A), condition(A))


def low_rank_equals_incremental_svd(create: Any, rows: Rows) -> Measured:
    """With a limited rank, U and Sigma equal dense SVDs of [U Sigma, a], a the layer's input, row by row."""
    X, Y = scaled_rows(rows, len(rows.X))
    model, m, worst, gap = MLP((20, 16)), 5, 0.0, np.inf
    w, inputs = start_network(model, X, outputs=1)
    learner = create(model=model, step_size=STEP, rank=m, initial_weights=w)
    then = [seen.then for seen in follow(learner, model, X, Y)]
    state = learner.state()
    for k, layer in enumerate(zip(*then, strict=True), start=1):
        kept = np.zeros((len(layer[0]), 0))
        for a in layer:
            U, sigma, _ = np.linalg.svd(np.column_stack([kept, a]), full_matrices=False)
            gap = min(gap, 1 - sigma[m] / sigma[m - 1]) if len(sigma) > m else gap
            kept = U[:, :m] * sigma[:m]
        got = state[f"basis_{k}"].values.T * state[f"singular_values_{k}"].values
        worst = nan_max(worst, deviation(got @ got.T, kept @ kept.T))
    return Measured(worst, len(X), max(1 / gap, *map(condition, inputs)))  # near ties at the cut amplify rounding


LAWS = (
    Law(earlier_layer_outputs_are_unchanged, "survey, Theorem 6", exponent=1, shape="wide"),
    Law(gradient_is_projected, "survey, (GP), and what is said of descent after Theorem 6", exponent=1, shape="wide"),
    Law(basis_spans_layer_inputs, "survey, the projections of (GP)", exponent=1, shape="wide"),
    Law(one_layer_equals_ogd, "survey, (GP) with one layer is (OGD)", exponent=1, shape="wide"),
    Law(
        low_rank_equals_incremental_svd,
        "survey, the low-rank version after Theorem 6; thesis, eq. (3.3)",
        exponent=1,
        shape="wide",
    ),
)

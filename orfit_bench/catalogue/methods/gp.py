"""GP: gradient steps of a deep network that leave what its layers gave for former rows as it was."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods._batch import Array
from orfit_bench.catalogue.methods._common import STEP_SIZE, WEIGHTS, condition, final_weights
from orfit_bench.catalogue.methods._layers import followed, start, tame
from orfit_bench.catalogue.methods._merging import mean, spanned
from orfit_bench.catalogue.methods.ogd import projected_steps
from orfit_bench.models import MLP
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Cost, Field, Method, Settings, Sizes
from orfit_bench.spec.setting import Setting

WIDE = (48, 40)
"""Widths beyond the number of rows that the laws learn, so that their features stay independent."""
STEP = 0.01


def never_forgets(create: Any, rows: Rows) -> Measured:
    """What every layer gives for a former row, the prediction too, stays as it was; the new row's error shrinks."""
    X, Y = tame(rows, 12, outputs=2)
    worst, cond = 0.0, 1.0
    for activation in ("tanh", "relu", "softplus"):
        model = MLP(WIDE, activation)
        w, inputs = start(model, X, outputs=2)
        learner = create(model=model, step_size=STEP, initial_weights=w)
        features: list[list[Array]] = []
        for t in range(len(X)):
            v = final_weights(learner.partial_fit(X[t : t + 1], Y[t : t + 1]))[:, 0]
            before, after = (float(((Y[t] - model.predict(a, X[t : t + 1])[0]) ** 2).sum()) for a in (w, v))
            worst = largest(worst, 0.0 if after < before else np.inf)
            features.append(_features(model, v, X[t]))
            w = v
        for x, was in zip(X, features, strict=True):
            worst = largest(worst, *(deviation(a, b) for a, b in zip(_features(model, w, x), was, strict=True)))
        cond = max(cond, *map(condition, inputs))
    return Measured(worst, len(X), cond)


def _features(model: Any, w: Array, x: Array) -> list[Array]:
    """What each layer takes in, and what the last one gives."""
    return [*model.layers(w, x), model.predict(w, x[None])[0]]


def projected(create: Any, rows: Rows) -> Measured:
    """Each layer's step is its gradient step projected off all that it took in, just after those rows were learned.

    So it is no step against the gradient step, and none of the layers stands still.
    """
    X, Y = tame(rows, 12, outputs=2)
    model, worst = MLP(WIDE), 0.0
    w, inputs = start(model, X, outputs=2)
    past: list[Array] = []
    for seen in followed(create(model=model, step_size=STEP, initial_weights=w), model, X, Y):
        past = past or [Theta.T[:0] for Theta in seen.before]
        for k, (A, Theta, Delta) in enumerate(zip(past, seen.before, seen.move, strict=True)):
            want = STEP * (Delta - np.linalg.pinv(A) @ (A @ Delta))
            along = float(((seen.after[k] - Theta) * Delta).sum())
            worst = largest(worst, deviation(seen.after[k], Theta + want), 0.0 if along > 0 else np.inf)
            past[k] = np.vstack([A, seen.then[k]])
    return Measured(worst, len(X), max(map(condition, inputs)))


def spans(create: Any, rows: Rows) -> Measured:
    """Each layer's basis spans what it took in, just after those rows were learned, and nothing else."""
    X, Y = tame(rows, 12)
    model = MLP(WIDE)
    w, inputs = start(model, X, outputs=1)
    learner = create(model=model, step_size=STEP, initial_weights=w)
    then = [seen.then for seen in followed(learner, model, X, Y)]
    state, worst = learner.state(), 0.0
    for k, layer in enumerate(zip(*then, strict=True), start=1):
        A, U = np.array(layer), np.asarray(state[f"basis_{k}"].values, float)
        worst = largest(worst, deviation(U.T @ U, np.linalg.pinv(A) @ A))
    return Measured(worst, len(X), max(map(condition, inputs)))


def one_layer(create: Any, rows: Rows) -> Measured:
    """A network of one layer learns as OGD does: in an LQ factorisation all errors solve one triangular system."""
    X, Y = tame(rows, len(rows.X), outputs=2)
    A = np.column_stack([X, np.ones(len(X))])
    w0 = np.random.default_rng(rows.seed).standard_normal((A.shape[1], 2))
    step = 0.5 / float((A * A).sum(1).max())
    learner = create(model=MLP(()), step_size=step, initial_weights=w0.ravel())
    got = final_weights(learner.partial_fit(X, Y)).reshape(w0.shape)
    return Measured(deviation(got, projected_steps(A, Y, w0, np.full(len(A), step))), len(A), condition(A))


def low_rank(create: Any, rows: Rows) -> Measured:
    """With a limited rank U, Sigma are those of dense SVDs of [U Sigma, a], a what the layer took in, row after row."""
    X, Y = tame(rows, len(rows.X))
    model, m, worst, gap = MLP((20, 16)), 5, 0.0, np.inf
    w, inputs = start(model, X, outputs=1)
    learner = create(model=model, step_size=STEP, rank=m, initial_weights=w)
    then = [seen.then for seen in followed(learner, model, X, Y)]
    state = learner.state()
    for k, layer in enumerate(zip(*then, strict=True), start=1):
        kept = np.zeros((len(layer[0]), 0))
        for a in layer:
            U, sigma, _ = np.linalg.svd(np.column_stack([kept, a]), full_matrices=False)
            gap = min(gap, 1 - sigma[m] / sigma[m - 1]) if len(sigma) > m else gap
            kept = U[:, :m] * sigma[:m]
        got = state[f"basis_{k}"].values.T * state[f"singular_values_{k}"].values
        worst = largest(worst, deviation(got @ got.T, kept @ kept.T))
    return Measured(worst, len(X), max(1 / gap, *map(condition, inputs)))  # a near tie at the cut amplifies rounding


def _directions(settings: Settings, sizes: Sizes) -> int:
    """No more independent directions than inputs, nor than the rank."""
    return min(settings["rank"] or sizes["input"], sizes["input"])


def _limited(settings: Settings) -> bool:
    return settings["rank"] is not None


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The mean of the weights; each layer's basis spans what both took in, so far as there is room."""
    merged = mean(a, b, "w")
    for name in (name for name in a.fields if name.startswith("basis_")):
        U, V = a.fields[name], b.fields[name]
        if _limited(settings):
            values = name.replace("basis", "singular_values")
            both = np.vstack([U * a.fields[values][:, None], V * b.fields[values][:, None]])
            _, sigma, kept = np.linalg.svd(both, full_matrices=False)
            merged[values] = np.where(sigma > np.sqrt(a.eps) * sigma[0], sigma, 0.0)[: len(U)]
            merged[name] = kept[: len(U)] * (merged[values] > 0)[:, None]
        else:
            joined = spanned(U[U.any(axis=1)], V[V.any(axis=1)], np.sqrt(a.eps))
            merged[name] = np.vstack([joined, np.zeros_like(U)])[: len(U)]
    return merged


METHOD = Method(
    name="gp",
    summary="gradient projection: each layer's step projected off the span of what it took in so far",
    formulas="Delta_l: what plain gradient descent on |y - f|^2 / 2 would add to Theta_l\n"
    "Theta_l <- Theta_l + step (I - U_l U_l') Delta_l, for all layers l\n"
    "U_l <- [U_l r/|r|], r = a - U_l U_l'a, a what layer l takes in after the step\n"
    "with a rank: U_l, Sigma_l <- the first `rank` singular vectors of [U_l Sigma_l, a]",
    source="survey, (GP) and its low-rank version",
    settings=(
        STEP_SIZE,
        Setting(
            "rank",
            "integer",
            None,
            "[1, inf)",
            "how many directions a layer keeps of what it took in, the leading ones; None keeps all",
            optional=True,
        ),
    ),
    fields=(
        WEIGHTS,
        Field(
            "basis",
            ("direction", "input"),
            "orthonormal rows that span what the layer took in; rows of zeros are free",
            layered=True,
            compared="span",
        ),
        Field(
            "singular_values",
            ("direction",),
            "how much a direction counts",
            when=_limited,
            layered=True,
        ),
    ),
    cost=Cost(
        flops=lambda s, z: (
            (8 * z["direction"] + 2 * z["gradients"] + 2) * z["parameter"]
            + (8 + 2 * z["direction"] * _limited(s)) * z["direction"] * z["input"]
        ),
        floats=lambda s, z: (z["gradients"] + 2) * z["parameter"] + (2 + _limited(s)) * z["direction"] * z["input"],
    ),
    merge=Merge("averaged", "the mean of the weights by rows seen; each layer's basis spans what both took in", merge),
    laws=(
        Law(never_forgets, "survey, Theorem 6", exponent=1, shape="wide"),
        Law(projected, "survey, (GP), and what is said of descent after Theorem 6", exponent=1, shape="wide"),
        Law(spans, "survey, the projections of (GP)", exponent=1, shape="wide"),
        Law(one_layer, "survey, (GP) with one layer is (OGD)", exponent=1, shape="wide"),
        Law(low_rank, "survey, the low-rank version after Theorem 6; thesis, eq. (3.3)", exponent=1, shape="wide"),
    ),
    fresh=True,
    lengths={"direction": _directions},
)

"""Laws of softmax regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import final_weights
from orfit_bench.catalogue.laws.networks import scaled_rows
from orfit_bench.catalogue.laws.weights import make_weights
from orfit_bench.catalogue.shared.cross_entropy import dual_steps, gradient, gradient_of_scores, minimize
from orfit_bench.models import MLP
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max

CONDITION = 10.0
"""Factor by which exp magnifies rounding errors of the scores, which are of order 1, up to a few units."""


def make_labels(X: Array, seed: int, classes: int = 3) -> tuple[Array, Array]:
    """Noisy labels (n,) that depend on the rows, numbered by first appearance, and their one-hot rows."""
    rng = np.random.default_rng(seed)
    scores = X @ rng.standard_normal((X.shape[1], classes)) / np.sqrt((X * X).sum(1).mean())
    labels = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    known = list(dict.fromkeys(labels.tolist()))
    labels = np.array([known.index(label) for label in labels.tolist()])
    return labels, np.eye(len(known))[labels]


def _step(X: Array) -> float:
    """A step size with which a step forgets half of the contribution of the largest row; exact in float32."""
    return float(np.float32(1 / (X * X).sum(1).max()))


def dual_form(create: Any, rows: Rows) -> Measured:
    """A run equals its dual form, whose coefficients need only the inner products of rows."""
    X, _, seed = rows
    (labels, Y), step = make_labels(X, seed), _step(X)
    worst = 0.0
    for ridge in (0.0, 0.25 / step / len(X)):
        want, learner = dual_steps(X, Y, np.full(len(X), step), ridge), create(step_size=step, ridge=ridge)
        for part in (slice(0, 1), slice(1, 9), slice(9, len(X))):
            learner.partial_fit(X[part], labels[part])
        worst = nan_max(worst, deviation(final_weights(learner), want))
    return Measured(worst, len(X), CONDITION)


def block_moves_against_gradient(create: Any, rows: Rows) -> Measured:
    """A block moves w against the gradient of its mean cross-entropy with the penalty."""
    X, _, seed = rows
    (labels, Y), step, half = make_labels(X, seed), _step(X), len(X) // 2
    ridge = 0.01 / step
    learner = create(step_size=step, ridge=ridge).partial_fit(X[:half], labels[:half])
    w = final_weights(learner)
    A, B = X[half:], Y[half:, : w.shape[1]]
    kept = B.any(axis=1)
    got = final_weights(learner.step(A[kept], labels[half:][kept]))
    want = w - step * gradient(A[kept], B[kept], w, ridge)
    return Measured(deviation(got, want), len(X), CONDITION)


def two_classes_are_logistic(create: Any, rows: Rows) -> Measured:
    """For two classes, the difference of their weights follows SGD on the logistic loss with twice the step size."""
    from scipy.special import expit  # slow to import

    X, _, seed = rows
    (labels, _), step = make_labels(X, seed, classes=2), _step(X)
    w = np.zeros(X.shape[1])
    for t in range(len(X)):
        if labels[: t + 1].any():  # before, a single class is certain
            y = 2 * labels[t] - 1
            w = w + 2 * step * y * expit(-y * (X[t] @ w)) * X[t]
    got = final_weights(create(step_size=step).partial_fit(X, labels))
    return Measured(nan_max(deviation(got[:, 1] - got[:, 0], w), deviation(got[:, 1], -got[:, 0])), len(X), CONDITION)


def steps_on_all_rows_converge(create: Any, rows: Rows) -> Measured:
    """Steps of 1/L on all rows converge to the minimum of the penalized mean cross-entropy (by Newton's method).

    The Hessian is at most L = |X|^2 / (2 n) + ridge, so that T steps leave (1 - ridge / L)^T of the distance.
    """
    X, _, seed = rows
    X = X / np.linalg.norm(X, axis=1).max()
    labels, Y = make_labels(X, seed)
    smooth = float(np.linalg.norm(X, 2) ** 2 / (2 * len(X)))
    ridge = float(np.float32(smooth / 4))
    want, cond = minimize(X, Y, ridge)
    learner, steps = create(step_size=1 / (smooth + ridge), ridge=ridge), 250  # (4/5)^250 is below 1e-24
    for _ in range(steps):
        learner.step(X, labels)
    return Measured(deviation(final_weights(learner), want), len(X), cond)


def weights_repeat_rows(create: Any, rows: Rows) -> Measured:
    """A row of weight 2.25 takes two steps and one of a quarter of the size (truth: the dual form)."""
    X, _, seed = rows
    (labels, Y), step, v = make_labels(X, seed), _step(X), make_weights(len(X), seed) + 0.25
    again = np.ceil(v).astype(int)
    which, part = np.repeat(np.arange(len(X)), again), np.ones(again.sum())
    part[np.cumsum(again) - 1] = v - again + 1
    want = dual_steps(X[which], Y[which], step * part, 0.0)
    learner = create(step_size=step).partial_fit(X, labels, sample_weight=v)
    return Measured(deviation(final_weights(learner), want), len(which), CONDITION)


def layer_in_dual_form(create: Any, rows: Rows) -> Measured:
    """On a network of one linear layer, a run equals the dual form of the linear model."""
    X, _, seed = rows
    (labels, Y), step = make_labels(X, seed), _step(X)
    ridge = float(np.float32(0.25 / step / len(X)))
    want = dual_steps(X, Y, np.full(len(X), step), ridge)
    learner = create(step_size=step, ridge=ridge, model=MLP((), bias=False))
    for part in (slice(0, 1), slice(1, 9), slice(9, len(X))):
        learner.partial_fit(X[part], labels[part])
    return Measured(deviation(final_weights(learner).reshape(want.shape), want), len(X), CONDITION)


def network_moves_against_gradient(create: Any, rows: Rows) -> Measured:
    """A block moves all weights of a network against the complex-step gradient of its mean cross-entropy."""
    model = MLP((4, 3))
    X, _ = scaled_rows(rows, 12)
    X = X.astype("float32").astype(float)
    (labels, Y), ridge, step = make_labels(X, rows.seed), 0.125, 0.5
    learner = create(step_size=step, ridge=ridge, model=model).partial_fit(X, labels)
    w = final_weights(learner)[:, 0]
    got = final_weights(learner.step(X, labels))[:, 0]
    want = w - step * gradient_of_scores(lambda v: model.predict(v, X), Y, w, ridge)
    return Measured(deviation(got, want), len(X), CONDITION)


SOURCE = "slides, SGD beyond least square, with the multinomial logistic loss"
LAWS = (
    Law(dual_form, SOURCE, exponent=1),
    Law(block_moves_against_gradient, SOURCE, exponent=1),
    Law(two_classes_are_logistic, SOURCE, exponent=1),
    Law(steps_on_all_rows_converge, "slides, SGD convergence, for gradients without noise", exponent=1),
    Law(weights_repeat_rows, SOURCE, exponent=1),
    Law(layer_in_dual_form, SOURCE, exponent=1),
    Law(network_moves_against_gradient, SOURCE, exponent=1),
)

"""Laws of SGD: statements of the slides about its steps, averages, projection and convergence rate."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws import cross_entropy, weights
from orfit_bench.catalogue.laws.complex_numbers import complex_steps
from orfit_bench.catalogue.laws.helpers import condition, final_weights, is_refused
from orfit_bench.catalogue.shared.losses import LOSSES, MARGINS, risk_gradient
from orfit_bench.catalogue.shared.recursions import error_system, gradient_steps, momentum_steps
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max, to_numpy64

SHAPES = {"delta": 0.75, "tau": 0.25, "epsilon": 0.5}
"""Settings of the losses, exactly representable in both dtypes."""


def closed_form(create: Any, rows: Rows) -> Measured:
    """With the loss e^2 / 2 the a-priori errors of all rows solve one triangular system (the unrolled recursion)."""
    X, y, _ = rows
    steps = np.full(len(X), 0.5 / (X * X).sum(1).max())
    want = gradient_steps(X, y[:, None], np.zeros((X.shape[1], 1)), steps)
    learner = create(step_size=steps[0]).partial_fit(X, y)
    return Measured(deviation(final_weights(learner), want), len(X), condition(error_system(X, steps)))


def momentum_recurrence(create: Any, rows: Rows) -> Measured:
    """With momentum, ridge and batches, a run is a second-order linear recurrence (truth: one linear system)."""
    X, y, _ = rows
    energy, T = (X * X).sum(1), -(-len(X) // 7)
    step, ridge, beta = 0.2 / energy.max(), 0.1 * energy.mean(), [0.3, 0.9, 0.0, 0.6]
    w = np.linspace(-1, 1, X.shape[1])[:, None]  # nonzero, so that an effect of beta_1 would show
    settings = {"step_size": step, "ridge": ridge, "momentum": {"sequence": {"values": beta}}, "batch_size": 7}
    learner = create(initial_weights=w, **settings)
    got = final_weights(learner.partial_fit(X, y).flush())
    momentum = np.array(beta)[np.minimum(np.arange(T), 3)]
    W, L = momentum_steps(X, y[:, None], w, np.full(T, step), momentum, ridge, 7)
    shrunk = float(abs(W).max() / abs(W[-1]).max())  # rounding errors scale with the largest iterate
    carried = 1 / (1 - beta[-1])  # momentum repeats each error: 1 + beta + beta^2 + ...
    return Measured(deviation(got, W[-1]), len(X), condition(L) * shrunk * carried)


def smooth(rows: Rows, loss: str) -> tuple[Array, Array, Array]:
    """X, y and w: up to 20 rows of norm at most 1, predictions of order 1, errors at least 0.01 off all kinks."""
    rng = np.random.default_rng(rows.seed)
    X = rows.X / np.linalg.norm(rows.X, axis=1).max()
    w = rng.standard_normal(X.shape[1])
    w /= np.sqrt(np.mean((X @ w) ** 2))
    y = rng.standard_normal(len(X))
    y = np.where(y > 0, 1.0, -1.0) if loss in MARGINS else y
    X, y, w = (a.astype("float32").astype(float) for a in (X, y, w))  # the same numbers in every dtype
    e = abs(y - X @ w)
    clear = np.flatnonzero((e > 0.01) & (abs(e - SHAPES["epsilon"]) > 0.01))[:20]
    return X[clear], y[clear], w


def _against_gradient(create: Any, rows: Rows, learn: Any) -> Measured:
    """The deviation of learn(learner, X, y) -> w from w - step (gradient of mean loss + ridge w), for all losses."""
    worst, cond = 0.0, 1.0
    for loss in LOSSES:
        X, y, w = smooth(rows, loss)
        g = risk_gradient(loss, X, y, w, SHAPES)
        ridge = np.linalg.norm(g) / np.linalg.norm(w)
        step = 0.5 / ridge
        started = create(loss=loss, step_size=step, ridge=ridge, initial_weights=w, **SHAPES)
        worst = nan_max(worst, deviation(learn(started, X, y), w - step * (g + ridge * w)))
        size = np.linalg.norm(X, axis=1)
        rounded = np.mean(size * (1 + abs(y) + size * np.linalg.norm(w)))  # rounding error of x l'(y, f) from that of f
        cond = max(cond, float(rounded / np.linalg.norm(g)))
    return Measured(worst, len(rows.X), cond)


def mini_batch_gradient(create: Any, rows: Rows) -> Measured:
    """A step on a batch moves w against the gradient of the batch's mean loss, for every loss."""
    return _against_gradient(create, rows, lambda it, X, y: final_weights(it.step(X, y))[:, 0])


def stochastic_gradient_is_unbiased(create: Any, rows: Rows) -> Measured:
    """The mean of the steps of the individual rows is the step of the empirical risk."""

    def expected(started: Any, X: Array, y: Array) -> Array:
        ends = [final_weights(started.copy().partial_fit(X[i : i + 1], y[i : i + 1])) for i in range(len(X))]
        return np.asarray(np.mean(ends, axis=0)[:, 0])

    return _against_gradient(create, rows, expected)


def subgradient_inequality(create: Any, rows: Rows) -> Measured:
    """l(y, v) >= l(y, u) + s (v - u) for the subgradient s of a step at u, at and between the kinks of every loss."""
    points, worst = np.linspace(-3, 3, 25), 0.0
    for loss, y, u in product(LOSSES, (-1.0, 1.0), points):
        learner = create(loss=loss, step_size=1.0, initial_weights=[u], **SHAPES)
        s = u - final_weights(learner.partial_fit([[1.0]], [y]))[0, 0]
        value = LOSSES[loss](np.array(y), np.append(points, u), SHAPES)
        worst = nan_max(worst, float((value[-1] + s * (points - u) - value[:-1]).max() / abs(value).max()))
    return Measured(worst, 1, 1.0)


def iterate_averages(create: Any, rows: Rows) -> Measured:
    """Predictions use the mean of the w_t at which gradients were evaluated, weighted by a_t over the sum of a_t."""
    X, y, _ = rows
    n, worst = len(X), 0.0
    steps = np.full(n, 0.5 / (X * X).sum(1).max())
    L = error_system(X, steps)
    moves = steps[:, None] * np.linalg.solve(L, y)[:, None] * X
    # w_1 .. w_n; no gradient was evaluated at w_(n+1)
    W = np.vstack([np.zeros(X.shape[1]), np.cumsum(moves, axis=0)])[:n]
    power = {"power": {"eta0": 2.0, "power": 0.5}}
    for settings, a in (
        ({"averaging": "uniform"}, np.ones(n)),
        ({"averaging": "tail", "tail_start": n // 3}, np.arange(1, n + 1) >= n // 3),
        ({"averaging": "weighted", "weights": power}, 2 / np.sqrt(np.arange(1, n + 1))),
    ):
        got = create(step_size=steps[0], **settings).partial_fit(X, y).predict(np.eye(X.shape[1]))
        worst = nan_max(worst, deviation(got, a @ W / a.sum()))
    return Measured(worst, n, condition(L))


def projection_onto_the_ball(create: Any, rows: Rows) -> Measured:
    """Each step ends at the point of the ball |w| <= radius nearest to the end of the unprojected step."""
    X, y, _ = rows
    step = 1 / (X * X).sum(1).max()
    moves = step * abs(y) * np.linalg.norm(X, axis=1)
    radius = float(moves.mean())
    learner, w, worst = create(step_size=step, radius=radius), np.zeros(X.shape[1]), 0.0
    for x, t in zip(X, y, strict=True):
        z = w + step * (t - x @ w) * x
        w = final_weights(learner.partial_fit(x[None], [t]))[:, 0]
        worst = nan_max(worst, _projection_deviation(w, z, radius))
    return Measured(worst, len(X), 1.0)


def _projection_deviation(w: Array, z: Array, radius: float) -> float:
    """The distance of w from the projection of z: w = z, or |w| = radius and z = c w with c >= 1."""
    if np.linalg.norm(z) <= radius:
        return float(np.linalg.norm(w - z) / radius)
    with np.errstate(all="ignore"):
        c = (z @ w) / (w @ w)
        off = np.linalg.norm(z - c * w) / np.linalg.norm(z), abs(np.linalg.norm(w) / radius - 1), 1 - c
    return nan_max(0.0, *map(float, off))


def convergence_rate(create: Any, rows: Rows) -> Measured:
    """E F(mean w_t) - F* <= B G / sqrt(T) with the constant step B / (G sqrt(T)) (mean over all sequences)."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(rows.seed)
    X, T = rng.standard_normal((3, 2)), 5
    y = X @ rng.standard_normal(2) + 0.1 * rng.standard_normal(3)
    A = np.block([[X, -np.eye(3)], [-X, -np.eye(3)]])  # F* = min of mean t, |y - X w| <= t
    found = linprog(np.repeat([0.0, 1 / 3], [2, 3]), A, np.append(y, -y), bounds=[(None, None)] * 5)
    B, G = float(np.linalg.norm(found.x[:2])), float(np.sqrt((X * X).sum(1).mean()))
    learn = {"loss": "absolute", "step_size": B / (G * np.sqrt(T)), "averaging": "uniform"}
    gaps = []
    for order in product(range(3), repeat=T):
        mean = to_numpy64(create(**learn).partial_fit(X[list(order)], y[list(order)]).predict(np.eye(2)))
        gaps.append(abs(y - X @ mean).mean() - found.fun)
    return Measured(nan_max(0.0, float(np.mean(gaps)) / (B * G / np.sqrt(T)) - 1), T, 1.0)


def zero_subgradient_at_kinks(create: Any, rows: Rows) -> Measured:
    """At the kink of a loss the subgradient is zero: the weights do not change."""
    kinks = {"absolute": (0.0, 0.0), "quantile": (0.0, 0.0), "epsilon_insensitive": (0.0, 0.5), "hinge": (1.0, 1.0)}
    worst = 0.0
    for loss, (w, y) in kinks.items():
        start = np.array([w, 0.0])
        learner = create(loss=loss, epsilon=0.5, step_size=1.0, initial_weights=start).partial_fit([[1.0, 0.0]], [y])
        worst = nan_max(worst, deviation(final_weights(learner)[:, 0], start))
    return Measured(worst, 1, 1.0)


def overflowing_average_weight_is_refused(create: Any, rows: Rows) -> Measured:
    """A step that would make the sum of the averaging weights overflow is refused; the average stays unchanged."""
    learner = create(averaging="weighted", step_size=0.1)
    largest_number = float(np.finfo(learner.dtype).max)
    learner = create(averaging="weighted", step_size=0.1, weights=0.7 * largest_number).partial_fit([[1.0]], [1.0])
    before = learner.predict([[1.0]])
    if not is_refused(learner.partial_fit, [[1.0]], [1.0]):
        return Measured(float("inf"), 1, 1.0)
    return Measured(deviation(learner.predict([[1.0]]), before), 1, 1.0)


LAWS = (
    Law(closed_form, "slides, From recursive least squares to SGD", exponent=1),
    Law(momentum_recurrence, "slides, Other SGD flavors: momentum; mini-batching", exponent=1),
    Law(mini_batch_gradient, "slides, Other SGD flavors: mini-batching", exponent=1),
    Law(stochastic_gradient_is_unbiased, "slides, SGD and ERM", exponent=1),
    Law(subgradient_inequality, "slides, SGD beyond least square", exponent=0, shape="own"),
    Law(zero_subgradient_at_kinks, "slides, SGD beyond least square", exponent=0, shape="own"),
    Law(overflowing_average_weight_is_refused, "slides, Other SGD flavors: averaging", exponent=0, shape="own"),
    Law(iterate_averages, "slides, Other SGD flavors: averaging", exponent=1),
    Law(projection_onto_the_ball, "slides, SGD convergence: projected gradient step", exponent=0),
    Law(convergence_rate, "slides, SGD convergence, for the constant step", exponent=0, shape="own"),
    *weights.OF_STEPS,
    *cross_entropy.LAWS,
    Law(
        complex_steps,
        "docs/decisions/0053, on slides, From recursive least squares to SGD",
        exponent=0,
        numbers="complex",
    ),
)

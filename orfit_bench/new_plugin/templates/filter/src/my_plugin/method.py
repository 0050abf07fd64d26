"""Filter with a constant gain: the covariance after a row is a setting, which saves one matrix product per row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from orfit_bench import spec

Create = Callable[..., Any]


def as_matrix(value: spec.Array, d: int) -> spec.Array:
    """A number, a diagonal or a matrix as a matrix (d, d)."""
    return value if value.ndim == 2 else value * np.eye(d)


def start(settings: spec.Settings, sizes: spec.Sizes, draw: spec.Draw) -> spec.Array:
    """The covariance that the setting gives."""
    P, d = settings["initial_covariance"], sizes["parameter"]
    if P.shape not in ((), (d,), (d, d)):
        raise ValueError(f"initial_covariance: got shape {P.shape}, want a number, ({d},) or ({d}, {d})")
    return as_matrix(P, d)


def batch(X: spec.Array, Y: spec.Array, w0: spec.Array, settings: spec.Settings) -> spec.Array | None:
    """The errors of all rows solve a triangular system if the state is constant; None otherwise."""
    if settings["transition"] is not None or settings["process_noise"].any() or np.isnan(Y).any():
        return None
    P, R, start = as_matrix(settings["initial_covariance"], X.shape[1]), settings["observation_noise"], w0
    if (mean := settings["initial_mean"]) is not None:
        start = np.broadcast_to(mean[:, None] if mean.ndim == 1 else mean, w0.shape)
    steps = 1 / (R.item() + ((X @ P) * X).sum(axis=1))
    if not np.isfinite(steps).all():
        return None
    errors = np.linalg.solve(np.eye(len(X)) + np.tril(X @ P @ X.T, -1) * steps, Y - X @ start)
    mean_after: spec.Array = start + P @ X.T @ (steps[:, None] * errors)
    return mean_after


def mean_of(learner: Any) -> spec.Array:
    """The mean (d,) of a learner with one output, in double precision."""
    mean: spec.Array = learner.array("mean")[:, 0].astype(float)
    return mean


def repeated_row(create: Create, rows: spec.Rows) -> spec.Measured:
    """A constant state is observed T times by one row: the error shrinks by R / (R + x'P x) each time."""
    T, worst = 10, 0.0
    for x, y in zip(rows.X[:5], rows.y[:5], strict=True):
        size = float(x @ x)
        learner = create(initial_covariance=1.0, observation_noise=size).partial_fit(np.tile(x, (T, 1)), np.full(T, y))
        worst = max(worst, spec.deviation(mean_of(learner), (1 - 0.5**T) * y * x / size))
    return spec.Measured(worst, T, 1.0)


def moving_state(create: Create, rows: spec.Rows) -> spec.Measured:
    """With transition F and noise Q, mean <- F mean + K (y - x'F mean), with the gain K of M = F P F' + Q.

    F and P are such that F'P F and P differ from F P F'.
    """
    X, y, d = rows.X[:20], rows.y[:20], rows.X.shape[1]
    F, P, q = 0.9 * np.roll(np.eye(d), 1, axis=0), np.diag(np.linspace(1, 2, d)), 0.5
    R = float((X * X).sum() / len(X))
    learner = create(transition=F, process_noise=q, observation_noise=R, initial_covariance=P).partial_fit(X, y)
    M, want = F @ P @ F.T + q * np.eye(d), P @ X[0] * y[0] / (R + X[0] @ P @ X[0])
    for x, target in zip(X[1:], y[1:], strict=True):
        want = F @ want
        want = want + np.linalg.solve(R * np.linalg.inv(M) + np.outer(x, x), x * (target - x @ want))
    return spec.Measured(spec.deviation(mean_of(learner), want), len(X), 3.0)


METHOD = spec.Method(
    name="my_plugin",
    summary="Kalman filter with a constant gain: the covariance after each row is a setting",
    use_when="A state changes steadily, its covariance after a row is known, and the filter must be simple.",
    avoid_when="The covariance changes with the rows, as at the start of a series: use kalman.",
    formulas="from the second step: mean <- A mean,  M <- A P A' + Q;  in the first step M is P\n"
    "mean <- mean + M x (y - x'mean) / (R + x'M x);  no change if y is NaN",
    source="S. Haykin, Adaptive Filter Theory, Kalman filters in the steady state",
    kind="filter",
    settings=(
        spec.Setting("transition", spec.Matrix(), None, "A, transition of the state; None: constant", optional=True),
        spec.Setting("process_noise", spec.Matrix(covariance=True), 0.0, "Q, covariance added by each transition"),
        spec.Setting("observation_noise", spec.Matrix(covariance=True), 1.0, "R, variance of the observation noise"),
        spec.Setting("initial_mean", spec.Matrix(), None, "mean of the first state; None means zero", optional=True),
        spec.Setting("initial_covariance", spec.Matrix(covariance=True), 1.0, "P, covariance of the state after a row"),
    ),
    state=spec.StateSpec(
        (
            spec.Field("mean", ("parameter", "output"), "mean of the state after the last row"),
            spec.Field("covariance", ("parameter", "parameter"), "P, covariance of the state after a row", start=start),
            spec.Field("moved", (), "1 once a transition or process noise has changed the state"),
        ),
        weights="mean",
    ),
    kernel=spec.KernelSpec(),
    theory=spec.Theory(
        laws=(
            spec.Law(repeated_row, "the recursion on one row is a geometric series", exponent=1),
            spec.Law(moving_state, "the gain in its information form", exponent=2),
        ),
        batch=batch,
        cost=spec.Cost(
            flops=lambda s, z: 2 * z["parameter"] ** (2 if s["transition"] is None else 3),
            floats=lambda s, z: z["parameter"] ** 2,
        ),
    ),
)

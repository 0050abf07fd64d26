"""Laws of the Kalman filter, against conditioned joint normal distributions and least-squares problems."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws import uncertainty, weights, wind_up
from orfit_bench.catalogue.laws.conditioning import CONDITIONING
from orfit_bench.catalogue.laws.covariance import filter_warns_on_precision_loss
from orfit_bench.catalogue.laws.exact_rows import EXACT_ROWS
from orfit_bench.catalogue.laws.helpers import condition, is_refused, learn_in_parts, weakest_energy
from orfit_bench.catalogue.laws.moving_states import MOVING
from orfit_bench.catalogue.laws.smoothing import (
    noise_free_smoothing,
    smoothed_mean_and_covariance,
    smoothed_random_walk,
    smoothing_keeps_exact_directions,
    smoothing_shrinks_covariance,
)
from orfit_bench.catalogue.laws.state_space import (
    StateSpace,
    make_state_space,
    moment_deviation,
    random_spd,
    to_float32,
)
from orfit_bench.catalogue.shared.least_squares import invert_information
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, measure_claim, nan_max
from orfit_bench.spec.model import Model, Transition


def control_shifts_the_state(create: Any, rows: Rows) -> Measured:
    """With control inputs, means equal those for observations without the effect of the inputs, shifted by it.

    This holds for moving states and for states at rest.
    """
    world, n = make_state_space(rows, 30), 30
    d, learner = world.X.shape[1], create(**world.start())
    control = to_float32(np.random.default_rng(rows.seed).standard_normal((n, d)))
    shift, y = np.zeros((n, d)), world.y[:n].copy()
    for t in range(n):
        if t:
            shift[t] = world.transition[t] @ shift[t - 1] + control[t]
        y[t] -= world.X[t] @ shift[t]
    want = world._replace(y=y).states(n)
    smoothed = learner.smooth(world.X, world.y, control=control, **world.varying(slice(None)))
    worst = deviation(smoothed["mean"].values[:, :, 0], want.mean[:, :, 0] + shift)
    for lo, hi in ((0, 1), (1, 2), (2, n)):
        learner.partial_fit(world.X[lo:hi], world.y[lo:hi], control=control[lo:hi], **world.varying(slice(lo, hi)))
    mean, P = want.of(n - 1)
    at_rest, cond = _shifted_at_rest(create, world, control)
    found = nan_max(worst, at_rest, moment_deviation(learner, (mean + shift[-1:].T, P)))
    return Measured(found, n, max(want.condition, cond))


def _shifted_at_rest(create: Any, world: StateSpace, control: Array) -> tuple[float, float]:
    """The deviation of smoothed means of a state that only control inputs move, and the condition number."""
    shift = np.cumsum(control * (np.arange(len(control)) > 0)[:, None], axis=0)
    noise, unshifted = world.observation_noise, world.y - (world.X * shift).sum(1)
    X, y = (a[~np.isnan(world.y)] for a in (world.X / np.sqrt(noise)[:, None], unshifted / np.sqrt(noise)))
    prior = np.linalg.inv(np.linalg.cholesky(world.covariance))
    A, b = np.vstack([prior, X]), np.vstack([prior @ world.mean, y[:, None]])
    theta = np.linalg.lstsq(A, b, rcond=None)[0]
    smoothed = create(**world.start()).smooth(world.X, world.y, control=control, observation_noise=noise)
    return deviation(smoothed["mean"].values[:, :, 0], theta.T + shift), condition(A)


def equals_rls_with_forgetting(create: Any, rows: Rows) -> Measured:
    """For a constant state, prior N(0, I/lambda) and noise beta^i, the filter is RLS-(beta, lambda): theta^t, Phi_t."""
    X, y = rows.X, rows.y
    variance, worst, cond = to_float32(np.asarray(1 / weakest_energy(X))), 0.0, condition(X)
    for beta in (0.97, 1.0, 1.02):
        noise = to_float32(beta ** np.arange(1, len(X) + 1.0))
        learner = create(initial_covariance=variance).partial_fit(X, y, observation_noise=noise)
        A = np.vstack([X / np.sqrt(noise)[:, None], np.eye(X.shape[1]) / np.sqrt(variance)])
        theta = np.linalg.lstsq(A, np.append(y / np.sqrt(noise), np.zeros(X.shape[1]))[:, None], rcond=None)[0]
        worst, cond = nan_max(worst, moment_deviation(learner, (theta, invert_information(A)))), max(cond, condition(A))
    return Measured(worst, len(X), cond)


def merge_is_exact(create: Any, rows: Rows) -> Measured:
    """For a constant state, filters of parts of the rows merge into the filter of all rows: theta^t and Phi_t."""
    X, y = rows.X, rows.y
    variance = to_float32(np.asarray(1 / weakest_energy(X)))
    learner = learn_in_parts(partial(create, initial_covariance=variance), X, y, (len(X) // 3, len(X) // 2))
    A = np.vstack([X, np.eye(X.shape[1]) / np.sqrt(variance)])
    theta = np.linalg.lstsq(A, np.append(y, np.zeros(X.shape[1]))[:, None], rcond=None)[0]
    return Measured(moment_deviation(learner, (theta, invert_information(A))), len(X), condition(A))


def extended_filter_on_linear_functions(create: Any, rows: Rows) -> Measured:
    """With a linear model and transition given as functions, the extended filter equals the linear filter."""
    world, d = make_state_space(rows, 30), rows.X.shape[1]
    F, Q, noise = world.transition[0], world.process_noise[0], float(world.observation_noise[0])
    still = world._replace(
        transition=np.tile(F, (30, 1, 1)), process_noise=np.tile(Q, (30, 1, 1)), observation_noise=np.full(30, noise)
    )
    learner = create(
        model=Model("rows in functions", lambda w, X: (X @ w)[:, None], lambda w, x: x[None, ...], d),
        transition=Transition("a matrix", lambda w: _as_array_like(w, F) @ w, lambda w: _as_array_like(w, F)),
        process_noise=Q,
        observation_noise=noise,
        **world.start(),
    ).partial_fit(world.X, world.y)
    want = still.states(30)
    return Measured(moment_deviation(learner, want.of(29)), 30, want.condition)


def _as_array_like(w: Array, F: Array) -> Array:
    """F as an array of the namespace and dtype of w."""
    there: Array = w.__array_namespace__().asarray(F, dtype=w.dtype)
    return there


def noise_free_rows_determine_the_state(create: Any, rows: Rows) -> Measured:
    """As many independent noise-free rows as parameters determine the state exactly, at any scale of the prior.

    The remaining covariance is exactly zero, not a rounding error by which another row would divide; such a row is
    skipped.
    """
    d, worst = 5, 0.0
    Q = np.linalg.qr(np.random.default_rng(rows.seed).standard_normal((d, d)))[0]
    w = np.linspace(-1, 1, d)
    for k in (-60, 0, 60):
        learner = create(observation_noise=0.0, initial_covariance=2.0**k).partial_fit(Q, Q @ w)
        learner.partial_fit(Q[1:3] + Q[2:4], [5.0, -5.0])
        learner.step(np.vstack([Q[:1], np.zeros((1, d))]), [9.0, 9.0])  # a row of zeros must not divide either
        state = learner.state()
        left = float(abs(state["covariance"].values).max() > 0)
        worst = nan_max(worst, deviation(state["mean"].values[:, 0], w), left)
    return Measured(worst, d * d, 1.0)


def exact_directions_stay_exact(create: Any, rows: Rows) -> Measured:
    """Noise-free rows under a prior of variance 1 give the smallest weights that fit them, and P = I - A^+ A."""
    return _measure_exact_directions(create)


def square_root_keeps_exact_directions(create: Any, rows: Rows) -> Measured:
    """In the square-root form, noise-free rows, even dependent ones, give the smallest weights that fit them.

    Rows that share one noise are conditioned on as well.
    """
    worst, n, cond, _ = _measure_exact_directions(partial(create, form="square_root"))
    shared = _measure_shared_noise(partial(create, form="square_root"), rows.seed)
    A, y = np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [2, 2, 0, 0]]), np.array([1.0, 3, 6])
    at_once = create(form="square_root", observation_noise=0.0).step(A, y)
    worst = nan_max(worst, shared.deviation, deviation(at_once.array("mean")[:, 0], np.linalg.pinv(A) @ y))
    return Measured(worst, n, max(cond, shared.condition))


def _measure_exact_directions(create: Any) -> Measured:
    A, y = np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [2, 1, 1, 0]]), np.array([1.0, 3, -2])
    worst = 0.0
    for n in (1, 2, 3):
        state = create(observation_noise=0.0).partial_fit(A[:n], y[:n]).state()
        known = np.linalg.pinv(A[:n])
        worst = nan_max(worst, deviation(state["mean"].values[:, 0], known @ y[:n]))
        worst = nan_max(worst, deviation(state["covariance"].values, np.eye(4) - known @ A[:n]))
        # no precision is lost in directions known to rounding
        worst = nan_max(worst, float(state["precision_lost"].values))
    padded_state = create(observation_noise=0.0).step(np.array([0 * A[0], A[1]]), [0.0, 4.0]).state()
    worst = nan_max(worst, deviation(padded_state["mean"].values[:, 0], 2 * A[1]))
    return Measured(worst, 12, condition(A))


def shared_noise_observations(create: Any, rows: Rows) -> Measured:
    """For rows that share one noise with different weights, noise-free combinations of them are observed exactly."""
    return _measure_shared_noise(create, rows.seed)


def _measure_shared_noise(create: Any, seed: int) -> Measured:
    rng, worst, cond = np.random.default_rng(seed), 0.0, 1.0
    for _ in range(10):
        A, y, P, share = rng.standard_normal((3, 4)), rng.standard_normal(3), random_spd(rng, 4), rng.uniform(0.5, 1, 3)
        R = np.outer(share, share)  # of rank 1 up to rounding
        state = create(initial_covariance=P).step(A, y, observation_noise=R).state()
        S = A @ P @ A.T + R
        K = P @ A.T @ np.linalg.inv(S)
        worst = nan_max(worst, deviation(state["mean"].values[:, 0], K @ y))
        worst = nan_max(worst, deviation(state["covariance"].values, P - K @ A @ P))
        cond = max(cond, condition(S) * condition(P))
    return Measured(worst, 12, cond)


def transition_overflow_is_refused(create: Any, rows: Rows) -> Measured:
    """A transition that makes the mean or the covariance overflow is refused, even if nothing is observed."""
    wrong = 0
    for start in ({"initial_covariance": 1.0}, {"initial_covariance": 0.0, "initial_mean": 1.0}):
        learner = create(transition=1e10, **start)
        left = not is_refused(learner.partial_fit, np.eye(2)[[0] * 100], np.full(100, np.nan))
        wrong += left or not all(np.isfinite(learner.array(name)).all() for name in ("mean", "covariance"))
    return measure_claim(wrong, rows)


def overflow_of_a_moved_root_is_refused(create: Any, rows: Rows) -> Measured:
    """In the square-root form, a transition that makes the mean or the covariance overflow is refused."""
    return transition_overflow_is_refused(partial(create, form="square_root"), rows)


LAWS = (
    *CONDITIONING,
    *EXACT_ROWS,
    *MOVING,
    *wind_up.OF_FILTER,
    Law(control_shifts_the_state, "survey, Proposition 3, for theta_t = A theta_(t-1) + u_t + noise", exponent=1),
    Law(filter_warns_on_precision_loss, "docs/decisions/0010, on survey, Proposition 3", exponent=0, shape="own"),
    Law(equals_rls_with_forgetting, "survey, Lemma 3 with Proposition 2", exponent=2),
    Law(merge_is_exact, "survey, Lemma 3 with eq. (10)", exponent=2),
    Law(extended_filter_on_linear_functions, "survey, Extensions of KF (EKF)", exponent=1),
    Law(smoothed_mean_and_covariance, "survey, (RTS-Sigma)", exponent=1),
    Law(smoothed_random_walk, "survey, (RTS-Sigma)", exponent=1),
    Law(transition_overflow_is_refused, "survey, Proposition 3, in floating point", exponent=0, shape="own"),
    Law(overflow_of_a_moved_root_is_refused, "survey, Proposition 3, in floating point", exponent=0, shape="own"),
    Law(exact_directions_stay_exact, "survey, Proposition 3 with Q = 0", exponent=1, shape="own"),
    Law(square_root_keeps_exact_directions, "survey, Proposition 3", exponent=1, shape="own"),
    Law(shared_noise_observations, "survey, Proposition 3", exponent=1, shape="own"),
    Law(noise_free_rows_determine_the_state, "survey, Proposition 3 with Q = 0", exponent=0, shape="own"),
    Law(smoothing_keeps_exact_directions, "survey, (RTS-Sigma)", exponent=2),
    Law(noise_free_smoothing, "survey, (RTS-Sigma) with Q = 0", exponent=1, shape="own"),
    Law(smoothing_shrinks_covariance, "survey, Theorem 7", exponent=1),
    *uncertainty.OF_FILTER,
    *weights.OF_NOISE,
)

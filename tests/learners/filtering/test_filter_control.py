"""Kalman filter: control inputs, and the likelihood of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.filters import GIVEN, NAN, Same, X, cut, moments, pendulum, refused, slope, y

import orfit_bench as ob

U = np.random.default_rng(5).standard_normal((9, 3))


def shift_of(transition: Any) -> Any:
    """The effect of the control on the state before each row; there is none before the first."""
    shift = np.zeros((9, 3))
    for t in range(1, 9):
        shift[t] = transition[t] @ shift[t - 1] + U[t]
    return shift


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("dynamics", [{}, GIVEN], ids=["at rest", "moving"])
def test_control_shifts_states_forecasts_and_smoothed_states(backend: str, dynamics: dict[str, Any]) -> None:
    shift = shift_of(dynamics.get("transition", np.tile(np.eye(3), (9, 1, 1))))
    controlled, plain = (ob.create("kalman", backend=backend) for _ in range(2))
    likelihood = controlled.log_likelihood(X, y, control=U, **dynamics)
    assert math.isclose(likelihood, plain.log_likelihood(X, y - (X * shift).sum(1), **dynamics), rel_tol=1e-12)
    smoothed = controlled.smooth(X, y, control=U, **dynamics)["mean"].values[:, :, 0]
    want = plain.smooth(X, y - (X * shift).sum(1), **dynamics)["mean"].values[:, :, 0]
    np.testing.assert_allclose(smoothed, want + shift, atol=1e-12)
    for rows in (slice(0, 1), slice(1, 2), slice(2, 9)):
        got = controlled.prequential(X[rows], y[rows], control=U[rows], **cut(dynamics, rows))
        want = plain.prequential(X[rows], y[rows] - (X[rows] * shift[rows]).sum(1), **cut(dynamics, rows))
        np.testing.assert_allclose(got, want + (X[rows] * shift[rows]).sum(1), atol=1e-12)
    np.testing.assert_allclose(moments(controlled)[0][:, 0], moments(plain)[0][:, 0] + shift[-1], atol=1e-12)
    np.testing.assert_allclose(moments(controlled)[1], moments(plain)[1], atol=1e-14)
    assert controlled.state()["moved"] == 1  # so it is not merged like a state at rest


def test_a_step_and_a_forecast_have_one_control(same_state: Same) -> None:
    by_rows = ob.create("kalman", process_noise=0.1).partial_fit(X, y, control=U)
    by_steps = ob.create("kalman", process_noise=0.1)
    for x, target, u in zip(X, y, U, strict=True):
        by_steps.step(x[None], [target], control=u)
    for got, want in zip(moments(by_steps), moments(by_rows), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    mean = moments(by_rows)[0][:, 0]
    np.testing.assert_allclose(by_rows.predict(X, control=U[0]), X @ (mean + U[0]), rtol=1e-12)


def test_a_control_of_each_output_and_of_a_nonlinear_transition() -> None:
    both = np.stack([U, -U], axis=2)
    learner = ob.create("kalman").partial_fit(X, np.stack([y, -y], axis=1), control=both)
    mean = moments(learner)[0]
    np.testing.assert_allclose(mean[:, 0], -mean[:, 1], rtol=1e-12)
    bent = ob.create("kalman", transition=ob.Transition("pendulum", pendulum, slope), initial_mean=[0.1, 0.2, 0.3])
    bent.partial_fit(X[:2], [NAN, NAN], control=U[:2])
    np.testing.assert_allclose(moments(bent)[0][:, 0], pendulum(np.array([0.1, 0.2, 0.3])) + U[1], rtol=1e-12)


@pytest.mark.parametrize("control", [U[:8], U[:, :2], U[0], U[..., None, None]])
def test_a_control_that_does_not_fit_is_refused(control: Any, same_state: Same) -> None:
    learner = ob.create("kalman").partial_fit(X, y)
    act = lambda it: it.partial_fit(X, y, control=control)  # noqa: E731
    refused(learner, act, ValueError, r"control: got shape .*, want \(9, 3\) or \(9, 3, 1\): one entry", same_state)
    with pytest.raises(ValueError, match=r"control\[0, 0\] is nan"):
        learner.partial_fit(X, y, control=np.full((9, 3), NAN))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_likelihoods_of_parts_add_up_and_gaps_contribute_nothing(backend: str, same_state: Same) -> None:
    learner = ob.create("kalman", backend=backend, process_noise=0.2, transition=0.9)
    before = learner.copy()
    complete = learner.log_likelihood(X, y, **GIVEN)
    same_state(learner, before)
    first, last = slice(0, 5), slice(5, 9)
    parts = learner.log_likelihood(X[first], y[first], **cut(GIVEN, first))
    learner.partial_fit(X[first], y[first], **cut(GIVEN, first))
    assert math.isclose(complete, parts + learner.log_likelihood(X[last], y[last], **cut(GIVEN, last)), rel_tol=1e-12)
    assert learner.log_likelihood(X, np.full(9, NAN)) == 0.0


def test_an_observation_without_variance_has_no_density() -> None:
    learner = ob.create("kalman", observation_noise=0.0)
    assert np.isfinite(learner.log_likelihood(X[:1], y[:1]))
    with pytest.raises(ValueError, match="row 1: the covariance of the observation is singular"):
        learner.log_likelihood(X[[0, 0]], [1.0, 1.0])

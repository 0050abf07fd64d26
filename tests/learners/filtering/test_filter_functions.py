"""Kalman filters with nonlinear models and transitions: functions of the user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.filters import NAN, Same, X, moments, pendulum, refused, slope, y

import orfit_bench as ob

# ---------------------------------------------------------------------- functions: the extended filter


def test_the_extended_filter_is_linearized_at_the_last_estimate(cubic: ob.Model) -> None:
    """Against its formulas with dense inverses: g at theta_(t-1), f at theta_(t given t-1)."""
    m, P, Q, noise = np.array([0.5, -0.3, 0.2]), np.diag([1.0, 2, 3]), 0.1 * np.eye(3), 0.4
    learner = ob.create(
        "kalman", model=cubic, transition=(pendulum, slope), process_noise=Q, observation_noise=noise,
        initial_mean=m, initial_covariance=P,
    )  # fmt: skip
    rows, targets = X[:4] / 2, np.array([0.3, NAN, -0.2, 0.5])
    reported = learner.prequential(rows, targets)
    for i, (x, t) in enumerate(zip(rows, targets, strict=True)):
        if i:
            G = slope(m)
            m, P = pendulum(m), G @ P @ G.T + Q
        f, J = cubic.predict(m, x[None])[0, 0], cubic.jacobian(m, x)
        np.testing.assert_allclose(reported[i], f, rtol=1e-12)
        if not np.isnan(t):
            P_new = np.linalg.inv(np.linalg.inv(P) + J.T @ J / noise)
            m, P = m + P_new @ J[0] * (t - f) / noise, P_new
    got = moments(learner)
    np.testing.assert_allclose(got[0][:, 0], m, rtol=1e-11)
    np.testing.assert_allclose(got[1], P, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(learner.predict(rows), cubic.predict(pendulum(m), rows)[:, 0], rtol=1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_chunks_of_an_extended_filter(dtype: str, cubic: ob.Model, same_state: Same) -> None:
    for model in ({}, {"model": cubic}):
        settings = {"transition": ob.Transition("p", pendulum, slope), "process_noise": 0.1, "dtype": dtype, **model}
        complete, parts = (ob.create("kalman", **settings) for _ in range(2))
        reported = complete.prequential(X / 4, y / 4)
        got = [parts.prequential(X[i : i + 2] / 4, y[i : i + 2] / 4) for i in range(0, 9, 2)]
        same_state(parts, complete)
        np.testing.assert_array_equal(np.concatenate(got), reported)
        assert reported.dtype == dtype
        assert complete.state()["moved"] == 1


def test_transition_functions_may_be_passed_per_call(same_state: Same) -> None:
    turn = (pendulum, slope)
    want = ob.create("kalman", transition=turn).partial_fit(X, y)
    got = ob.create("kalman").partial_fit(X[:4], y[:4], transition=turn)
    got.partial_fit(X[4:], y[4:], transition=ob.Transition("any", *turn))
    for a, b in zip(moments(got), moments(want), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(got.predict(X, transition=turn), want.predict(X))
    got.partial_fit(X, y)  # then the state is at rest again
    np.testing.assert_array_equal(got.predict(X), X @ moments(got)[0][:, 0])
    many = np.ones((9, 2))
    with pytest.raises(ValueError, match="a nonlinear transition allows one output only: y has 2"):
        ob.create("kalman", transition=turn).partial_fit(X, many)
    with pytest.raises(ValueError, match="allows one output only"):
        ob.create("kalman").partial_fit(X, many, transition=turn)


@pytest.mark.parametrize("way", ["restore", "load", "copy"])
def test_a_transition_in_functions_is_passed_again(way: str, same_state: Same, tmp_path: Path) -> None:
    learner = ob.create("kalman", transition=(pendulum, slope), process_noise=0.1).partial_fit(X[:5], y[:5])
    learner.save(tmp_path / "s.npz")
    again: Callable[..., Any] = {
        "restore": lambda **t: ob.restore(learner.state(), **t),
        "load": lambda **t: ob.load(tmp_path / "s.npz", **t),
        "copy": lambda **t: learner.copy(),
    }[way]
    if way != "copy":
        with pytest.raises(ValueError, match="the transition is the function 'pendulum', got None: pass transition="):
            again()
        with pytest.raises(ValueError, match="the transition is the function 'pendulum', got 'slope'"):
            again(transition=(slope, slope))
        same_state(again(transition=ob.Transition("pendulum", pendulum, slope)), learner)
    other = again(transition=(pendulum, slope))
    same_state(other.partial_fit(X[5:], y[5:]), learner.partial_fit(X[5:], y[5:]))


def test_unexpected_function_is_refused(tmp_path: Path) -> None:
    learner = ob.create("kalman", transition=np.eye(3) / 2).partial_fit(X, y)
    with pytest.raises(ValueError, match="got 'pendulum', but the state has its own or none: omit it"):
        ob.restore(learner.state(), transition=(pendulum, slope))


@pytest.mark.parametrize(
    ("function", "jacobian", "message"),
    [
        (lambda w: w[:2], slope, r"transition '<lambda>': function\(w\) returned shape \(2,\).*of shape \(3,\)"),
        (lambda w: None, slope, r"function\(w\) returned NoneType"),
        (lambda w: w + 0j, slope, r"function\(w\) returned shape \(3,\), dtype complex128"),
        (pendulum, lambda w: np.eye(2), r"transition 'pendulum': jacobian\(w\) returned shape \(2, 2\)"),
    ],
)
def test_functions_that_return_something_else_change_nothing(
    function: Any, jacobian: Any, message: str, same_state: Same
) -> None:
    learner = ob.create("kalman", transition=(function, jacobian)).partial_fit(X[:1], y[:1])
    refused(learner, lambda it: it.partial_fit(X[1:], y[1:]), ValueError, message, same_state)
    refused(learner, lambda it: it.smooth(X[1:], y[1:]), ValueError, message, same_state)
    refused(learner, lambda it: it.step(X[1:], y[1:]), ValueError, message, same_state)


def test_a_function_that_fails_half_way_changes_nothing(same_state: Same) -> None:
    def tired(w: Any) -> Any:
        tired.left -= 1  # type: ignore[attr-defined]
        if tired.left < 0:  # type: ignore[attr-defined]
            raise RuntimeError("no more")
        return w / 2

    learner = ob.create("kalman", transition=(tired, lambda w: np.eye(3) / 2))
    tired.left = 100  # type: ignore[attr-defined]
    learner.partial_fit(X[:3], y[:3])
    tired.left = 4  # type: ignore[attr-defined]
    refused(learner, lambda it: it.partial_fit(X, y), RuntimeError, "no more", same_state)
    still = ob.create("kalman").partial_fit(X, y)
    tired.left = 4  # type: ignore[attr-defined]
    pair = (tired, lambda w: np.eye(3) / 2)
    refused(still, lambda it: it.partial_fit(X, y, transition=pair), RuntimeError, "no more", same_state)


def test_functions_may_modify_their_arguments(same_state: Same) -> None:
    def halved(w: Any) -> Any:
        w /= 2
        return w

    def flat(w: Any) -> Any:
        w[...] = 7
        return np.eye(3) / 2

    got = ob.create("kalman", transition=(halved, flat)).partial_fit(X, y)
    want = ob.create("kalman", transition=0.5).partial_fit(X, y)
    np.testing.assert_allclose(got.predict(X), want.predict(X), rtol=1e-13)
    assert got.predict(X).tolist() == got.predict(X).tolist()


def test_a_block_of_a_model_takes_its_noise_by_row_or_by_output() -> None:
    rng = np.random.default_rng(0)
    A, b, noise = rng.standard_normal((4, 2)), rng.standard_normal((4, 2)), np.array([1.0, 2.0, 3.0, 4.0])
    given = [noise, np.diag(noise), np.repeat(noise, 2), np.diag(np.repeat(noise, 2))]
    found = [ob.create("kalman", model=ob.MLP((3,))).step(A, b, observation_noise=r).state()["mean"] for r in given]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12, atol=1e-14)


def test_a_jacobian_that_fills_the_same_array_again_changes_nothing() -> None:
    kept, rows = np.empty((2, 2)), np.random.default_rng(0).standard_normal((8, 3))

    def turn(w: Any) -> Any:
        return np.array([np.sin(w[0]) + w[1], 0.9 * w[1]])

    def slope(w: Any) -> Any:
        return np.array([[np.cos(w[0]), 1.0], [0.0, 0.9]])

    def same(w: Any) -> Any:
        kept[...] = slope(w)
        return kept

    plain, reusing = (
        ob.create("kalman", transition=(turn, J), process_noise=0.1).smooth(rows[:, :2], rows[:, 2])
        for J in (slope, same)
    )
    np.testing.assert_array_equal(plain["mean"], reusing["mean"])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_deviations_are_not_those_before_a_move_that_overflows(form: str, backend: str) -> None:
    def at_rest(w: Any) -> Any:
        return np.full((2, 2), np.nan)

    shared = {"form": form, "backend": backend, "process_noise": 100.0}
    one = ([[1.0, 2.0]], [1.0])
    for transition in (1e160, (lambda w: 2.0 * w, at_rest)):
        kalman = ob.create("kalman", transition=transition, **shared).partial_fit(*one)
        mean, std = kalman.predict(one[0], return_std=True)
        assert np.isfinite(mean).all()
        assert np.isnan(std).all()
        with pytest.raises(ob.DivergedError):
            kalman.partial_fit(*one)
    fleet = ob.fleet("kalman", 2, transition=[1.0, 1e160], **shared).partial_fit(np.ones((2, 1, 2)), np.ones((2, 1)))
    assert np.isnan(fleet.predict(np.ones((2, 1, 2)), return_std=True)[1]).ravel().tolist() == [False, True]

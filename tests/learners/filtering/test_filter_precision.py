"""Loss of precision and divergence of the Kalman filter."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from helpers.filters import GIVEN, NAN, Same, X, moments, stated, y

import orfit_bench as ob


def test_vague_prior_with_small_noise_warns_and_then_is_refused() -> None:
    near = {"observation_noise": 1e-4}
    assert stated(lambda: ob.create("kalman", initial_covariance=1e4, **near).partial_fit(X, y)) == []
    (text,) = stated(lambda: ob.create("kalman", initial_covariance=1e8, **near).partial_fit(X, y))
    assert "kalman: half of the digits of the covariance are lost" in text
    assert "a smaller initial_covariance" in text
    with pytest.raises(ob.DivergedError, match=r"kalman diverged at step 1, row 0 .* too few digits"):
        ob.create("kalman", initial_covariance=1e14, **near).partial_fit(X, y)
    turned = ob.create("kalman", initial_covariance=1e8, transition=GIVEN["transition"][0], **near)
    assert len(stated(lambda: turned.partial_fit(X, y))) == 1
    shaken = ob.create("kalman", initial_covariance=1e14, process_noise=100.0, **near)  # renews the lost digits
    assert len(stated(lambda: shaken.partial_fit(X, y))) <= 1
    np.testing.assert_allclose(shaken.state()["covariance"], shaken.array("covariance").T)


def test_a_warning_that_is_an_error_comes_after_the_rows_were_learned(same_state: Same) -> None:
    settings = {"initial_covariance": 1e8, "observation_noise": 1e-4}
    learner, want = (ob.create("kalman", **settings) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ob.AccuracyWarning, match="half of the digits"):
            learner.partial_fit(X, y)
    stated(lambda: want.partial_fit(X, y))
    assert learner.n_samples_seen_ == len(X)
    same_state(learner, want)


@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_the_log_likelihood_warns_as_learning_does(form: str) -> None:
    """It warns once if the learner has not warned; the square-root form loses no digits here."""
    learner = ob.create("kalman", initial_covariance=1e8, observation_noise=1e-4, form=form)
    count = 1 if form == "covariance" else 0
    assert len(stated(lambda: learner.log_likelihood(X, y))) == count
    assert len(stated(lambda: learner.partial_fit(X, y))) == count
    assert stated(lambda: learner.log_likelihood(X, y)) == []


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("settings", [{}, {"transition": 0.9, "process_noise": 1e-3}], ids=str)
def test_negative_variance_is_refused(noise: float, settings: Any, same_state: Same) -> None:
    """Exact arithmetic never gives a negative variance."""
    state = ob.create("kalman", observation_noise=noise, **settings).partial_fit(X[:0], y[:0]).state()
    state["covariance"].values[0, 0] = -0.5
    state.attrs["orfit_bench"] = state.attrs["orfit_bench"].replace('"t": 0', '"t": 4')
    learner = ob.restore(state)
    for act in (learner.partial_fit, learner.step, learner.smooth):
        with pytest.raises(ob.DivergedError):
            act([[1.0, 0.1, 0.1]], [1.0])
    same_state(learner, ob.restore(state))


def test_growing_errors_are_refused_while_two_digits_are_correct() -> None:
    """Like forgetting, this transition enlarges what the rows do not see, here the difference of two numbers."""
    learner = ob.create("kalman", transition=1.5)
    rows = np.ones((100, 2))
    with pytest.warns(ob.AccuracyWarning), pytest.raises(ob.DivergedError):
        learner.partial_fit(rows, np.ones(100))
    P = moments(learner)[1]
    assert 1e-3 < 4 * np.finfo(float).eps * P.max() < 0.01 * 2.25
    s = 2.25 - 1  # of the sum, where s -> 2.25 s / (1 + s) stays; its forecast f -> 1.5 (f + (1 - f) s / (1 + s)) too
    np.testing.assert_allclose(learner.predict(rows[:1]), 2.5, rtol=1e-3)
    np.testing.assert_allclose(rows[0] @ P @ rows[0], s / (1 + s), rtol=0.05)


def test_unobserved_growing_state_warns_and_then_diverges() -> None:
    """No row sees the second number, which doubles."""
    learner = ob.create("kalman", transition=[0.5, 2.0])
    rows = np.tile([1.0, 0.0], (400, 1))
    assert len(stated(lambda: learner.partial_fit(rows[:300], np.ones(300)))) == 1
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(np.tile(rows, (2, 1)), np.ones(800))
    good = ob.create("kalman", transition=[0.5, 2.0])
    stated(lambda: good.partial_fit(np.tile(rows, (2, 1))[: info.value.step - 1], np.ones(info.value.step - 1)))
    assert learner.state().identical(good.state())
    assert moments(learner)[1][1, 1] > 1e300


@pytest.mark.parametrize("functions", [False, True])
@pytest.mark.parametrize("start", [0, 1, 2])
def test_divergence_keeps_the_state_before_the_prediction(start: int, functions: bool, same_state: Same) -> None:
    F, rows = np.diag([0.5, 1, 1]), np.vstack([np.eye(3)[:2], [[0, 0, 1e-5]], np.eye(3)])
    targets = np.array([1, 1, 1e308, 1, 1, 1])
    transition = (lambda w: F @ w, lambda w: F) if functions else F
    settings = {"initial_covariance": 1e10, "process_noise": 0.1, "transition": transition}
    for call in ("partial_fit", "prequential", "smooth"):
        learner = ob.create("kalman", **settings).partial_fit(rows[:start], targets[:start])
        good = ob.create("kalman", **settings).partial_fit(rows[:2], targets[:2])
        kept = learner.copy() if call == "smooth" else good
        with pytest.raises(ob.DivergedError, match=f"diverged at step 3, row {2 - start} of this call") as info:
            getattr(learner, call)(rows[start:], targets[start:])
        assert (info.value.step, info.value.row) == (3, 2 - start)
        same_state(learner, kept)
    with pytest.raises(ob.DivergedError):
        good.step(rows[2:4], targets[2:4])
    same_state(good, ob.create("kalman", **settings).partial_fit(rows[:2], targets[:2]))


@pytest.mark.parametrize("functions", [False, True])
def test_infinite_prediction_is_refused_without_an_observation(functions: bool, same_state: Same) -> None:
    F = 1e100 * np.eye(3)
    learner = ob.create("kalman", transition=(lambda w: F @ w, lambda w: F) if functions else F)
    learner.partial_fit(X[:2], [NAN, NAN])
    kept = learner.copy()
    for act in (
        lambda: learner.partial_fit(X[:3], [NAN] * 3),
        lambda: learner.step(X[:3], [NAN] * 3),
        lambda: learner.smooth(X[:3], [NAN] * 3),
    ):
        with pytest.raises(ob.DivergedError):
            act()
        same_state(learner, kept)


def test_infinite_mean_of_a_transition_function_is_refused(same_state: Same) -> None:
    learner = ob.create("kalman", transition=(lambda w: w / 0, lambda w: np.eye(3))).partial_fit(X[:1], y[:1])
    kept = learner.copy()
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(X[:1], [NAN])
    same_state(learner, kept)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_no_numpy_warning_at_any_scale(scale: float, dtype: str) -> None:
    s = float(np.clip(scale, *(np.finfo(dtype).tiny, np.finfo(dtype).max / 8)))
    for noise in (0.0, 1.0, s):
        for settings in ({}, {"process_noise": 0.1, "transition": 0.9}, {"initial_covariance": s}):
            learner = ob.create("kalman", observation_noise=noise, dtype=dtype, **settings)
            for A, b in ((X, y), (X * s / 8, y), (X, y * s / 8), (X * s / 8, y * s / 8)):
                for act in (learner.partial_fit, learner.smooth, learner.step):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", ob.AccuracyWarning)
                        with suppress(ob.DivergedError):
                            act(A, b)
                learner.predict(A)
                assert all(np.isfinite(a).all() for a in moments(learner))


@pytest.mark.parametrize("shape", [(0, 1), (1, 1), (1, 7), (5, 1), (3, 8), (20, 4)])
@pytest.mark.parametrize("outputs", [(), (1,), (2,)])
def test_any_number_of_rows_and_outputs(shape: tuple[int, int], outputs: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal(shape), rng.standard_normal((shape[0], *outputs))
    learner = ob.create("kalman", process_noise=0.1, transition=np.full(shape[1], 0.9)).partial_fit(A, b)
    assert learner.predict(A).shape == b.shape
    assert learner.smooth(A, b)["mean"].shape == (shape[0], shape[1], *(outputs or (1,)))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(
    ("rows", "noise"),
    [
        ([[1, 0], [1, 0]], [[1e4, 0], [0, 1e4]]),  # the second row sees the variance that the first left
        ([[1, 0], [0, 1]], [[1e4, 1e4], [1e4, 1e4]]),  # no noise is added along the difference of the rows
    ],
)
def test_a_step_of_a_vague_state_warns_of_what_its_rows_leave_together(rows: Any, noise: Any, backend: str) -> None:
    settings: dict[str, Any] = {"initial_covariance": 1e7, "process_noise": noise, "dtype": "float32"}
    for form, count in (("covariance", 1), ("square_root", 0)):
        learner = ob.create("kalman", form=form, backend=backend, **settings)
        assert len(stated(lambda step=learner.step: step(rows, [1.0, 2.0]))) == count

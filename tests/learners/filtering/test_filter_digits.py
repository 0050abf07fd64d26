"""Digits of the Kalman filter: exact observations, divergence, long streams."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from helpers.filters import GIVEN, NAN, Same, X, moments, said, y

import orfit_bench as ob
from benchmarks.endurance.measurement import Rows, measure_long_stream
from orfit_bench.catalogue.shared.gaussian_states import condition_on_rows as conditioned
from orfit_bench.catalogue.shared.gaussian_states import joint_prior as prior

# ---------------------------------------------------------------------- exact observations


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", [1, 4, 30])
def test_without_noise_a_state_at_rest_is_interpolated(d: int, dtype: str) -> None:
    """As icl: rows that earlier ones determine change nothing, even where they contradict these."""
    rng = np.random.default_rng(2)
    A = np.linalg.qr(rng.standard_normal((d, d)))[0] + 0.1 * rng.standard_normal((d, d))
    rows, targets = np.vstack([A, A[:1], A.sum(0, keepdims=True)]), rng.standard_normal(d + 2)
    learner = ob.create("kalman", observation_noise=0.0, dtype=dtype)
    tol = 1e-9 if dtype == "float64" else 1e-2
    for n in (1, d // 2, d, d + 2):
        learner = ob.create("kalman", observation_noise=0.0, dtype=dtype).partial_fit(rows[:n], targets[:n])
        kept = min(n, d)
        off = np.eye(d) - np.linalg.pinv(rows[:kept]) @ rows[:kept]
        np.testing.assert_allclose(
            moments(learner)[0][:, 0], np.linalg.pinv(rows[:kept]) @ targets[:kept], rtol=tol, atol=tol
        )
        np.testing.assert_allclose(moments(learner)[1], off, atol=tol)
    assert learner.state()["precision_lost"] == 0


def test_without_noise_in_a_block_that_repeats_itself() -> None:
    A = np.vstack([X[:2], X[:1], 1e9 * X[1:2]])
    learner = ob.create("kalman", observation_noise=0.0).step(A, A @ [1, 2, 3])
    np.testing.assert_allclose(A @ moments(learner)[0][:, 0], A @ [1, 2, 3], rtol=1e-9)
    off = np.eye(3) - np.linalg.pinv(X[:2]) @ X[:2]
    np.testing.assert_allclose(moments(learner)[1], off, atol=1e-9)


def test_noise_that_two_rows_share_cancels_in_their_difference() -> None:
    """R = [[1, 1], [1, 1]]: y_1 - y_2 is exact."""
    learner = ob.create("kalman").step(X[:2], y[:2], observation_noise=np.ones((2, 2)))
    rows = [(0, X[:2], y[:2, None], np.ones((2, 2)))]
    want = conditioned(prior(np.eye(3)[None], np.zeros((1, 3, 3)), np.zeros((3, 1)), np.eye(3)), rows).of(0)
    for a, b in zip(moments(learner), want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_exact_rows_of_a_state_that_is_shaken_again() -> None:
    """Position seen without noise, velocity driven by noise, a vague prior: no word, and the right moments."""
    F, Q = np.array([[1.0, 1], [0, 1]]), np.diag([0, 0.01])
    rng = np.random.default_rng(4)
    learner = ob.create("kalman", transition=F, process_noise=Q, observation_noise=0.0, initial_covariance=1e7)
    position = np.cumsum(np.cumsum(0.1 * rng.standard_normal(500)))
    learner.partial_fit(np.tile([1.0, 0], (500, 1)), position)
    mean, P = moments(learner)
    np.testing.assert_allclose(mean[:, 0], [position[-1], position[-1] - position[-2]], rtol=1e-7)
    np.testing.assert_allclose(P, Q, atol=1e-9)  # x_t - x_(t-1) is the velocity before it was shaken
    assert learner.state()["precision_lost"] == 0


def test_exact_rows_are_measured_against_the_state_as_it_last_moved() -> None:
    """A start that says nothing is forgotten at once, and what is small beside it is not rounding."""
    learner = ob.create(
        "kalman", transition=0.0, process_noise=1e-3, observation_noise=0.0, initial_covariance=1e20
    ).partial_fit(X, np.nan_to_num(y))
    x, target = X[-1], y[-1]
    np.testing.assert_allclose(moments(learner)[0][:, 0], x * target / (x @ x), rtol=1e-9)
    np.testing.assert_allclose(moments(learner)[1], 1e-3 * (np.eye(3) - np.outer(x, x) / (x @ x)), atol=1e-12)
    np.testing.assert_allclose(learner.state()["scale"], 1e-3)


def test_what_is_certain_learns_nothing(same_state: Same) -> None:
    for noise in (0.0, 1.0):
        learner = ob.create("kalman", initial_covariance=0.0, initial_mean=2.0, observation_noise=noise)
        learner.partial_fit(X, y)
        np.testing.assert_array_equal(moments(learner)[0], np.full((3, 1), 2.0))
        assert not moments(learner)[1].any()


# ---------------------------------------------------------------------- digits and divergence


def test_a_vague_prior_beside_small_noise_is_said_and_then_refused() -> None:
    near = {"observation_noise": 1e-4}
    assert said(lambda: ob.create("kalman", initial_covariance=1e4, **near).partial_fit(X, y)) == []
    (text,) = said(lambda: ob.create("kalman", initial_covariance=1e8, **near).partial_fit(X, y))
    assert "kalman: half of the digits of the covariance are lost" in text
    assert "a smaller initial_covariance" in text
    with pytest.raises(ob.DivergedError, match=r"kalman diverged at step 1, row 0 .* too few digits"):
        ob.create("kalman", initial_covariance=1e14, **near).partial_fit(X, y)
    turned = ob.create("kalman", initial_covariance=1e8, transition=GIVEN["transition"][0], **near)  # mixes it
    assert said(lambda: turned.partial_fit(X, y)) == []
    shaken = ob.create("kalman", initial_covariance=1e14, process_noise=100.0, **near)  # renews what was lost
    assert len(said(lambda: shaken.partial_fit(X, y))) <= 1
    np.testing.assert_allclose(shaken.state()["covariance"], shaken.state()["covariance"].values.T)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("settings", [{}, {"transition": 0.9, "process_noise": 1e-3}], ids=str)
def test_a_variance_below_zero_is_refused(noise: float, settings: Any, same_state: Same) -> None:
    """No exact arithmetic gives it."""
    state = ob.create("kalman", observation_noise=noise, **settings).partial_fit(X[:0], y[:0]).state()
    state["covariance"].values[0, 0] = -0.5
    state.attrs["orfit_bench"] = state.attrs["orfit_bench"].replace('"t": 0', '"t": 4')
    learner = ob.restore(state)
    for act in (learner.partial_fit, learner.step, learner.smooth):
        with pytest.raises(ob.DivergedError):
            act([[1.0, 0.1, 0.1]], [1.0])
    same_state(learner, ob.restore(state))


def test_growing_errors_are_refused_while_two_digits_are_left() -> None:
    """As forgetting does, this transition grows what the rows do not see, here the difference of two numbers."""
    learner = ob.create("kalman", transition=1.5)
    rows = np.ones((100, 2))
    with pytest.warns(ob.AccuracyWarning), pytest.raises(ob.DivergedError):
        learner.partial_fit(rows, np.ones(100))
    P = moments(learner)[1]
    assert 1e-3 < 4 * np.finfo(float).eps * P.max() < 0.01 * 2.25
    s = 2.25 - 1  # of the sum, where s -> 2.25 s / (1 + s) stays; its forecast f -> 1.5 (f + (1 - f) s / (1 + s)) too
    np.testing.assert_allclose(learner.predict(rows[:1]), 2.5, rtol=1e-3)
    np.testing.assert_allclose(rows[0] @ P @ rows[0], s / (1 + s), rtol=0.05)


def test_a_state_that_grows_unseen_warns_and_then_diverges() -> None:
    """Every row an x that does not see the second number, which doubles."""
    learner = ob.create("kalman", transition=[0.5, 2.0])
    rows = np.tile([1.0, 0.0], (400, 1))
    assert len(said(lambda: learner.partial_fit(rows[:300], np.ones(300)))) == 1
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(np.tile(rows, (2, 1)), np.ones(800))
    good = ob.create("kalman", transition=[0.5, 2.0])
    said(lambda: good.partial_fit(np.tile(rows, (2, 1))[: info.value.step - 1], np.ones(info.value.step - 1)))
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
def test_a_prediction_that_leaves_the_finite_numbers_is_refused_unseen(functions: bool, same_state: Same) -> None:
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


def test_a_mean_that_a_function_makes_infinite_is_refused_unseen(same_state: Same) -> None:
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
def test_any_size(shape: tuple[int, int], outputs: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal(shape), rng.standard_normal((shape[0], *outputs))
    learner = ob.create("kalman", process_noise=0.1, transition=np.full(shape[1], 0.9)).partial_fit(A, b)
    assert learner.predict(A).shape == b.shape
    assert learner.smooth(A, b)["mean"].shape == (shape[0], shape[1], *(outputs or (1,)))


# ---------------------------------------------------------------------- long streams


def stable(d: int) -> tuple[Any, Any]:
    """A random transition of spectral radius 0.999, and a factor of a small process noise of rank 2."""
    rng = np.random.default_rng(7)
    F = rng.standard_normal((d, d))
    F *= 0.999 / abs(np.linalg.eigvals(F)).max()
    B = 1e-3 * rng.standard_normal((d, 2))
    return F, B


class ArrayFilter:
    """The same filter on a factor L of P = L L' alone, by orthogonal transformations: it loses half as many digits."""

    def __init__(self, F: Any, B: Any, variance: float) -> None:
        self.F, self.B, self.noise, d = F, B, np.sqrt(variance), len(F)
        self.mean, self.L, self.begun = np.zeros(d), np.eye(d), False

    def learn(self, x: Any, y: float) -> None:
        if self.begun:
            self.mean, self.L = self.F @ self.mean, triangular(np.hstack([self.F @ self.L, self.B]))
        self.begun = True
        d = len(x)
        M = np.zeros((d + 1, d + 1))
        M[0, 0], M[0, 1:], M[1:, 1:] = self.noise, x @ self.L, self.L
        M = triangular(M)
        self.mean, self.L = self.mean + M[1:, 0] / M[0, 0] * (y - x @ self.mean), M[1:, 1:]


def triangular(A: Any) -> Any:
    """L (k, k) lower triangular with L L' = A A'."""
    return np.linalg.qr(A.T, mode="r").T


def check_long_run(n: int, d: int = 6) -> tuple[float, float, float]:
    """Learn n rows; the largest errors of mean and P, and the least eigenvalue of P over its largest."""
    (F, B), rng = stable(d), np.random.default_rng(8)
    learner = ob.create("kalman", transition=F, process_noise=B @ B.T, observation_noise=0.01)
    exact, found = ArrayFilter(F, B, 0.01), []
    for i in range(0, n, 1000):
        rows = rng.standard_normal((1000, d))
        targets = np.sin(0.01 * np.arange(i, i + 1000)) + 0.1 * rng.standard_normal(1000)
        learner.partial_fit(rows, targets)
        for x, target in zip(rows, targets, strict=True):
            exact.learn(x, target)
        mean, P = moments(learner)
        np.testing.assert_array_equal(P, P.T)
        values, wanted = np.linalg.eigvalsh(P), ((mean[:, 0], exact.mean), (P, exact.L @ exact.L.T))
        found.append([*(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in wanted), -values[0] / values[-1]])
    mean_error, P_error, least = np.max(found, axis=0)
    print(f"{n} steps: mean off by {mean_error:.1e}, P by {P_error:.1e}, least eigenvalue {-least:.1e}")
    assert -least > 0
    assert max(mean_error, P_error) < 1e-9
    return float(mean_error), float(P_error), float(-least)


def check_at_rest(n: int, rows: Rows) -> None:
    """Against a triangular factor kept up by orthogonal factorisations alone."""
    errors, warned, refused_at = measure_long_stream(ob.create("kalman"), "covariance", n, rows, 1.0)
    assert (warned, refused_at) == (0, 0)
    assert errors[-1].rows == n
    _, mean, P, _, asymmetry = np.max(errors, axis=0)
    least = min(one.min_eigenvalue for one in errors)
    print(f"{n} rows at rest: mean off by {mean:.1e}, P by {P:.1e}, least eigenvalue {least:.1e}")
    assert max(mean, P) < 1e-9
    assert least > 0
    assert asymmetry == 0


def test_two_thousand_steps_of_a_moving_state() -> None:
    check_long_run(2000)


def test_two_thousand_ill_conditioned_rows_at_rest() -> None:
    check_at_rest(2000, Rows(seen=12))


@pytest.mark.slow
def test_a_million_steps_of_a_moving_state() -> None:
    check_long_run(1_000_000)


@pytest.mark.slow
def test_a_million_ill_conditioned_rows_at_rest() -> None:
    check_at_rest(1_000_000, Rows(seen=12, condition=1e5))

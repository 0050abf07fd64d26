"""Observations without noise."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from helpers.filters import NAN, Same, X, moments, stated, y

import orfit_bench as ob
from orfit_bench.catalogue.shared.gaussian_states import condition_on_rows as conditioned
from orfit_bench.catalogue.shared.gaussian_states import joint_prior as prior


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", [1, 4, 30])
def test_constant_state_without_noise_is_interpolated(d: int, dtype: str) -> None:
    """As in icl, rows that earlier ones determine change nothing, even if they contradict these."""
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


def test_repeated_rows_of_a_block_without_noise() -> None:
    A = np.vstack([X[:2], X[:1], 1e9 * X[1:2]])
    learner = ob.create("kalman", observation_noise=0.0).step(A, A @ [1, 2, 3])
    np.testing.assert_allclose(A @ moments(learner)[0][:, 0], A @ [1, 2, 3], rtol=1e-9)
    off = np.eye(3) - np.linalg.pinv(X[:2]) @ X[:2]
    np.testing.assert_allclose(moments(learner)[1], off, atol=1e-9)


def test_common_noise_of_two_rows_cancels_in_their_difference() -> None:
    """R = [[1, 1], [1, 1]]: y_1 - y_2 is exact."""
    learner = ob.create("kalman").step(X[:2], y[:2], observation_noise=np.ones((2, 2)))
    rows = [(0, X[:2], y[:2, None], np.ones((2, 2)))]
    want = conditioned(prior(np.eye(3)[None], np.zeros((1, 3, 3)), np.zeros((3, 1)), np.eye(3)), rows).of(0)
    for a, b in zip(moments(learner), want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_exact_rows_with_process_noise_between_them() -> None:
    """A position seen without noise, a velocity driven by noise and a vague prior: no warning, and correct moments."""
    F, Q = np.array([[1.0, 1], [0, 1]]), np.diag([0, 0.01])
    rng = np.random.default_rng(4)
    learner = ob.create("kalman", transition=F, process_noise=Q, observation_noise=0.0, initial_covariance=1e7)
    position = np.cumsum(np.cumsum(0.1 * rng.standard_normal(500)))
    learner.partial_fit(np.tile([1.0, 0], (500, 1)), position)
    mean, P = moments(learner)
    np.testing.assert_allclose(mean[:, 0], [position[-1], position[-1] - position[-2]], rtol=1e-7)
    np.testing.assert_allclose(P, Q, atol=1e-9)  # x_t - x_(t-1) is the velocity before the noise
    assert learner.state()["precision_lost"] == 0


def test_rounding_of_exact_rows_is_relative_to_the_last_transition() -> None:
    """A vague start is forgotten immediately, and variances that are small compared with it are not rounding."""
    learner = ob.create(
        "kalman", transition=0.0, process_noise=1e-3, observation_noise=0.0, initial_covariance=1e20
    ).partial_fit(X, np.nan_to_num(y))
    x, target = X[-1], y[-1]
    np.testing.assert_allclose(moments(learner)[0][:, 0], x * target / (x @ x), rtol=1e-9)
    np.testing.assert_allclose(moments(learner)[1], 1e-3 * (np.eye(3) - np.outer(x, x) / (x @ x)), atol=1e-12)
    np.testing.assert_allclose(learner.state()["scale"], 1e-3)


def test_known_state_is_not_changed(same_state: Same) -> None:
    for noise in (0.0, 1.0):
        learner = ob.create("kalman", initial_covariance=0.0, initial_mean=2.0, observation_noise=noise)
        learner.partial_fit(X, y)
        np.testing.assert_array_equal(moments(learner)[0], np.full((3, 1), 2.0))
        assert not moments(learner)[1].any()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("seed", [0, 38])
@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")  # the targets contradict each other
def test_deviations_of_known_directions_are_numbers(seed: int, backend: str) -> None:
    """If everything is known, a variance is a rounding of zero, which may be negative: it was with the second seed."""
    rng = np.random.default_rng(seed)
    X, targets = np.round(rng.standard_normal((144, 4)) * 256) / 256, rng.standard_normal(144)
    kalman = ob.create("kalman", observation_noise=0.0, backend=backend)
    pipeline = ob.pipeline("standardize", "intercept", kalman).partial_fit(X, targets)
    std = pipeline.predict(X, return_std=True)[1]
    assert ((std >= 0) & (std < 1e-5)).all()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_target_that_contradicts_a_known_combination_does_not_move_it(backend: str) -> None:
    """All but the first parameter are known; deviations of 1e-13 that rounding leaves would move them by 1e14."""
    move = {"transition": np.eye(4) + 0.25 * np.eye(4, k=1), "process_noise": 0.0}
    learner = ob.create("kalman", form="square_root", backend=backend, initial_covariance=1e4)
    row, other = [[0.0, 1.0, 1.0, -1.0]], [[-0.5, 0.25, -0.25, -2.25]]
    for rows, target, noise in (
        (row, 0.75, 0),
        (other, 0.75, 0.25),
        (row, -1.25, 0),
        (other, 0.5, 0.25),
        (row, 0.0, 0),
    ):
        learner.step(rows, [target], observation_noise=noise, **move)
    known = learner.array("mean").copy()
    assert not learner.array("covariance")[1:].any()
    learner.step(row, [0.75], observation_noise=0, **move)
    np.testing.assert_allclose(learner.array("mean"), move["transition"] @ known, rtol=1e-14)
    assert not learner.array("covariance")[1:].any()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_targets_far_from_what_a_moved_state_expects_are_warned_of_or_refused(form: str, backend: str) -> None:
    """A deviation of 1e-6 is off by 1, then by 1e9; at rest any prior is interpolated."""
    learner = ob.create("kalman", form=form, backend=backend, initial_covariance=1e-12, observation_noise=0.0)
    learner.copy().partial_fit(np.eye(2), [1.0, 1e9])
    learner.partial_fit([[0.0, 0.0]], [0.0]).step([[1.0, 0.0]], [1e-6], transition=0.5)
    with pytest.raises(ob.DivergedError):
        learner.copy().step([[0.0, 1.0]], [1e3])
    with pytest.warns(ob.AccuracyWarning):
        learner.step([[0.0, 1.0]], [1.0])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
@pytest.mark.parametrize(("noise", "dtype"), [(1e-6, "float32"), (1e-16, "float64")])
def test_a_level_that_jumps_is_learned(noise: float, dtype: str, form: str, backend: str) -> None:
    """Variance added by process noise is not rounding, however far away the target is."""
    learner = ob.create("kalman", form=form, backend=backend, dtype=dtype, process_noise=noise, observation_noise=0.0)
    learner.partial_fit(np.ones((4, 1), dtype), np.array([0.0, 0.0, 3.0, 3.0], dtype))
    assert learner.array("mean") == 3


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_refusal_does_not_depend_on_the_chunks(backend: str) -> None:
    """The state rests before the last two rows, and has moved before them."""
    moves = np.array([np.eye(2), [[1, 1], [0, 1]], np.eye(2), np.eye(2)])
    rows, targets = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]), np.array([1.0, NAN, 1e9, 1e9])

    def learn_in_chunks(cuts: list[int]) -> None:
        learner = ob.create("kalman", backend=backend, observation_noise=0.0)
        for lo, hi in pairwise(cuts):
            learner.partial_fit(rows[lo:hi], targets[lo:hi], transition=moves[lo:hi])

    for cuts in ([0, 4], [0, 1, 2, 3, 4], [0, 2, 4]):
        with pytest.raises(ob.DivergedError, match="step 3"):
            learn_in_chunks(cuts)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_nearly_dependent_rows_leave_no_variance_for_later_ones(backend: str, form: str, dtype: str) -> None:
    """Rows that depend on each other except for 1e-4 magnify rounding, by which later rows moved known parameters."""
    moved, known = [], 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 7))
        A, q = rng.standard_normal((d, d)), int(rng.integers(1, d))
        A[-1] = A[0] + 10.0 ** -rng.integers(1, 5) * A[-1]
        learner = ob.create("kalman", backend=backend, form=form, dtype=dtype, observation_noise=0.0)
        rows, targets = A.astype(dtype), rng.standard_normal(d).astype(dtype)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learner.step(rows[:q], targets[:q]).step(rows[q:], targets[q:])
            before, variance = moments(learner)[0], moments(learner)[1].max()
            for n in (1, 3, 2):
                more, wrong = rng.standard_normal((n, d)), rng.standard_normal(n)
                learner.step(more.astype(dtype), wrong.astype(dtype))
        if variance < 1e-3 and not caught:
            known += 1
            moved.append(abs(moments(learner)[0] - before).max() / abs(before).max())
    assert known > 15
    assert max(moved) < {"float64": 1e-6, "float32": 1e-3}[dtype]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_rows_that_lose_half_of_the_digits_are_warned_of(backend: str) -> None:
    """Two rows without noise that differ by 1e-5 have the relative variance 1e-10, and the mean six digits."""
    A, targets = [[1.0, 0.0], [1.0, 1e-5]], [1.0, 1.00002]
    for form, count in (("covariance", 1), ("square_root", 0)):
        learner = ob.create("kalman", backend=backend, form=form, observation_noise=0.0)
        assert len(stated(lambda learner=learner: learner.step(A, targets))) == count
        np.testing.assert_allclose(moments(learner)[0].ravel(), [1, 2], rtol=1e-4)

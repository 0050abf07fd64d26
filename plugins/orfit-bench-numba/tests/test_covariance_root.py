"""The square-root form of kalman: own code up to a size, and LAPACK's factorizations for larger moving states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

RNG = np.random.default_rng(0)
MOTIONS = {
    "rest": lambda d: {},
    "number": lambda d: {"transition": -0.9, "process_noise": 0.1},
    "diagonal": lambda d: {"transition": RNG.uniform(-1, 1, d), "process_noise": RNG.uniform(0, 1, d)},
    "transition": lambda d: {"transition": orthogonal(d)},
    "noise": lambda d: {"process_noise": covariance(d)},
    "both": lambda d: {"transition": 0.95 * orthogonal(d), "process_noise": covariance(d)},
    "some noise": lambda d: {"transition": orthogonal(d), "process_noise": np.diag(np.arange(d) % 2.0)},
    "zero": lambda d: {"transition": np.zeros((d, d))},
}


def orthogonal(d: int) -> Any:
    return np.linalg.qr(RNG.standard_normal((d, d)))[0]


def covariance(d: int) -> Any:
    root = RNG.standard_normal((d, d)) / 10
    return root @ root.T


def same_rows(X: Any, y: Any, dtype: str = "float64", per_row: Any = None, **settings: Any) -> list[ob.Learner]:
    learners = [
        ob.create("kalman", backend=name, form="square_root", dtype=dtype, **settings) for name in ("numpy", "numba")
    ]
    for learner in learners:
        learner.prequential(X.astype(dtype), y.astype(dtype), **(per_row or {}))
    return learners


def assert_equal(reference: ob.Learner, found: ob.Learner, eps: float, dtype: str = "float64") -> None:
    for name in ("mean", "covariance", "root", "scale"):
        want = reference.array(name)
        assert abs(found.array(name) - want).max() <= eps * np.finfo(dtype).eps * abs(want).max(), name
    assert np.array_equal(found.array("root"), np.tril(found.array("root")))
    assert (np.diagonal(found.array("root")) >= 0).all()
    assert found.array("precision_lost") == reference.array("precision_lost")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8, 33])
def test_rows_of_any_motion_and_size_equal_the_reference(d: int, motion: str, dtype: str) -> None:
    X, Y = RNG.standard_normal((20, d)), RNG.standard_normal((20, 2))
    Y[[3, 4, 19]] = np.nan
    assert_equal(*same_rows(X, Y, dtype, **MOTIONS[motion](d)), eps=200, dtype=dtype)


@pytest.mark.parametrize("d", [100, 101])
def test_large_moving_states(d: int) -> None:
    X, y = RNG.standard_normal((4, d)), RNG.standard_normal(4)
    assert_equal(*same_rows(X, y, **MOTIONS["both"](d)), eps=1000)


def test_motions_controls_and_noises_that_change_with_each_row() -> None:
    n, d = 9, 3
    per_row = {
        "transition": np.stack([orthogonal(d), np.eye(d), np.zeros((d, d))] * 3),
        "process_noise": np.stack([covariance(d), np.zeros((d, d)), np.diag([1.0, 0, 2])] * 3),
        "observation_noise": np.linspace(0.1, 1, n),
        "control": RNG.standard_normal((n, d)),
    }
    X, y = RNG.standard_normal((n, d)), RNG.standard_normal(n)
    assert_equal(*same_rows(X, y, per_row=per_row), eps=200)


def test_rows_with_and_without_noise() -> None:
    X, y = RNG.standard_normal((8, 4)), RNG.standard_normal(8)
    per_row = {"observation_noise": np.array([0.5, 0.5, 0, 0.5, 0, 0, 0.5, 0.5])}
    assert_equal(*same_rows(X, y, per_row=per_row, process_noise=0.1), eps=1000)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("least", [0.0, 1e-37, 1e-30, 1e-25, 1e-20, 1e-12, 1e-8, 1e-6])
def test_a_move_of_a_nearly_singular_root(least: float, sign: int, dtype: str) -> None:
    """Exact rows leave such roots; squares of their numbers are zero in float32."""
    S = np.array([[0.1, 0, 0], [0.7, least, 0], [-0.2, 0.3, 1]])
    F = sign * np.array([[1, 0.5, 0], [0.25, 1, 0.5], [0, 0.5, 1]])
    learners = []
    for backend in ("numpy", "numba"):
        learner = ob.create("kalman", backend=backend, form="square_root", dtype=dtype, transition=F)
        learner.partial_fit(np.zeros((1, 3)), [0.0])
        learner.live_state.arrays.root[...] = S
        learners.append(learner.partial_fit([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]], [np.nan, 1.0]))
    assert_equal(*learners, eps=100, dtype=dtype)


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize(
    ("scale", "settings"),
    [
        (1e200, {}),
        (1.0, {"transition": 1e160}),
        (1.0, {"transition": np.full((3, 3), 1e200)}),
        (1e-200, {"initial_covariance": 1e300}),
        (1e160, {"initial_covariance": 1e-20}),
    ],
)
def test_rows_near_overflow_are_learned_or_refused_as_by_the_reference(scale: float, settings: Any) -> None:
    X, y = RNG.standard_normal((4, 3)) * [[1], [1], [scale], [1]], RNG.standard_normal(4)
    outcomes = []
    for backend in ("numpy", "numba"):
        learner = ob.create("kalman", backend=backend, form="square_root", **settings)
        try:
            learner.partial_fit(X, y)
        except ob.DivergedError as error:
            outcomes.append((error.row, learner.array("precision_lost")))
        else:
            outcomes.append((len(X), learner.array("precision_lost")))
        assert all(np.isfinite(learner.array(name)).all() for name in ("mean", "root"))
    assert outcomes[0] == outcomes[1]


def test_chunks_do_not_change_a_bit() -> None:
    settings = {"backend": "numba", "form": "square_root", **MOTIONS["both"](5)}
    X, y = RNG.standard_normal((30, 5)), RNG.standard_normal(30)
    at_once, one_by_one = (ob.create("kalman", **settings) for _ in range(2))
    at_once.partial_fit(X, y)
    for x, target in zip(X, y, strict=True):
        one_by_one.learn_one(x, target)
    for name in ("mean", "covariance", "root", "scale"):
        assert np.array_equal(at_once.array(name), one_by_one.array(name))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_refused_and_missing_first_rows_keep_the_given_covariance(backend: str, bad: float) -> None:
    given = {"backend": backend, "form": "square_root", "initial_covariance": covariance(4) + np.eye(4)}
    learner, other = ob.create("kalman", **given), ob.create("kalman", **given)
    learner.partial_fit(np.ones((1, 4)), [np.nan])
    assert np.array_equal(learner.array("covariance"), given["initial_covariance"])
    other.step(np.ones((1, 4)), [np.nan])
    before = learner.to_bytes(), other.to_bytes()
    for one in (learner, other):
        for learn in (
            lambda one: one.learn_one([bad, 1, 1, 1], 1.0),
            lambda one: one.partial_fit([[bad, 1, 1, 1]], [1]),
        ):
            with pytest.raises((ValueError, ob.DivergedError)):
                learn(one)
    assert (learner.to_bytes(), other.to_bytes()) == before


@pytest.mark.parametrize("d", [5, 100])
def test_chunks_do_not_change_a_bit_if_only_some_rows_move(d: int) -> None:
    X, y = RNG.standard_normal((6, d)), RNG.standard_normal(6)
    F = np.stack([np.eye(d), np.eye(d), orthogonal(d)] * 2)
    at_once, one_by_one = (ob.create("kalman", backend="numba", form="square_root") for _ in range(2))
    at_once.partial_fit(X, y, transition=F)
    for i in range(len(X)):
        one_by_one.partial_fit(X[i : i + 1], y[i : i + 1], transition=F[i : i + 1])
    assert np.array_equal(at_once.array("root"), one_by_one.array("root"))

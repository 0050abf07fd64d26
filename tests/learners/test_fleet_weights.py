"""Weights of the rows of a fleet: each member learns like a single learner with the same weights."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.schedules import Power

SIZE, ROWS, FEATURES = 4, 9, 3
CASES: dict[str, dict[str, Any]] = {
    "rls": {"forgetting_factor": [0.9, 0.95, 1.0, 1.01]},
    "ridge": {"forgetting_factor": 0.97},
    "class_rls": {},
    "sgd": {"step_size": 0.1, "momentum": 0.5, "averaging": "tail", "tail_start": 4},
    "softmax": {"step_size": Power(0.3, 0.5)},
}


def rows_of(method: str, *shape: int) -> tuple[Any, Any, Any]:
    """Rows, targets or labels, and weights, some of which are 0 and some not integers."""
    rng = np.random.default_rng(len(shape))
    X = rng.standard_normal((*shape, FEATURES))
    y = rng.choice(["a", "b", "c"], shape) if method in ("class_rls", "softmax") else rng.standard_normal(shape)
    return X, y, rng.choice([0.0, 0.3, 1.0, 2.0, 2.6], shape)


def compare(fleet: Any, alone: list[Any], dtype: str) -> None:
    bound = 1e-12 if dtype == "float64" else 1e-5
    for i, want in enumerate(alone):
        got = fleet[i]
        assert got.n_samples_seen_ == want.n_samples_seen_
        assert got.state().attrs["t"] == want.state().attrs["t"]
        for name, field in want.state().data_vars.items():
            np.testing.assert_allclose(got.state()[name], field, rtol=bound, atol=bound, err_msg=f"{name} of {i}")
        if hasattr(want, "classes_"):
            assert got.classes_.tolist() == want.classes_.tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", CASES)
def test_members_learn_weights_as_learners_that_are_alone(method: str, backend: str, dtype: str) -> None:
    fleet = ob.fleet(method, SIZE, backend=backend, dtype=dtype, **CASES[method])
    alone = [fleet[i] for i in range(SIZE)]
    X, y, weights = rows_of(method, SIZE, ROWS)
    fleet.partial_fit(X, y, sample_weight=weights)
    for i, learner in enumerate(alone):
        learner.partial_fit(X[i], y[i], sample_weight=weights[i])
    compare(fleet, alone, dtype)
    X, y, weights = rows_of(method, 3 * ROWS)
    which = np.random.default_rng(0).integers(0, SIZE - 1, len(X))  # the last member gets no rows
    fleet.partial_fit(X, y, which=which, sample_weight=weights)
    for i, learner in enumerate(alone[:-1]):
        learner.partial_fit(X[which == i], y[which == i], sample_weight=weights[which == i])
    compare(fleet, alone, dtype)
    weights[weights == 0] = 1.5
    found = fleet.prequential(X, y, which=which, sample_weight=weights)
    for i, learner in enumerate(alone[:-1]):
        want = learner.prequential(X[which == i], y[which == i], sample_weight=weights[which == i])
        if hasattr(learner, "classes_"):
            want = want[:, [learner.classes_.tolist().index(label) for label in fleet.classes_]]
        np.testing.assert_allclose(found[which == i], want, rtol=1e-3, atol=1e-5 if dtype == "float32" else 1e-12)
    compare(fleet, alone, dtype)


def test_rows_of_weight_zero_change_nothing_but_the_count() -> None:
    X, y, _ = rows_of("rls", SIZE, ROWS)
    fleet = ob.fleet("rls", SIZE, backend="numpy").partial_fit(X, y)
    before = fleet.state()
    fleet.partial_fit(X, y, sample_weight=np.zeros((SIZE, ROWS)))
    for name, field in before.data_vars.items():
        np.testing.assert_array_equal(fleet.state()[name], field)
    assert fleet.n_samples_seen_.tolist() == [2 * ROWS] * SIZE


def test_a_member_that_diverges_counts_the_rows_before() -> None:
    X, y, weights = np.ones((2, 5, 1)), np.ones((2, 5)), np.array([[1.0] * 5, [0, 2, 0, 3, 1]])
    y[1, 3] = 1e308
    fleet = ob.fleet("sgd", 2, backend="numpy", step_size=1e10)
    alone = fleet[1]
    with pytest.raises(ob.DivergedError, match="member 1 at its step 3, row 3 of this call") as caught:
        fleet.partial_fit(X, y, sample_weight=weights)
    with pytest.raises(ob.DivergedError) as one:
        alone.partial_fit(X[1], y[1], sample_weight=weights[1])
    assert caught.value.members == (1,)
    assert (caught.value.row, caught.value.step) == (one.value.row, one.value.step)
    assert fleet.n_samples_seen_.tolist() == [5, alone.n_samples_seen_]


@pytest.mark.parametrize(
    ("method", "weights", "error", "text"),
    [
        ("lms", np.ones((SIZE, ROWS)), TypeError, "lms has no rule for the weight of a row"),
        ("kalman", np.ones((SIZE, ROWS)), TypeError, "fleets of kalman learn no weights"),
        ("rls", np.ones(ROWS), ValueError, "sample_weight: got shape (9,), want (4, 9), one weight for each row"),
        ("ridge", -np.eye(SIZE, ROWS), ValueError, "sample_weight[0, 0] is -1.0: a fleet unlearns no rows"),
        ("rls", -np.eye(SIZE, ROWS), ValueError, "sample_weight[0, 0] is -1.0: want a weight >= 0"),
        ("sgd", 1001 * np.eye(SIZE, ROWS), ValueError, "sample_weight[0, 0] is 1001.0: sgd repeats a row"),
        ("rls", np.full((SIZE, ROWS), np.nan), ValueError, "sample_weight"),
        ("rls", np.full((SIZE, ROWS), "1"), TypeError, "sample_weight"),
    ],
)
def test_weights_that_a_fleet_does_not_learn_are_refused(
    method: str, weights: Any, error: type[Exception], text: str
) -> None:
    X, y, _ = rows_of("rls", SIZE, ROWS)
    fleet = ob.fleet(method, SIZE, backend="numpy")
    with pytest.raises(error, match=re.escape(text)):
        fleet.partial_fit(X, y, sample_weight=weights)
    assert not fleet.n_samples_seen_.any()


def test_prequential_of_a_fleet_refuses_weight_zero() -> None:
    X, y, _ = rows_of("rls", SIZE, ROWS)
    weights = np.ones((SIZE, ROWS))
    weights[2, 5] = 0
    with pytest.raises(ValueError, match=re.escape("sample_weight[2, 5] is 0.0: a fleet predicts only the rows")):
        ob.fleet("rls", SIZE, backend="numpy").prequential(X, y, sample_weight=weights)


@pytest.mark.parametrize("weight", [1e-85, 1e-100])
@pytest.mark.parametrize("method", ["rls", "class_rls"])
def test_prequential_refuses_a_weight_whose_root_counts_as_zero(method: str, weight: float) -> None:
    X, y, _ = rows_of(method, SIZE, ROWS)
    fleet, weights = ob.fleet(method, SIZE, backend="numpy", dtype="float32"), np.ones((SIZE, ROWS))
    weights[1, 2] = weight
    with pytest.raises(ValueError, match=re.escape(f"sample_weight[1, 2] is {weight}: a fleet predicts only the rows")):
        fleet.prequential(X, y, sample_weight=weights)
    assert not fleet.n_samples_seen_.any()
    assert fleet.partial_fit(X, y, sample_weight=weights).n_samples_seen_.tolist() == [ROWS] * SIZE


@pytest.mark.parametrize("steps", [0.1, [0.1, 0.2, 0.3, 0.4]])
def test_the_member_whose_target_is_refused_is_named(steps: Any) -> None:
    y = np.ones((SIZE, 2))
    y[2, 1] = 5
    fleet = ob.fleet("sgd", SIZE, backend="numpy", loss="logistic", step_size=steps)
    with pytest.raises(ValueError, match=r"y: row 1 holds 5\.0: .*\(counting the rows of member 2 alone\)"):
        fleet.partial_fit(np.ones((SIZE, 2, 1)), y)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("settings", [{}, {"momentum": 0.5}, {"averaging": "tail", "tail_start": 4}])
def test_fleets_of_sgd_predict_as_their_members(settings: dict[str, Any], backend: str) -> None:
    X, y, _ = rows_of("sgd", SIZE, ROWS)
    fleet = ob.fleet("sgd", SIZE, backend=backend, **settings).partial_fit(X[:, :5], y[:, :5])
    fleet.partial_fit(X[0, :2], y[0, :2], which=[1, 1])
    found, some = fleet.predict(X), fleet.predict(X[0, :3], which=[3, 1, 3])
    for i in range(SIZE):
        np.testing.assert_allclose(found[i], fleet[i].predict(X[i]), rtol=1e-13, atol=1e-15)
    want = [fleet[i].predict(X[0, r : r + 1])[0] for r, i in enumerate([3, 1, 3])]
    np.testing.assert_allclose(some, want, rtol=1e-13, atol=1e-15)
    assert fleet.predict(X[0, :0], which=[]).shape == (0,)

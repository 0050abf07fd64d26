"""`predict_one` has the result of `predict` for the same row, after each row that was learned."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
D = 4
MOVING = {"transition": 0.9 * np.eye(D), "process_noise": 0.1}
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("rls", {}, "number"),
    ("rls", {}, "numbers"),
    ("lms", {"step_size": 0.05}, "numbers"),
    ("ridge", {}, "number"),
    ("ridge", {}, "numbers"),
    ("kalman", {"process_noise": 0.1}, "number"),
    ("kalman", {"process_noise": 0.1}, "numbers"),
    ("kalman", MOVING, "number"),
    ("kalman", MOVING, "numbers"),
    ("sgd", {"step_size": 0.05, "averaging": "uniform"}, "number"),
    ("sgd", {"step_size": 0.05, "averaging": "uniform"}, "numbers"),
    ("greedy", {}, "number"),
    ("class_rls", {}, "texts"),
    ("softmax", {}, "texts"),
    ("class_rls", {}, "booleans"),
    ("class_rls", {}, "integers"),
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[2]} {list(case[1])}")


def make_rows(n: int, kind: str, seed: int = 0) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    if kind == "numbers":
        return X, list(rng.standard_normal((n, 2)))
    labels = {"texts": ["ant", "bee", "cow"], "booleans": [True, False], "integers": [7, 3, 5]}.get(kind)
    return X, [labels[i % len(labels)] for i in range(n)] if labels else rng.standard_normal(n).tolist()


@each_case
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_it_is_predict_after_each_row(case: Any, backend: str) -> None:
    method, settings, kind = case
    learner = ob.create(method, backend=backend, **settings)
    X, y = make_rows(30, kind)
    for i in range(30):
        learner.learn_one(X[i], y[i])
        for x in (X[i - 5], X[i] + 0.5):
            one, (wanted,) = learner.predict_one(x), learner.predict(x[None])
            np.testing.assert_array_equal(one, wanted)
            np.testing.assert_array_equal(learner.predict_one(x.tolist()), wanted)
            assert type(one) is (type(y[0]) if kind in ("texts", "booleans", "integers") else type(wanted))


@each_case
@pytest.mark.parametrize("bad", [np.nan, np.inf, "short", "matrix", "text"])
def test_bad_rows_are_refused_and_change_nothing(case: Any, bad: Any, same_state: Same) -> None:
    method, settings, kind = case
    X, y = make_rows(5, kind)
    learner = ob.create(method, backend="numba", **settings).partial_fit(X, y).learn_one(X[0], y[0])
    learner.predict_one(X[0])  # weights that are solved for are kept
    x: Any = X[1].copy()
    if isinstance(bad, float):
        x[2] = bad
    else:
        x = {"short": x[:-1], "matrix": x[None], "text": x.astype(str)}[bad]
    before = learner.copy()
    with pytest.raises((ValueError, TypeError)):
        learner.predict_one(x)
    same_state(learner, before)


@each_case
def test_a_prediction_that_overflows_is_not_warned_of(case: Any) -> None:
    method, settings, kind = case
    X, y = make_rows(6, kind)
    learner = ob.create(method, backend="numba", **settings).partial_fit(X, y)
    learner.predict_one(X[0])
    for a in (learner.live_state.arrays, learner.live_state.solved_weights):
        for field in a if isinstance(a, tuple) else [a]:
            if field is not None and field.shape[:1] == (D,) and field.dtype.kind == "f":
                field[...] = 1e200
    x = np.full(D, 1e150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for form in (x, x.tolist()):
            np.testing.assert_array_equal(learner.predict_one(form), learner.predict(x[None])[0])


@each_case
def test_rows_that_are_not_contiguous_are_predicted_alike(case: Any) -> None:
    method, settings, kind = case
    rng, d = np.random.default_rng(5), 37
    settings = {**settings, "transition": 0.9 * np.eye(d)} if "transition" in settings else settings
    y = make_rows(50, kind)[1]
    learner = ob.create(method, backend="numba", **settings).partial_fit(rng.standard_normal((50, d)), y)
    columns = rng.standard_normal((d, 40))
    for x in columns.T:
        np.testing.assert_array_equal(learner.predict_one(x), learner.predict([x.tolist()])[0])


def test_of_equal_scores_the_first_class_is_predicted() -> None:
    learner = ob.create("class_rls", backend="numba").partial_fit(np.eye(2), ["b", "a"]).learn_one([0.0, 0.0], "b")
    assert learner.predict_one(np.zeros(2)) == learner.predict(np.zeros((1, 2)))[0] == "b"


def test_new_classes_and_restored_states_are_predicted() -> None:
    X, y = make_rows(9, "texts")
    learner = ob.create("class_rls", backend="numba").partial_fit(X, y)
    learner.predict_one(X[0])
    learner.learn_one(100 * X[0], "dog")
    for other in (learner, learner.copy(), ob.from_bytes(learner.to_bytes())):
        assert other.predict_one(X[0]) == "dog" == other.predict(X[:1])[0]

"""After the first rows, Numba's kernels of classifications learn single rows by functions bound to the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
D = 5
METHODS = ["class_rls", "softmax"]
each_method = pytest.mark.parametrize("method", METHODS)
KINDS: dict[str, list[Any]] = {"texts": ["cat", "dog", "cow"], "integers": [3, 1, 2], "booleans": [True, False]}


def rows(n: int, dtype: str = "float64", seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n, D)).astype(dtype)


def begun(method: str, labels: list[Any], dtype: str = "float64", **settings: Any) -> Any:
    """A learner that has seen these labels, and then learned another row with the first one."""
    learner = ob.create(method, backend="numba", dtype=dtype, **settings)
    learner.partial_fit(rows(len(labels), dtype), labels).learn_one(rows(1, dtype, seed=1)[0], labels[0])
    assert learner.live_state.bound
    return learner


@each_method
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("act", ["learn_one", "partial_fit"])
def test_rows_have_the_result_of_the_general_path(
    method: str, kind: str, dtype: str, act: str, same_state: Same
) -> None:
    labels, rng = KINDS[kind], np.random.default_rng(2)
    one, other = begun(method, labels, dtype), begun(method, labels, dtype)
    for x in rows(30, dtype, seed=3):
        y = labels[rng.integers(len(labels))]
        one.learn_one(x, np.array([y])[0] if rng.random() < 0.5 else y) if act == "learn_one" else one.partial_fit(
            x[None], np.array([y])
        )
        other.partial_fit([x.tolist()], [y])
    same_state(one, other)
    assert one.n_samples_seen_ == len(labels) + 31


@each_method
def test_rows_agree_with_the_reference(method: str) -> None:
    labels = KINDS["texts"]
    one = begun(method, labels)
    other = ob.create(method, backend="numpy").partial_fit(rows(3), labels).learn_one(rows(1, seed=1)[0], labels[0])
    for i, x in enumerate(rows(50, seed=4)):
        one.learn_one(x, labels[i % 3])
        other.learn_one(x, labels[i % 3])
    assert np.allclose(one.array("w"), other.array("w"), rtol=1e-10)


@each_method
def test_new_classes_are_learned(method: str, same_state: Same) -> None:
    one, other = begun(method, [1, 2]), begun(method, [1, 2])
    for x, y in zip(rows(6, seed=5), [1, 7, 7, 2, 9, 1], strict=True):
        one.learn_one(x, y)
        other.partial_fit([x.tolist()], [y])
    same_state(one, other)
    assert one.classes_.tolist() == [1, 2, 7, 9]


@each_method
@pytest.mark.parametrize("wrong", [1.0, "1", None, [1], np.float64(1), np.array([1])])
def test_labels_of_another_type_are_refused_and_change_nothing(method: str, wrong: Any, same_state: Same) -> None:
    learner = begun(method, [1, 2])
    before = learner.copy()
    with pytest.raises((TypeError, ValueError)):
        learner.learn_one(rows(1)[0], wrong)
    same_state(learner, before)


@pytest.mark.parametrize("wrong", [True, np.True_])
def test_a_boolean_is_no_integer(wrong: Any) -> None:
    with pytest.raises(TypeError, match="bool"):
        begun("class_rls", [1, 2]).learn_one(rows(1)[0], wrong)


@each_method
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused_and_change_nothing(method: str, bad: float, same_state: Same) -> None:
    learner = begun(method, [1, 2])
    before, x = learner.copy(), rows(1)[0]
    x[3] = bad
    for act in (lambda: learner.learn_one(x, 1), lambda: learner.partial_fit(x[None], np.array([1]))):
        with pytest.raises(ValueError, match="want finite numbers"):
            act()
    same_state(learner, before)


@each_method
def test_a_step_that_is_refused_changes_nothing(method: str, same_state: Same) -> None:
    learner = begun(method, [1, 2], **({"step_size": 100.0} if method == "softmax" else {}))
    before = learner.copy()
    with pytest.raises(ob.DivergedError):
        learner.learn_one(np.full(D, 1e308), 1)
    same_state(learner, before)


def test_weights_of_rows_count_between_bound_rows(same_state: Same) -> None:
    learner, twice = begun("class_rls", [1, 2]), begun("class_rls", [1, 2])
    x = rows(1, seed=6)[0]
    learner.learn_one(x, 2, sample_weight=2.0).learn_one(x, 1)
    twice.learn_one(x, 2).learn_one(x, 2).learn_one(x, 1)
    assert np.allclose(learner.array("w"), twice.array("w"), rtol=1e-12)
    assert np.allclose(learner.array("P"), twice.array("P"), rtol=1e-12)


def test_lost_digits_are_marked_and_warned_of() -> None:
    learner = begun("class_rls", [1, 2], ridge=1e-3)
    with pytest.warns(ob.AccuracyWarning, match="half of the digits of P are lost"):
        learner.learn_one(1e6 * rows(1)[0], 1)
    assert learner.array("precision_lost") == 1

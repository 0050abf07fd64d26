"""After the first rows, Numba's kernels of subspaces learn single rows by functions bound to the state's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench_numba._subspace import RENEWAL_PERIOD

Same = Callable[[ob.Learner, ob.Learner], None]
D, K = 9, 3
METHODS = ["oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"]
each_method = pytest.mark.parametrize("method", METHODS)


def rows(n: int, dtype: str = "float64", seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal((n, D)) * np.linspace(2, 0.5, D)).astype(dtype)


def begun(method: str, dtype: str = "float64", **settings: Any) -> Any:
    given = settings if method == "incremental_pca" else {"step_size": 0.01, **settings}
    learner = ob.create(method, backend="numba", dtype=dtype, n_components=K, **given).partial_fit(rows(5, dtype))
    assert learner.live_state.bound
    return learner


@each_method
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("act", ["learn_one", "partial_fit"])
def test_rows_have_the_result_of_the_general_path(method: str, dtype: str, act: str, same_state: Same) -> None:
    one, other = begun(method, dtype), begun(method, dtype)
    for x in rows(30, dtype, seed=1):
        one.learn_one(x) if act == "learn_one" else one.partial_fit(x[None])
        other.partial_fit([x.tolist()])
    same_state(one, other)
    assert one.n_samples_seen_ == 35


@each_method
def test_rounding_is_removed_in_the_same_steps(method: str, same_state: Same) -> None:
    one, other, X = begun(method), begun(method), rows(RENEWAL_PERIOD + 20, seed=2)
    for x in X:
        one.learn_one(x)
        other.partial_fit([x.tolist()])
    same_state(one, other)


@each_method
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused_and_change_nothing(method: str, bad: float, same_state: Same) -> None:
    learner = begun(method)
    before, x = learner.copy(), rows(1)[0]
    x[4] = bad
    for act in (learner.learn_one, lambda row: learner.partial_fit(row[None])):
        with pytest.raises(ValueError, match="want finite numbers"):
            act(x)
    same_state(learner, before)


@each_method
def test_other_layouts_and_dtypes_are_converted(method: str, same_state: Same) -> None:
    one, other, x = begun(method), begun(method), rows(1)[0].round(2)
    one.learn_one(x).learn_one(x).learn_one(x)
    other.learn_one(np.repeat(x, 2)[::2]).learn_one(x.tolist()).learn_one(x[::-1].copy()[::-1])
    same_state(one, other)
    for wrong in (x[:-1], x[None], np.float64(1.0), np.zeros(()), x.astype(str)):
        with pytest.raises((ValueError, TypeError)):
            one.learn_one(wrong)
    same_state(one, other)


@each_method
def test_huge_and_tiny_rows_have_the_result_of_the_general_path(method: str, same_state: Same) -> None:
    one, other = begun(method), begun(method)
    for size in (1e-300, 1e-160, 1e5, 0.0):
        x = size * rows(1, seed=3)[0]
        for learner, act in ((one, lambda x: one.learn_one(x)), (other, lambda x: other.partial_fit([x.tolist()]))):
            try:
                act(x)
            except ob.DivergedError:
                assert learner.n_samples_seen_ >= 5
    same_state(one, other)


@each_method
def test_a_learner_that_learns_in_another_thread_refuses_rows(method: str, same_state: Same) -> None:
    learner = begun(method)
    before = learner.copy()
    learner.live_state.permit.pop()
    with pytest.raises(RuntimeError, match="learning in another thread"):
        learner.learn_one(rows(1)[0])
    learner.live_state.permit.append(None)
    same_state(learner, before)


def test_batches_take_the_general_path() -> None:
    learner = ob.create("oja", backend="numba", n_components=K, step_size=0.01, batch_size=2).partial_fit(rows(4))
    assert learner.live_state.bound is None
    assert learner.learn_one(rows(1)[0]).n_samples_seen_ == 5

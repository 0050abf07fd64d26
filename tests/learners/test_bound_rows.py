"""After the first rows, Numba's kernels learn rows of one output by functions that are bound to the state's arrays."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.conformance.inspection import with_kernel

Same = Callable[[ob.Learner, ob.Learner], None]
D = 3
METHODS = ["lms", "nlms", "one_step_sgd", "sgd", "rls", "ridge", "icl", "ogd", "orfit", "apa"]
each_method = pytest.mark.parametrize("method", METHODS)


def create(method: str, dtype: str = "float64", **settings: Any) -> Any:
    return ob.create(method, backend="numba", dtype=dtype, **settings)


def begun(method: str, dtype: str = "float64", **settings: Any) -> Any:
    learner = create(method, dtype, **settings).partial_fit(np.eye(D), [1.0, 2.0, 3.0])
    assert learner.live_state.bound
    return learner


def make_rows(n: int, dtype: str = "float64", d: int = D, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)).astype(dtype), rng.standard_normal(n).astype(dtype)


def by_general_path(learner: Any, X: Any, y: Any) -> Any:
    """Lists are converted, which bound functions leave to the general path."""
    return learner.prequential(X.tolist(), y.tolist())


@pytest.mark.parametrize("method", [m for m in METHODS if m != "ridge"])  # ridge predicts a chunk in another way
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_chunks_have_the_result_of_the_general_path(method: str, dtype: str, same_state: Same) -> None:
    one, other, alone = begun(method, dtype), begun(method, dtype), begun(method, dtype)
    for n in (2, 7, 64):
        X, y = make_rows(n, dtype, seed=n)
        np.testing.assert_array_equal(one.prequential(X, y), by_general_path(other, X, y))
        alone.partial_fit(X, y)
    same_state(one, other)
    same_state(one, alone)
    assert one.n_samples_seen_ == D + 73


@each_method
@pytest.mark.parametrize("act", ["learn_one", "partial_fit"])
def test_one_row_has_the_result_of_the_general_path(method: str, act: str, same_state: Same) -> None:
    one, other = begun(method), begun(method)
    X, y = make_rows(5)
    for i in range(5):
        other.partial_fit(X[i : i + 1].tolist(), y[i : i + 1].tolist())
        one.learn_one(X[i], y[i]) if act == "learn_one" else one.partial_fit(X[i : i + 1], y[i : i + 1])
    same_state(one, other)


def test_solved_weights_are_those_of_the_last_row() -> None:
    learner, (X, y) = begun("ridge"), make_rows(5)
    for i in range(5):
        before = learner.predict_one(X[i])
        learner.learn_one(X[i], y[i])
        after = learner.predict_one(X[i])
        assert abs(after - y[i]) < abs(before - y[i])


@each_method
def test_a_copy_and_a_restored_learner_are_independent(method: str, same_state: Same) -> None:
    learner, (X, y) = begun(method), make_rows(4)
    copies = [learner.copy(), ob.from_bytes(learner.to_bytes())]
    before = learner.copy()
    for copied in copies:
        copied.learn_one(X[0], y[0]).partial_fit(X[1:], y[1:])
        same_state(learner, before)
    learner.learn_one(X[0], y[0]).partial_fit(X[1:], y[1:])
    for copied in copies:
        same_state(learner, copied)


@each_method
def test_a_state_of_another_learner_is_learned_by_its_own_settings(method: str, same_state: Same) -> None:
    changed = {"rls": "forgetting_factor", "ridge": "forgetting_factor", "lms": "step_size", "nlms": "step_size"}
    changed |= {"sgd": "step_size", "ogd": "step_size"}
    setting = {changed[method]: 0.5} if method in changed else {}
    one, other, (X, y) = begun(method, **setting), begun(method, **setting), make_rows(4)
    one.live_state = begun(method).live_state
    one.partial_fit(X, y)
    other.live_state = begun(method).live_state
    by_general_path(other, X, y)
    same_state(one, other)


@each_method
def test_views_and_read_only_rows(method: str, same_state: Same) -> None:
    one, other, (X, y) = begun(method), begun(method), make_rows(6)
    locked = X.copy(), y.copy()
    for array in locked:
        array.setflags(write=False)
    one.partial_fit(X, y).learn_one(X[0], 0.5).learn_one(X[0], 0.5)
    other.partial_fit(*locked).learn_one(np.repeat(X[0], 2)[::2], 0.5).learn_one(locked[0][0], np.float32(0.5))
    same_state(one, other)
    one.partial_fit(np.repeat(X, 2, axis=1)[:, ::2], np.repeat(y, 2)[::2])
    other.partial_fit(np.asfortranarray(X), y)
    same_state(one, other)


@each_method
@pytest.mark.parametrize("bad", ["X is nan", "X is inf", "y is nan", "y is inf", "columns", "rows", "complex", "text"])
def test_bad_chunks_are_refused_as_by_the_general_path(method: str, bad: str, same_state: Same) -> None:
    learner, fresh, (X, y) = begun(method), begun(method), make_rows(5)
    before = learner.copy()
    value = {"nan": np.nan, "inf": np.inf}.get(bad.split()[-1])
    if bad[0] == "X":
        X[3, 1] = value
    elif bad[0] == "y":
        y[3] = value
    else:
        X, y = {"columns": (X[:, :2], y), "rows": (X, y[:4]), "complex": (X, 1j * y), "text": (X, y.astype(str))}[bad]
    with pytest.raises((ValueError, TypeError)) as wanted:
        fresh.partial_fit([list(x) for x in X], y.tolist())
    for act in (learner.partial_fit, learner.prequential):
        with pytest.raises(type(wanted.value)) as found:
            act(X, y)
        if bad[0] in "Xy":
            assert str(found.value) == str(wanted.value)
    same_state(learner, before)


@pytest.mark.parametrize("method", ["lms", "sgd", "rls"])
@pytest.mark.parametrize("place", [0, 2])
def test_a_row_that_diverges_in_a_chunk_is_named(method: str, place: int, same_state: Same) -> None:
    learner, other, (X, y) = begun(method), begun(method), make_rows(4)
    X[place], y[place] = 1e300, 1e300
    with pytest.raises(ob.DivergedError) as found:
        learner.partial_fit(X, y)
    with pytest.raises(ob.DivergedError) as wanted:
        by_general_path(other, X, y)
    assert (found.value.step, found.value.row) == (wanted.value.step, wanted.value.row) == (D + place + 1, place)
    same_state(learner, other)
    assert learner.n_samples_seen_ == D + place


@each_method
@pytest.mark.parametrize("rows", [1, 4])
def test_a_learner_that_learns_in_another_thread_refuses_rows(method: str, rows: int, same_state: Same) -> None:
    learner, (X, y) = begun(method), make_rows(rows)
    before = learner.copy()
    learner.live_state.permit.pop()  # like a thread that learns
    for call in (lambda: learner.partial_fit(X, y), lambda: learner.learn_one(X[0], y[0])):
        errors: list[BaseException] = []

        def act(call: Callable[[], Any] = call, errors: list[BaseException] = errors) -> None:
            try:
                call()
            except RuntimeError as error:
                errors.append(error)

        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
        assert "learning in another thread" in str(errors[0])
    learner.live_state.permit.append(None)
    same_state(learner, before)


def test_lost_precision_is_reported_once() -> None:
    learner, (X, y) = begun("rls"), make_rows(4)
    learner.live_state.arrays.precision_lost[...] = 1
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(3):
            learner.partial_fit(X, y)
    assert [w.category for w in found] == [ob.AccuracyWarning]
    assert found[0].filename == __file__


@pytest.mark.parametrize("forgetting_factor", [1.0, 0.9, 1.1])
@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e7])
def test_rows_that_are_not_clearly_safe_are_learned_with_all_checks(scale: float, forgetting_factor: float) -> None:
    """Small, large and repeated rows: those left by the function for few features are learned by the general kernel."""
    settings = {"forgetting_factor": forgetting_factor, "ridge": 1e-3}
    learner = begun("rls", **settings)
    reference = ob.create("rls", backend="numpy", **settings).partial_fit(np.eye(D), [1.0, 2.0, 3.0])
    X, y = make_rows(40)
    X[10:20] *= scale
    X[20:30] = X[19]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.AccuracyWarning)
        found, wanted = learner.prequential(X, y), reference.prequential(X, y)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


@each_method
def test_integers_are_targets_as_floats_are(method: str, same_state: Same) -> None:
    one, other, x = begun(method), begun(method), make_rows(1)[0][0]
    same_state(one.learn_one(x, 3), other.learn_one(x, 3.0))
    before = one.copy()
    with pytest.raises(ValueError, match="2\\^53"):
        one.learn_one(x, 2**53 + 1)
    same_state(one, before)


class RefusesTheThird:
    """The kernel of a filter with a function for chunks, which learns two rows and refuses the next one."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def bind_rows(self, s: Any, p: Any) -> Any:
        return lambda X, y, out: 2


def test_a_state_that_moved_is_marked_by_single_rows_and_before_a_refusal() -> None:
    X, y = make_rows(4)
    alone = create("kalman", process_noise=0.1)
    for x, target in zip(X, y.tolist(), strict=True):
        alone.learn_one(x, target)
    assert alone.state().moved == 1
    refusing = with_kernel(create("kalman", process_noise=0.1), RefusesTheThird).partial_fit(X[:1], y[:1])
    assert refusing.state().moved == 0
    with pytest.raises(ob.DivergedError) as info:
        refusing.partial_fit(X, y)
    assert info.value.row == 2
    assert refusing.state().moved == 1


MOTIONS: dict[str, dict[str, Any]] = {
    "at rest": {},
    "process noise": {"process_noise": 0.1},
    "a number": {"transition": 0.9},
    "a matrix": {"transition": 0.9 * np.eye(D) + 0.01, "process_noise": 0.1 * np.eye(D)},
}


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_chunks_of_a_filter_have_the_result_of_the_general_path(motion: str, dtype: str, same_state: Same) -> None:
    one, other, alone = (create("kalman", dtype, **MOTIONS[motion]) for _ in range(3))
    for n in (1, 2, 7, 64):
        X, y = make_rows(n, dtype, seed=n)
        np.testing.assert_array_equal(one.prequential(X, y), by_general_path(other, X, y))
        alone.partial_fit(X, y)
    assert one.live_state.bound
    same_state(one, other)
    same_state(one, alone)


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_gap_in_a_chunk_of_a_filter_is_learned_by_the_general_path(motion: str, same_state: Same) -> None:
    one, other = (create("kalman", **MOTIONS[motion]).partial_fit(*make_rows(3)) for _ in range(2))
    X, y = make_rows(9, seed=1)
    y[4] = np.nan
    np.testing.assert_array_equal(one.prequential(X, y), by_general_path(other, X, y))
    same_state(one, other)
    X[2, 1] = np.inf
    with pytest.raises(ValueError, match=r"X\[2, 1\] is inf"):
        one.partial_fit(X, np.ones(9))
    same_state(one, other)

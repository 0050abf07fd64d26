"""Calls of a fleet with a row for each member, which a kernel learns by a function bound to the arrays of the state."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob
from orfit_bench.learners.fleets import bound_members

SIZE, D = 5, 3
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("lms", {"step_size": [0.1, 0.2, 0.05, 0.01, 0.3]}),
    ("nlms", {"step_size": 0.5}),
    ("rls", {"forgetting_factor": [1.0, 0.99, 0.9, 1.01, 0.95]}),
    ("sgd", {"step_size": [0.1, 0.2, 0.05, 0.01, 0.3]}),
]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def rows(rng: np.random.Generator, dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((SIZE, 1, D)).astype(dtype), rng.standard_normal((SIZE, 1)).astype(dtype)


def bound_fleet(rng: np.random.Generator, method: str = "rls", dtype: str = "float64", **settings: Any) -> Any:
    """A fleet whose next call with a row for each member is learned by the bound function."""
    fleet = ob.fleet(method, SIZE, backend="numba", dtype=dtype, **settings).partial_fit(*rows(rng, dtype))
    assert fleet.live_state.bound is not bound_members.leave_all
    return fleet


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("method", "settings"), SETTINGS)
def test_the_result_is_that_of_the_general_path(
    method: str, settings: dict[str, Any], dtype: str, rng: np.random.Generator
) -> None:
    fleet = bound_fleet(rng, method, dtype, **settings)
    other = ob.from_bytes(fleet.to_bytes())
    for turn in range(6):
        X, y = rows(rng, dtype)
        general = X.tolist() if dtype == "float64" else np.asfortranarray(X)[..., ::-1][..., ::-1]
        if turn % 2:
            assert np.array_equal(fleet.prequential(X, y), other.prequential(general, y))
        else:
            assert fleet.partial_fit(X, y) is fleet
            other.partial_fit(general, y)
        assert fleet.to_bytes() == other.to_bytes()
    assert fleet.n_samples_seen_.tolist() == [7] * SIZE


@pytest.mark.parametrize("method", ["lms", "nlms", "rls", "sgd"])
@pytest.mark.parametrize("place", ["X", "y"])
@pytest.mark.parametrize("member", [0, SIZE - 1])
def test_numbers_that_are_not_finite_change_nothing(
    method: str, place: str, member: int, rng: np.random.Generator
) -> None:
    fleet = bound_fleet(rng, method)
    before = fleet.to_bytes()
    X, y = rows(rng)
    (X if place == "X" else y)[member, 0] = np.nan
    with pytest.raises(ValueError, match=rf"{place}\[{member}, 0"):
        fleet.partial_fit(X, y)
    assert fleet.to_bytes() == before


@pytest.mark.parametrize("method", ["lms", "nlms", "rls", "sgd"])
@pytest.mark.parametrize("member", [0, 2, SIZE - 1])
def test_a_member_that_diverges_is_named_and_the_others_learn(
    method: str, member: int, rng: np.random.Generator
) -> None:
    settings = {"initial_weights": np.full((D, 1), 1e300)} if method == "nlms" else {}
    fleet = bound_fleet(rng, method, **settings)
    alone = list(fleet)
    X, y = rows(rng)
    X[member] = 1e300
    for i, learner in enumerate(alone):
        if i != member:
            learner.partial_fit(X[i], y[i])
    with pytest.raises(ob.DivergedError) as error:
        fleet.partial_fit(X, y)
    assert error.value.members == (member,)
    assert fleet.n_samples_seen_.tolist() == [2 - (i == member) for i in range(SIZE)]
    for one, other in zip(fleet, alone, strict=True):
        assert one.n_samples_seen_ == other.n_samples_seen_
        assert np.allclose(one.array("w"), other.array("w"), rtol=1e-12, atol=0)


def test_predictions_of_members_that_the_function_leaves_are_returned(rng: np.random.Generator) -> None:
    fleet = bound_fleet(rng, "rls", ridge=1e-3)
    other = ob.from_bytes(fleet.to_bytes())
    X, y = rows(rng)
    X[2] *= 1e6  # costs half of the digits
    with pytest.warns(ob.AccuracyWarning, match=r"1 members of the fleet \(2\)"):
        got = fleet.prequential(X, y)
    with pytest.warns(ob.AccuracyWarning, match=r"1 members of the fleet \(2\)"):
        want = other.prequential(X.tolist(), y)
    assert np.allclose(got, want, rtol=1e-12)
    assert fleet.state()["precision_lost"].values.tolist() == [0, 0, 1, 0, 0]
    assert np.allclose(fleet.state()["P"], other.state()["P"], rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:rls, 1 members of the fleet:orfit_bench.AccuracyWarning")
def test_steps_of_members_that_the_function_leaves_are_counted_once(rng: np.random.Generator) -> None:
    fleet = bound_fleet(rng, "rls", ridge=1e-6)
    X, y = rows(rng)
    X[3] *= 1e3
    for _ in range(3):
        fleet.partial_fit(X, y)
    assert fleet.live_state.bound(fleet.live_state, X, y, None) == 3
    assert fleet.live_state.most_steps == 5


def test_rows_without_names_after_a_table_are_warned_of(rng: np.random.Generator) -> None:
    fleet = bound_fleet(rng, "lms")
    table = pd.DataFrame(rng.standard_normal((SIZE, D)), columns=list("abc"))
    with pytest.warns(UserWarning, match="names"):
        fleet.partial_fit(table, rng.standard_normal(SIZE), which=np.arange(SIZE))
    X, y = rows(rng)
    before = fleet.n_samples_seen_
    fleet.partial_fit(X, y)
    assert (fleet.n_samples_seen_ == before + 1).all()


def test_long_sums_are_warned_of(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("fleets.bound_members", "fleets.accuracy", "rule"):
        monkeypatch.setattr(f"orfit_bench.learners.{module}.steps_until_half", lambda dtype: 9.0)
    fleet, forgets, plain = bound_fleet(rng), bound_fleet(rng, forgetting_factor=0.5), bound_fleet(rng, "lms")
    chunk = rng.standard_normal((SIZE, 5, D)), rng.standard_normal((SIZE, 5))
    for one in (fleet, forgets, plain):
        one.partial_fit(*chunk)
        for _ in range(3):
            one.partial_fit(*rows(rng))
    for one in (forgets, plain):  # neither adds up long sums
        assert one.live_state.bound(one.live_state, *rows(rng), None) == SIZE
    with pytest.warns(ob.AccuracyWarning, match="5 members"):
        fleet.partial_fit(*rows(rng))
    assert fleet.state()["precision_lost"].values.tolist() == [1] * SIZE


def test_a_schedule_takes_the_general_path(rng: np.random.Generator) -> None:
    fleet = ob.fleet("lms", SIZE, backend="numba", step_size=ob.schedules.power(0.5, 1.0))
    other = ob.fleet("lms", SIZE, backend="numpy", step_size=ob.schedules.power(0.5, 1.0))
    for _ in range(4):
        X, y = rows(rng)
        fleet.partial_fit(X, y)
        other.partial_fit(X, y)
    assert fleet.live_state.bound is bound_members.leave_all
    assert np.allclose(fleet.state()["w"], other.state()["w"])


def test_members_change_after_the_function_was_bound(rng: np.random.Generator) -> None:
    fleet = bound_fleet(rng, "lms", step_size=[0.1, 0.2, 0.3, 0.4, 0.5])
    single = fleet[4]
    fleet.remove([0, 1, 2])
    X, y = rows(rng)
    for _ in range(3):
        fleet.partial_fit(X[3:], y[3:])
        single.partial_fit(X[4], y[4])
    assert fleet[1].state().equals(single.state())
    copy = fleet.copy()
    before = copy.to_bytes()
    fleet.partial_fit(X[3:], y[3:])
    assert copy.to_bytes() == before


def test_an_error_of_the_function_marks_the_state(rng: np.random.Generator) -> None:
    fleet = bound_fleet(rng, "lms")

    def fail(*given: object) -> int:
        raise KeyboardInterrupt

    fleet.live_state.bound = bound_members.bound_to_state(fleet.live_state, fleet.dtype, np.inf, fail)
    with pytest.raises(KeyboardInterrupt):
        fleet.partial_fit(*rows(rng))
    with pytest.raises(RuntimeError, match="KeyboardInterrupt interrupted its kernel"):
        fleet.partial_fit(*rows(rng))


def test_a_second_thread_is_refused(rng: np.random.Generator) -> None:
    fleet, begun, finish = bound_fleet(rng, "lms"), threading.Event(), threading.Event()

    def wait(X: Any, y: Any, out: Any) -> int:
        begun.set()
        finish.wait(10)
        return SIZE

    fleet.live_state.bound = bound_members.bound_to_state(fleet.live_state, fleet.dtype, np.inf, wait)
    thread = threading.Thread(target=fleet.partial_fit, args=rows(rng))
    thread.start()
    begun.wait(10)
    with pytest.raises(RuntimeError, match="another thread"):
        fleet.partial_fit(*rows(rng))
    finish.set()
    thread.join()
    assert fleet.n_samples_seen_.tolist() == [2] * SIZE


def test_arrays_that_were_pickled_are_learned_by_the_function(rng: np.random.Generator) -> None:
    fleet = bound_fleet(rng, "lms")
    X, y = pickle.loads(pickle.dumps(rows(rng)))
    assert X.dtype is not fleet.dtype
    assert fleet.live_state.bound(fleet.live_state, X, y, None) == SIZE


def test_a_count_of_more_rows_than_members_is_refused(rng: np.random.Generator) -> None:
    fleet = bound_fleet(rng, "lms")
    state = fleet.live_state
    state.bound = bound_members.bound_to_state(state, fleet.dtype, np.inf, lambda X, y, out: SIZE + 1)
    with pytest.raises(ValueError, match="returned 6, want at most 5"):
        fleet.partial_fit(*rows(rng))

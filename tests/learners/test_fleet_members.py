"""Members that join a fleet, and what is refused because its meaning for members is unclear."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob

rng = np.random.default_rng(3)
BACKENDS = ["numpy", "numba"]
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("lms", {}),
    ("apa", {}),
    ("rls", {}),
    ("rls", {"forgetting_factor": 0.0}),
    ("ridge", {}),
    ("kalman", {}),
    ("class_rls", {}),
    ("oja", {"n_components": 2}),
]


def learn(learner: Any, rows: int, labels: str = "abc") -> Any:
    X = rng.standard_normal((rows, 4))
    if learner.method.name == "oja":
        return learner.partial_fit(X)
    y = rng.choice(list(labels), rows) if learner.method.traits.labels else rng.standard_normal(rows)
    return learner.partial_fit(X, y)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("method", "settings"), METHODS)
def test_learners_that_join_are_as_they_were(method: str, settings: dict[str, Any], backend: str) -> None:
    old = [learn(ob.create(method, backend=backend, **settings), n, "ab") for n in (3, 1)]
    new = [learn(ob.create(method, backend=backend, **settings), n, "cbd") for n in (5, 2)]
    new.insert(1, ob.create(method, backend=backend, **settings))  # has seen no row
    fleet = ob.stack(old).add(new[0]).add(new[1:])
    assert ob.stack(old).add(ob.stack(new)).to_bytes() == fleet.to_bytes()
    for member, learner in zip(fleet, old + new, strict=True):
        assert member.n_samples_seen_ == learner.n_samples_seen_
        if learner.n_samples_seen_:
            assert member.state().equals(learner.state())


def test_the_first_learner_with_rows_joins_a_new_fleet() -> None:
    fleet = ob.fleet("class_rls", 2, backend="numpy").add(learn(ob.create("class_rls", backend="numpy"), 4))
    assert fleet.n_samples_seen_.tolist() == [0, 0, 4]
    assert len(ob.fleet("class_rls", 2).add([])) == 2


def test_a_learner_of_other_sizes_cannot_join() -> None:
    fleet = ob.stack([learn(ob.create("rls"), 3)])
    other = ob.create("rls").partial_fit(np.ones((2, 3)), np.ones((2, 2)))
    before = fleet.to_bytes()
    with pytest.raises(ValueError, match=r"X \(n, 4\) with y \(n,\) and X \(n, 3\) with y \(n, 2\)"):
        fleet.add(other)
    assert fleet.to_bytes() == before


@pytest.mark.parametrize("wrong", [None, 1, "rls", [None], ob.pipeline("standardize", ob.create("rls"))])
def test_only_learners_join(wrong: Any) -> None:
    for verb in (ob.fleet("rls", 2).add, ob.stack):
        with pytest.raises(TypeError, match=r"(add|stack): got a \w+( among them)?, want learners"):
            verb(wrong)
    with pytest.raises(TypeError, match=r"index 1\.0, want an integer"):
        ob.fleet("rls", 2).remove(1.0)  # type: ignore[arg-type]


def test_an_interrupted_learner_cannot_join() -> None:
    learner = learn(ob.create("rls"), 3)
    learner.live_state.interrupted = "KeyboardInterrupt"
    for verb in (ob.fleet("rls", 2).add, ob.stack):
        with pytest.raises(RuntimeError, match="KeyboardInterrupt interrupted its kernel"):
            verb([learner])


def test_masked_labels_and_members_are_refused() -> None:
    X, mask = np.ones((4, 2)), [0, 0, 1, 1]
    with pytest.raises(TypeError, match="y: got a masked array"):
        ob.fleet("class_rls", 3).partial_fit([X] * 3, np.ma.array([[1, 1, 9, 9]] * 3, mask=[mask] * 3))
    with pytest.raises(TypeError, match="which: got a masked array"):
        ob.fleet("lms", 3).partial_fit(X, np.ones(4), which=np.ma.array([0, 1, 2, 2], mask=mask))


def test_a_list_of_tables_is_refused() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]})
    with pytest.raises(TypeError, match="X: got a list of tables, whose columns may come in different orders"):
        ob.fleet("rls", 2).partial_fit([table, table[["b", "a"]]], np.ones((2, 2)))
    with pytest.raises(TypeError, match="y: got a list of tables"):
        ob.fleet("rls", 2).partial_fit(np.ones((2, 2, 3)), [table, table])


def test_an_array_for_all_or_a_row_for_each() -> None:
    M = np.arange(9.0).reshape(3, 3)
    with pytest.raises(ValueError, match=r"initial_mean: an array of shape \(3, 3\) may be a matrix for all"):
        ob.fleet("kalman", 3, initial_mean=M)
    assert (ob.fleet("kalman", 2, initial_mean=M)[1].rule.settings["initial_mean"] == M).all()
    basis = np.eye(3)[:, :2]
    with pytest.raises(ValueError, match=r"pass \[initial_basis\] \* 3 for a value that all share"):
        ob.fleet("oja", 3, n_components=2, initial_basis=basis).partial_fit(np.ones((3, 4, 3)))
    fleet = ob.fleet("oja", 3, n_components=2, initial_basis=[basis] * 3)
    assert len(fleet.partial_fit(rng.standard_normal((3, 4, 3)))) == 3


def test_a_wrong_shape_of_targets_is_named_as_it_came() -> None:
    fleet = ob.fleet("rls", 3).partial_fit(np.ones((3, 4, 2)), np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"y: got shape \(3, 4, 2\), want \(3, 4\) as in the first call"):
        fleet.partial_fit(np.ones((3, 4, 2)), np.ones((3, 4, 2)))


def test_a_warning_names_the_line_of_the_caller() -> None:
    fleet = ob.fleet("rls", 2, backend="numpy").partial_fit(np.ones((2, 1, 2)), np.ones((2, 1)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fleet.partial_fit(np.full((2, 1, 2), 1e6), np.ones((2, 1)))
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("given", ["learner", "fleet"])
@pytest.mark.parametrize(
    ("method", "name", "gone", "left"),
    [("rls", "forgetting_factor", 0.5, 0.99), ("lms", "step_size", 0.5, 0.01), ("kalman", "process_noise", 1.0, 0.1)],
)
def test_members_that_join_do_not_get_the_setting_of_one_that_left(
    method: str, name: str, gone: float, left: float, given: str
) -> None:
    fleet = ob.fleet(method, 3, backend="numpy", **{name: [gone, left, left]}).remove(0)
    alone = ob.create(method, backend="numpy", **{name: left})
    fleet.add(alone if given == "learner" else ob.fleet(method, 1, backend="numpy", **{name: left}))
    X, y = rng.standard_normal((3, 9, 2)), rng.standard_normal((3, 9))
    fleet.partial_fit(X, y)
    for i, member in enumerate(fleet):
        want = alone.copy().partial_fit(X[i], y[i]).predict(X[i])
        np.testing.assert_allclose(member.predict(X[i]), want, rtol=1e-9, atol=1e-12)


def test_members_keep_their_seeds() -> None:
    fleet = ob.fleet("oja", 3, backend="numpy", n_components=1, random_state=[5, 7, 7]).remove(0)
    fleet.add(ob.create("oja", backend="numpy", n_components=1, random_state=7))
    assert [member.random_state for member in fleet] == [7, 7, 7]


def test_labels_of_different_kinds_are_not_joined() -> None:
    X, y = rng.standard_normal((9, 2)), np.arange(9) % 2
    truth, numbers = (ob.create("class_rls", backend="numpy").partial_fit(X, labels) for labels in (y > 0, y))
    match = "fleet: the learners' labels are of different kinds: bool, int"
    with pytest.raises(ValueError, match=match):
        ob.stack([truth, numbers])
    fleet = ob.stack([truth])
    with pytest.raises(ValueError, match=match):
        fleet.add(numbers)
    assert (len(fleet), fleet.classes_.tolist()) == (1, [False, True])
    one, other = (ob.fleet("class_rls", 2, backend="numpy") for _ in range(2))
    one.partial_fit(X, y > 0, which=[0] * 9)
    other.partial_fit(X, y, which=[1] * 9)
    with pytest.raises(ValueError, match=match):
        one.merge(other)

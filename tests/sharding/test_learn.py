"""One learner from shards: equal to one that learned all rows, whatever is cut where and whatever dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.jobs.processes import DiedError
from orfit_bench.sharding.learn import merge_neighbours

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4))
y = X @ [1.0, -2.0, 3.0, 0.5] + 0.1 * RNG.standard_normal(120)
TABLE = pd.DataFrame(X, columns=list("abcd"))
HERE: dict[str, Any] = {"workers": 1, "backend": "numpy"}


def cut(*places: int) -> list[tuple[Any, Any]]:
    return list(zip(np.split(X, places), np.split(y, places), strict=True))


def in_order(method: str, **more: Any) -> Any:
    return ob.create(method, backend="numpy", **more).partial_fit(X, y)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(0, 120), max_size=20),
    st.sampled_from([{}, {"forgetting_factor": 0.97}, {"forgetting_factor": 1.01}]),
    st.sampled_from(["rls", "ridge"]),
)
def test_any_partition_gives_what_one_learner_learns(places: list[int], more: dict[str, Any], method: str) -> None:
    found = ob.learn(method, cut(*sorted(places)), **HERE, **more)
    want = in_order(method, **more)
    np.testing.assert_allclose(found.predict(np.eye(4)), want.predict(np.eye(4)), rtol=1e-9)
    assert found.n_samples_seen_ == 120


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 63, 64, 65, 600])
def test_neighbours_are_merged_in_their_order_and_few_wait(n: int) -> None:
    most = 0

    def merge(parts: list[str]) -> str:
        nonlocal most
        most = max(most, len(parts))
        return "".join(parts)

    assert merge_neighbours((f"{i}," for i in range(n)), merge) == "".join(f"{i}," for i in range(n))
    assert most <= 8 + 7


def test_classes_may_appear_in_any_shard() -> None:
    labels = np.where(y > 0, "up", "down")
    labels[100:] = "late"
    shards = list(zip(np.split(X, 6), np.split(labels, 6), strict=True))
    found = ob.learn("class_rls", shards, **HERE)
    want = ob.create("class_rls", backend="numpy").partial_fit(X, labels)
    np.testing.assert_allclose(found.predict_proba(X), want.predict_proba(X), rtol=1e-8)
    assert list(found.classes_) == list(want.classes_)


def function_shard() -> tuple[Any, Any]:
    return X[40:80], y[40:80]


def iterated_shard() -> Any:
    return iter([(X[80:100], y[80:100]), (X[100:], y[100:])])


def test_shards_are_arrays_tables_files_and_callables(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=names).assign(t=y)
    frame[20:40].to_csv(tmp_path / "rows.csv", index=False)
    found = ob.learn("rls", [frame[:20], tmp_path / "rows.csv", frame[40:]], target="t", **HERE)
    assert list(found.feature_names_in_) == names
    eye = pd.DataFrame(np.eye(4), columns=names)
    np.testing.assert_allclose(found.predict(eye), in_order("rls").predict(np.eye(4)), rtol=1e-9)
    found = ob.learn("rls", [(X[:40], y[:40]), function_shard, iterated_shard], **HERE)
    np.testing.assert_allclose(found.predict(np.eye(4)), in_order("rls").predict(np.eye(4)), rtol=1e-9)


def test_rounds_of_averaging_are_what_average_does() -> None:
    shards = cut(40, 80)
    found = ob.learn("lms", shards, rounds=2, step_size=0.05, **HERE)
    learners = [ob.create("lms", backend="numpy", step_size=0.05).partial_fit(a[:20], b[:20]) for a, b in shards]
    ob.average(learners)
    first, *others = [one.partial_fit(a[20:], b[20:]) for one, (a, b) in zip(learners, shards, strict=True)]
    for other in others:
        first.merge(other)
    np.testing.assert_allclose(found.predict(np.eye(4)), first.predict(np.eye(4)), rtol=1e-12)
    assert found.n_samples_seen_ == 120


def test_a_file_without_rows_takes_part_in_averages(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    for i, part in enumerate((table, table[:0])):
        part.to_parquet(tmp_path / f"{i}.parquet", index=False)
    files = [str(tmp_path / f"{i}.parquet") for i in range(2)]
    more = {"rounds": 2, "target": "y", "workers": 1, "backend": "numpy"}
    found, want = (ob.learn("lms", shards, **more) for shards in (files, [table, table[:0]]))
    assert found.n_samples_seen_ == 3
    np.testing.assert_array_equal(found.array("w"), want.array("w"))


def test_a_subspace_is_learned_from_shards_of_rows() -> None:
    found = ob.learn("incremental_pca", [X[:60], X[60:]], n_components=2, **HERE)
    assert found.n_samples_seen_ == 120


@pytest.mark.parametrize(
    ("method", "shards", "more", "message"),
    [
        ("lms", cut(60), {}, "merged by averaging.*set rounds"),
        ("rls", cut(60), {"rounds": 2}, "leave rounds out"),
        ("lms", cut(60), {"rounds": 0}, "want an integer >= 1"),
        ("rls", cut(60), {"model": ob.MLP((3,)), "initial_weights": np.zeros(19)}, "cannot be merged here"),
        ("rls", [], {}, "got no shards"),
        ("rls", "rows.csv", {}, "want a list of shards"),
        ("rls", [pd.DataFrame(X)], {"target": "t"}, "no column 't'"),
        ("rls", cut(60), {"client": 3}, "want a distributed.Client"),
        ("nothing", cut(60), {}, "no method 'nothing'"),
        ("rls", [X, X], {}, r"these rows have none: pass target=, .* or pairs \(X, y\)"),
        ("rls", [X, X], {"target": "t"}, r"a shard is a ndarray, which has no column 't': pass pairs"),
        (
            "rls",
            [(TABLE[:60], y[:60]), (TABLE[["a", "b"]][60:], y[60:])],
            {},
            "missing 'c', 'd'; want 'a', 'b', 'c', 'd'",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(method: str, shards: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ob.learn(method, shards, **{**HERE, **more})


def test_an_error_names_its_shard() -> None:
    with pytest.raises(ValueError, match="is nan") as raised:
        ob.learn("rls", [*cut(60), (np.full((2, 4), np.nan), [1.0, 2.0])], **HERE)
    assert raised.value.__notes__ == ["in shard 2"]


def in_other_order(tmp_path: Path, kind: str) -> list[Any]:
    """Two shards of TABLE and the column t, of which the second has its columns in another order."""
    tables = TABLE.assign(t=y)[:60], TABLE.assign(t=y)[["d", "t", "b", "c", "a"]][60:]
    if kind == "tables":
        return list(tables)
    if kind == "pairs":
        return [(table.drop(columns="t"), table["t"]) for table in tables]
    for i, table in enumerate(tables):
        table.to_csv(tmp_path / f"{i}.csv", index=False)
    return [str(tmp_path / f"{i}.csv") for i in range(2)]


@pytest.mark.parametrize("kind", ["tables", "pairs", "files"])
def test_columns_come_in_any_order(tmp_path: Path, kind: str) -> None:
    target = None if kind == "pairs" else "t"
    found = ob.learn("rls", in_other_order(tmp_path, kind), target=target, **HERE)
    assert found.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_allclose(found.predict(TABLE), in_order("rls").predict(X), rtol=1e-9)
    averaged = ob.learn("lms", in_other_order(tmp_path, kind), target=target, rounds=3, **HERE)
    sorted_columns = ob.learn("lms", cut(60), rounds=3, **HERE)
    np.testing.assert_allclose(averaged.predict(TABLE), sorted_columns.predict(X), rtol=1e-9)


def test_learners_that_know_their_columns_in_another_order_are_not_merged() -> None:
    one = ob.create("rls").partial_fit(TABLE[:60], y[:60])
    other = ob.create("rls").partial_fit(TABLE[["d", "b", "c", "a"]][60:], y[60:])
    with pytest.raises(
        ValueError, match=r"differ in feature names: .*; one must have learned its columns in the order"
    ):
        one.merge(other)


def test_files_that_hold_no_numbers_get_advice(tmp_path: Path) -> None:
    TABLE.assign(t=y, e="text").to_csv(tmp_path / "texts.csv", index=False)
    with pytest.raises(TypeError, match="'e': want numbers, got texts") as raised:
        ob.learn("rls", [str(tmp_path / "texts.csv")], target="t", **HERE)
    assert any("pass a function that reads and encodes" in note for note in raised.value.__notes__)


def dying_shard() -> tuple[Any, Any]:
    """The second shard; the first process that reads it dies."""
    marker = Path(os.environ["ORFIT_BENCH_TEST_MARKER"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return X[40:80], y[40:80]


@pytest.mark.slow
def test_a_process_that_dies_changes_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORFIT_BENCH_TEST_MARKER", str(tmp_path / "died"))
    shards = [(X[:40], y[:40]), dying_shard, (X[80:], y[80:])]
    found = ob.learn("rls", shards, workers=2, backend="numpy")
    assert (tmp_path / "died").exists()
    np.testing.assert_array_equal(found.predict(np.eye(4)), ob.learn("rls", cut(40, 80), **HERE).predict(np.eye(4)))


def ending_shard() -> tuple[Any, Any]:
    os._exit(3)


def learned_shard() -> tuple[Any, Any]:
    return X[:40], y[:40]


@pytest.mark.slow
def test_a_shard_that_ends_every_process_is_named() -> None:
    with pytest.raises(DiedError, match="shard 1: the process died 5 times while it learned this shard alone"):
        ob.learn("rls", [learned_shard, ending_shard, learned_shard], workers=2, backend="numpy")

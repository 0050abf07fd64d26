"""One learner from shards equals one that learned all rows, for any shards and any process that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from helpers.commands import wait_for
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.jobs.processes import DiedError
from orfit_bench.sharding.arguments import check_workers
from orfit_bench.sharding.learn import merge_neighbours

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4))
y = X @ [1.0, -2.0, 3.0, 0.5] + 0.1 * RNG.standard_normal(120)
TABLE = pd.DataFrame(X, columns=list("abcd"))
HERE: dict[str, Any] = {"workers": 1, "backend": "numpy"}


class Lazy(list[Any]):
    """Rows of a library whose tables become tables of pandas."""

    def to_pandas(self) -> pd.DataFrame:
        return pd.DataFrame(self)


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


@pytest.mark.parametrize("target", ["t", None])
def test_dropped_columns_are_not_learned(tmp_path: Path, target: str | None) -> None:
    """Identifiers and strings of tables and files, and of the rows of pairs."""
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=names)
    frame.insert(1, "id", np.arange(120))
    frame["who"] = "somebody"
    method, more = ("rls", {}) if target else ("incremental_pca", {"n_components": 2})
    tables = frame.assign(t=y) if target else frame
    tables[20:40].to_csv(tmp_path / "rows.csv", index=False)
    shards = [tables[:20], tmp_path / "rows.csv", lambda: iter([tables[40:60]]), tables[60:]]
    if target:
        shards[-1:] = [(frame[60:], y[60:])]
    found = ob.learn(method, shards, target=target, drop=["id", "who"], **more, **HERE)
    assert list(found.feature_names_in_) == names
    plain = [(X[a:b], y[a:b]) if target else X[a:b] for a, b in ((0, 20), (20, 40), (40, 60), (60, 120))]
    want = ob.learn(method, plain, **more, **HERE)
    assert found.n_samples_seen_ == 120
    for field in found.state().data_vars:
        np.testing.assert_allclose(found.array(field), want.array(field), rtol=1e-9, atol=1e-12)


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


@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
@pytest.mark.parametrize("sizes", [(20, 30, 1, 15), (3, 2), (1, 5), (7, 100)])
def test_each_mean_counts_the_rows_since_the_last_one(rounds: int, sizes: tuple[int, ...]) -> None:
    """Compared with LMS in plain NumPy, for shards some of which learn no row in a round."""
    rng, true = np.random.default_rng(7), np.array([1.0, -2.0, 0.01, 0.5])
    shards = [(rows, rows @ true) for rows in (rng.standard_normal((n, 4)) for n in sizes)]
    w, step = np.zeros(4), 0.05
    for done in range(rounds):
        learned, counts = [], []
        for rows, targets in shards:
            part = slice(len(rows) * done // rounds, len(rows) * (done + 1) // rounds)
            own = w
            for x, target in zip(rows[part], targets[part], strict=True):
                own = own + step * (target - own @ x) * x
            learned.append(own)
            counts.append(len(rows[part]))
        w = np.average(learned, axis=0, weights=counts) if any(counts) else w
    found = ob.learn("lms", shards, rounds=rounds, step_size=step, **HERE)
    np.testing.assert_allclose(found.array("w").ravel(), w, rtol=1e-10)
    assert found.n_samples_seen_ == sum(sizes)


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
        ("rls", {"a": (X, y)}, {}, "got dict, want a list of shards"),
        ("rls", xr.Dataset.from_dataframe(TABLE), {}, "got Dataset, want a list of shards"),
        ("rls", [xr.Dataset.from_dataframe(TABLE)], {"target": "a"}, r"a shard is a Dataset, .*pass .to_dataframe\(\)"),
        ("rls", [pl.DataFrame(X).lazy()], {"target": "a"}, r"a shard is a LazyFrame, .*collect it with .collect\(\)"),
        ("rls", [Lazy(X)], {"target": "a"}, r"a shard is a Lazy, want a table in memory: .*such as .to_pandas\(\)"),
        ("rls", (X, y), {}, r"got a pair \(X, y\), want a list of shards: \[\(X, y\)\]"),
        ("rls", (TABLE[["a"]], TABLE["b"]), {}, r"got a pair \(X, y\), want a list of shards: \[\(X, y\)\]$"),
        ("rls", [pd.DataFrame(X)], {"target": "t"}, "no column 't'"),
        ("rls", cut(60), {"client": 3}, "want a distributed.Client"),
        (
            "rls",
            cut(60),
            {"client": type("Client", (), {"submit": None, "asynchronous": True})()},
            "got an asynchronous client",
        ),
        ("nothing", cut(60), {}, "no method 'nothing'"),
        ("rls", [X, X], {}, r"these rows have none: pass target=, .* or pairs \(X, y\)"),
        ("rls", [(X, y, y)], {}, r"a shard is a tuple of 3, want a pair \(X, y\)"),
        ("rls", [None], {}, "a shard is NoneType, want"),
        ("rls", [(X, y)], {"target": 4}, "target: got 4, want the name of a column"),
        ("rls", [(X, y)], {"target": []}, "target: got no names"),
        ("rls", [X, X], {"target": "t"}, r"a shard is a ndarray, which has no column 't': pass pairs"),
        ("rls", [(X, y)], {"drop": "t"}, "drop: got 't', want a list of names"),
        ("rls", [(X, y)], {"drop": ["t"]}, r"a shard is a ndarray, which has no column 't': leave it out there"),
        ("rls", [(TABLE, y)], {"drop": ["aa"]}, "a shard has no column 'aa'. Did you mean 'a'"),
        ("rls", [TABLE], {"target": "a", "drop": ["b", "a"]}, "drop: 'a' is a target"),
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


def test_an_error_about_the_columns_of_the_first_shard_names_it() -> None:
    for table in (TABLE.assign(d=pd.Timestamp("2020-01-01")), pd.concat([TABLE, TABLE[["b"]]], axis=1)):
        with pytest.raises((TypeError, ValueError)) as raised:
            ob.learn("rls", [table], target="a", **HERE)
        assert raised.value.__notes__ == ["in shard 0"]


def test_an_error_of_a_merge_names_the_shards() -> None:
    shards = [(np.ones((3, 4 if number == 10 else 2)), np.ones(3)) for number in range(12)]
    with pytest.raises(ValueError, match="differ in features: 2 and 4") as raised:
        ob.learn("rls", shards, **HERE)
    assert raised.value.__notes__ == ["when shard 10 was merged with shards 8 to 9"]
    with pytest.raises(ValueError, match="differ in features") as raised:
        ob.learn("rls", [shards[0], shards[10]], **HERE)
    assert raised.value.__notes__ == ["when shard 1 was merged with shard 0"]


@pytest.mark.parametrize("few", [0, 2])
def test_small_shards_count_by_their_rows_in_each_mean(few: int) -> None:
    shards = [(X, y), *[(X[:few], y[:few])] * 9]
    alone = ob.learn("lms", [(X, y)], rounds=1, step_size=0.02, **HERE).array("w")
    found = ob.learn("lms", shards, rounds=20, step_size=0.02, **HERE).array("w")
    np.testing.assert_allclose(found, alone, atol=0.1)  # with equal weights the error exceeds 1


def test_an_average_counts_rows() -> None:
    a, b = (ob.create("lms", backend="numpy", step_size=0.5).partial_fit([[1.0]], [t]) for t in (2.0, 4.0))
    ob.average([a, b], [3, 1])
    assert a.array("w").item() == b.array("w").item() == 1.25
    for rows in ([1], [0, 0], [2, -1]):
        with pytest.raises(ValueError, match="want 2 numbers >= 0, with one above 0"):
            ob.average([a, b], rows)


def test_shards_that_can_be_read_once_only_are_refused() -> None:
    with pytest.raises(TypeError, match="shard 1: got a generator, which can be read only once"):
        ob.learn("rls", [(X, y), (part for part in cut(60))], **HERE)
    once = iter(cut(60))
    with pytest.raises(ValueError, match=r"in round 2, but .* it must have the same rows whenever it is read"):
        ob.learn("lms", [lambda: once], rounds=3, **HERE)


def exiting_shard() -> None:
    sys.exit(5)


def failing_shard() -> None:
    raise RuntimeError("no disk")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_shard_that_exits_or_raises_does_not_end_the_caller(workers: int) -> None:
    with pytest.raises(RuntimeError, match=r"shard 1 called sys.exit\(5\)"):
        ob.learn("rls", [(X, y), exiting_shard], workers=workers, backend="numpy")
    with pytest.raises(RuntimeError, match="no disk") as raised:
        ob.learn("rls", [(X, y), failing_shard], workers=workers, backend="numpy")
    assert raised.value.__notes__ == ["in shard 1"]


@pytest.mark.parametrize("workers", [0, -1, 2.5, "2", True])
def test_the_number_of_workers_is_checked(workers: Any) -> None:
    with pytest.raises(ValueError, match="want an integer >= 1"):
        ob.learn("rls", cut(60), workers=workers)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_numbers_may_be_integers_of_numpy(kind: Callable[[int], Any]) -> None:
    found = ob.learn("lms", cut(60), rounds=kind(2), workers=kind(1), backend="numpy")
    want = ob.learn("lms", cut(60), rounds=2, **HERE)
    np.testing.assert_array_equal(found.array("w"), want.array("w"))
    for value in (np.bool_(True), kind(0), np.float64(2.0)):
        for name in ("rounds", "workers"):
            with pytest.raises(ValueError, match=f"{name}=.*: want an integer >= 1"):
                ob.learn("lms", cut(60), **{"rounds": 2, "workers": 1, name: value})


def test_a_kernel_that_processes_do_not_have_is_refused() -> None:
    kernel = SimpleNamespace(learn=lambda s, X, Y, p, out: len(X), LACKS={"models": "not needed"})
    plugin = SimpleNamespace(
        SPEC_VERSION=(1, 0),
        methods=ob.hookimpl(lambda: (replace(ob.methods()["lms"], name="own_lms"),)),
        kernels=ob.hookimpl(lambda: {("numpy", "own_lms"): kernel}),
    )
    ob.register(plugin, "own")
    try:
        shards = [(np.ones((2, 1)), np.ones(2))] * 2
        with pytest.raises(ValueError, match="'own_lms' was registered in this process"):
            ob.learn("own_lms", shards, rounds=1, workers=2, backend="numpy")
        assert ob.learn("own_lms", shards, rounds=1, workers=1, backend="numpy").n_samples_seen_ == 4
    finally:
        ob.unregister("own")


def test_what_cannot_be_sent_to_a_process_is_named() -> None:
    with pytest.raises(TypeError, match=r"shard 1: .* cannot be sent to a process .*: pass a function of a module"):
        ob.learn("rls", [(X, y), lambda: (X, y)], workers=2)
    with pytest.raises(TypeError, match=r"shard 0: .* cannot be sent to a process"):
        ob.learn("rls", [lambda: (X, y)], workers=2)
    with pytest.raises(TypeError, match="got DataFrame, want a list of shards"):
        ob.learn("rls", TABLE, target="a")


def test_shards_with_and_without_names_give_a_warning() -> None:
    with pytest.warns(UserWarning, match="some have names of columns and others none"):
        ob.learn("rls", [(X[:60], y[:60]), (TABLE[60:], y[60:])], **HERE)
    targets = pd.DataFrame({"u": y, "v": -2 * y})
    with pytest.warns(UserWarning, match="some have names of columns and others none"):
        ob.learn("rls", [(X[:60], targets[:60].to_numpy()), (X[60:], targets[60:])], **HERE)
    ob.learn("rls", [(X[:60, :1], y[:60]), (TABLE[["a"]][60:], y[60:])], **HERE)  # one column is in order


@pytest.mark.parametrize("as_shard", [pa.Table.from_pandas, pa.RecordBatch.from_pandas, pl.DataFrame, pd.DataFrame])
def test_targets_are_columns_of_any_table(as_shard: Callable[[Any], Any]) -> None:
    tables = [TABLE.assign(t=y)[:60], TABLE.assign(t=y)[60:]]
    found = ob.learn("rls", [as_shard(table) for table in tables], target="t", **HERE)
    assert found.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(found.array("w"), ob.learn("rls", cut(60), **HERE).array("w"))


def test_columns_of_pandas_may_have_numbers_as_labels() -> None:
    rows = pd.DataFrame(X).assign(t=y).set_axis([0, 1, 2, 3, 4], axis=1)
    found = ob.learn("rls", [rows[:60], rows[60:][[4, 2, 3, 0, 1]]], target="4", **HERE)
    assert not hasattr(found, "feature_names_in_")
    np.testing.assert_array_equal(found.array("w"), ob.learn("rls", cut(60), **HERE).array("w"))
    wrapped = ob.learn("rls", [narwhals.from_native(rows)], target="4", **HERE)
    np.testing.assert_allclose(wrapped.array("w"), found.array("w"))
    without = ob.learn("rls", [rows], target="4", drop=["0"], **HERE)
    assert without.feature_names_in_.tolist() == ["1", "2", "3"]


def test_names_that_occur_twice_are_refused() -> None:
    names = list("abat")
    for shard in (pd.DataFrame(X, columns=names), pa.table(list(map(pa.array, X.T)), names=names)):
        with pytest.raises(ValueError, match="a shard: got more than one column named 'a': rename or drop one"):
            ob.learn("rls", [shard], target="t", **HERE)


SLOW_SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
import orfit_bench as ob, slow_shards
if __name__ == "__main__":
    ob.learn("rls", [slow_shards.slow] * 4, workers=2, backend="numpy")
"""
SLOW_SHARDS = """
import os, pathlib, time
def slow():
    pathlib.Path({folder!r}, f"{{os.getpid()}}.pid").touch()
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_stays_when_the_caller_ends(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "main.py").write_text(SLOW_SCRIPT.format(folder=str(tmp_path)))
    (tmp_path / "slow_shards.py").write_text(SLOW_SHARDS.format(folder=str(tmp_path)))
    caller = subprocess.Popen([sys.executable, str(tmp_path / "main.py")], stderr=subprocess.DEVNULL)
    wait_for(lambda: len([*tmp_path.glob("*.pid")]) == 2)
    workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
    caller.send_signal(number)
    assert caller.wait(20) != 0
    wait_for(lambda: not any(map(is_alive, workers)), 20)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def in_other_order(tmp_path: Path, kind: str) -> list[Any]:
    """Two shards of TABLE and the column t; the second has its columns in another order."""
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


@pytest.mark.parametrize("rows", [TABLE, X], ids=["named", "plain"])
def test_columns_of_targets_come_in_any_order(rows: Any) -> None:
    Y = pd.DataFrame({"u": y, "v": -2 * y})
    shards = [(rows[:60], Y[:60]), (rows[60:], Y[["v", "u"]][60:])]
    found, want = ob.learn("rls", shards, **HERE), ob.create("rls").partial_fit(rows, Y)
    np.testing.assert_allclose(found.array("w"), want.array("w"), rtol=1e-9)
    with pytest.raises(ValueError, match="y: got other columns than in the first call, missing 'u'"):
        ob.learn("rls", [shards[0], (rows[60:], Y[["v"]][60:])], **HERE)


@pytest.mark.parametrize("of_first", [pd.DataFrame, np.asarray], ids=["table", "array"])
@pytest.mark.parametrize("rounds", [None, 2])
def test_numbered_columns_come_in_any_order(of_first: Any, rounds: int | None) -> None:
    rows, Y = pd.DataFrame(X), pd.DataFrame({0: y, 1: -2 * y})
    method = "rls" if rounds is None else "lms"
    sorted_columns, other_order = (
        ob.learn(method, [(of_first(rows[:60]), of_first(Y[:60])), second], rounds=rounds, **HERE)
        for second in ((rows[60:], Y[60:]), (rows[60:][[2, 3, 0, 1]], Y[60:][[1, 0]]))
    )
    np.testing.assert_array_equal(other_order.array("w"), sorted_columns.array("w"))
    assert not hasattr(other_order, "feature_names_in_")


@pytest.mark.parametrize("argument", ["X", "y"])
def test_lists_of_named_rows_of_later_shards_are_refused(argument: str) -> None:
    Y = pd.DataFrame({"u": y, "v": -2 * y})
    later: dict[str, Any] = {"X": TABLE[60:], "y": Y[60:]}
    later[argument] = [row for _, row in later[argument].iloc[:, ::-1].iterrows()]
    with pytest.raises(TypeError, match=rf"{argument}\[0\] is a Series with the names '[dv]', '[cu]'"):
        ob.learn("rls", [(TABLE[:60], Y[:60]), (later["X"], later["y"])], **HERE)


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
    assert any("a function that reads and encodes the rows" in note for note in raised.value.__notes__)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_files_may_lack_targets_for_filters(tmp_path: Path, name: str) -> None:
    table = TABLE.assign(t=np.where(np.arange(120) % 7 == 3, np.nan, y))
    (table.to_csv if name.endswith("csv") else table.to_parquet)(tmp_path / name, index=False)
    found = ob.learn("kalman", [str(tmp_path / name)], target="t", **HERE)
    want = ob.learn("kalman", [table], target="t", **HERE)
    assert found.n_samples_seen_ == want.n_samples_seen_
    np.testing.assert_allclose(found.array("mean"), want.array("mean"), rtol=1e-12)
    with pytest.raises(ValueError, match="the target 't' has no value in row 3"):
        ob.learn("rls", [str(tmp_path / name)], target="t", **HERE)


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


def process_shard() -> tuple[Any, Any]:
    raise RuntimeError(f"process {os.getpid()}")


@pytest.mark.slow
def test_one_shard_is_learned_in_a_process_of_its_own() -> None:
    with pytest.raises(RuntimeError, match=rf"process {os.getpid()}\b"):
        ob.learn("rls", [process_shard], workers=1, backend="numpy")
    with pytest.raises(RuntimeError, match=rf"process (?!{os.getpid()}\b)"):
        ob.learn("rls", [process_shard], workers=2, backend="numpy")
    with pytest.raises(DiedError, match="shard 0: the process died 5 times"):
        ob.learn("rls", [ending_shard], workers=2, backend="numpy")


class HoldsAFunction(Exception):
    """An error that cannot be pickled."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.function = lambda: None


def closed_shard() -> tuple[Any, Any]:
    raise HoldsAFunction("no rows today")


@pytest.mark.slow
def test_an_error_of_a_process_that_cannot_be_pickled_names_its_shard() -> None:
    with pytest.raises(RuntimeError, match="HoldsAFunction: no rows today") as raised:
        ob.learn("rls", [learned_shard, closed_shard], workers=2, backend="numpy")
    assert "in shard 1" in raised.value.__notes__


def test_the_default_number_of_workers_is_that_of_the_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(12)), raising=False)
    assert check_workers(None) == 12

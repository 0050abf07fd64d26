"""Streams that are objects: cells of other rows are not reused, merged or overwritten."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob
from orfit_bench.bench import Suite, run
from orfit_bench.bench.collection import merge, runs
from orfit_bench.bench.statistics import over_seeds
from orfit_bench.catalogue.methods.lms import METHOD as LMS
from orfit_bench.jobs.journal import Journal
from orfit_bench.spec import Data, Stream

METHODS = ("rls", "lms")


def table(scale: float) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 3))
    return pd.DataFrame(rows, columns=list("abc")).assign(y=scale * (rows.sum(axis=1) + rng.standard_normal(60)))


def of_table(scale: float, name: str = "table") -> Stream:
    return Stream.from_table(table(scale), "y", test=0.3, name=name)


def of_function(scale: float) -> Stream:
    def make(seed: int = 0) -> Data:
        rows = np.random.default_rng(seed).standard_normal((60, 3))
        return Data(rows, scale * rows.sum(axis=1), test=(rows[:9], scale * rows[:9].sum(axis=1)))

    return Stream("function", "rows that a function makes", make=make)


def measured(results: Any) -> dict[str, str]:
    """The rows of each cell by its method."""
    return dict(zip(results["method"].values.tolist(), results["rows_hash"].values.tolist(), strict=True))


def stop_after_one(done: int, total: int, record: Any) -> None:
    if record is not None:
        raise KeyboardInterrupt


def test_a_resumed_run_measures_rows_with_other_tasks_again(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((60, 3))

    def of_tasks(*tasks: int) -> Suite:
        data = Data(rows, rows.sum(axis=1), test=(rows, rows.sum(axis=1)), tasks=tasks)
        return Suite(METHODS, ["numpy"], [Stream("tasks", "rows of tasks", make=lambda: data)])

    output, here = tmp_path / "r.nc", {"isolate": False, "timed": False}
    with pytest.raises(KeyboardInterrupt):
        run(of_tasks(0, 30, 60), output, progress=stop_after_one, **here)
    found, want = run(of_tasks(0, 20, 60), output, **here), run(of_tasks(0, 20, 60), **here)
    np.testing.assert_array_equal(found["forgetting"], want["forgetting"])
    assert measured(found) == measured(want)


@pytest.mark.parametrize("stored", [True, False])
def test_a_resumed_run_reads_a_folder_whose_parts_have_other_names_again(stored: bool, tmp_path: Path) -> None:
    for year in (2023, 2024):
        folder = tmp_path / "rows" / f"year={year}"
        folder.mkdir(parents=True)
        table(1.0).to_parquet(folder / "part.parquet")
    suite = Suite(METHODS, ["numpy"], [Stream.from_file(tmp_path / "rows", "y", test=0.3)])
    output, here = tmp_path / "r.nc", {"isolate": False, "timed": False}
    with pytest.raises(KeyboardInterrupt):
        run(suite, output, progress=stop_after_one, **here)
    if not stored:
        (tmp_path / "rows" / "year=2023").rename(tmp_path / "rows" / "year=5")
    resumed: list[int] = []
    run(suite, output, progress=lambda done, total, record: resumed.append(done) if record is None else None, **here)
    assert resumed == [int(stored)]


@pytest.mark.parametrize("stream", [of_table, of_function])
def test_a_resumed_run_measures_other_rows_again(stream: Any, tmp_path: Path) -> None:
    output, here = tmp_path / "r.nc", {"isolate": False, "timed": False}
    with pytest.raises(KeyboardInterrupt):
        run(Suite(METHODS, ["numpy"], [stream(1.0)]), output, progress=stop_after_one, **here)
    resumed: list[int] = []
    found = run(
        Suite(METHODS, ["numpy"], [stream(100.0)]), output,
        progress=lambda done, total, record: resumed.append(done) if record is None else None, **here,
    )  # fmt: skip
    want = run(Suite(METHODS, ["numpy"], [stream(100.0)]), progress=None, **here)
    assert resumed == [0]
    assert measured(found) == measured(want)
    with pytest.raises(KeyboardInterrupt):
        run(Suite(METHODS, ["numpy"], [stream(1.0)]), output, progress=stop_after_one, **here)
    run(
        Suite(METHODS, ["numpy"], [stream(1.0)]), output,
        progress=lambda done, total, record: resumed.append(done) if record is None else None, **here,
    )  # fmt: skip
    assert resumed == [0, 1], "cells of the same rows are kept"


def test_two_streams_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two streams are called 'table': give each a name of its own, name="):
        Suite(["rls"], ["numpy"], [of_table(1.0), of_table(2.0)]).cells()
    assert len(Suite(["rls"], ["numpy"], [of_table(1.0), of_table(2.0, "other")]).cells()) == 2
    one = of_table(1.0)
    assert len(Suite(["rls"], ["numpy"], [one, one]).cells()) == 1


def test_a_merge_keeps_cells_of_other_rows() -> None:
    one, two = (
        run(Suite(["rls"], ["numpy"], [of_table(scale)]), isolate=False, timed=False, progress=None)
        for scale in (1.0, 100.0)
    )
    assert merge([one, two]).sizes["cell"] == 2
    assert merge([one, one, two, two]).sizes["cell"] == 2
    both = merge([one, two])
    assert runs(both) == ["run 1", "run 2"], "of one seed, so that they have no mean"
    assert [len(group) for group in over_seeds(both)] == [1, 1]


def test_seeds_of_several_runs_have_one_mean() -> None:
    parts = [
        run(Suite(["rls"], ["numpy"], [of_function(1.0)], seeds=seeds), isolate=False, timed=False, progress=None)
        for seeds in ([0, 1], [2])
    ]
    assert [len(group) for group in over_seeds(merge(parts))] == [3]


def test_rows_in_a_file_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "rows.feather"
    table(1.0).to_feather(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"rows\.feather: this is the file of the rows, which would be lost: use"):
        run(Suite(["rls"], ["numpy"], [Stream.from_file(path, "y")]), path, isolate=False, progress=None)
    assert path.read_bytes() == before


@dataclass
class Rows:
    """`make` of a stream that cannot be compared by ==."""

    X: Any
    y: Any

    def __call__(self) -> Data:
        return Data(self.X, self.y)


def test_another_stream_of_the_same_name_replaces_the_first() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2):
        stream = Stream("rows", "rows of this test", make=Rows(rng.standard_normal((30, 3)), rng.standard_normal(30)))
        results = run(Suite(["lms"], ["numpy"], [stream, ob.streams()["drift"]]), isolate=False, timed=False)
        found.append(results["rows_hash"].values.tolist())
    assert found[0][0] != found[1][0]
    assert found[0][1] == found[1][1]


def test_files_of_linked_folders_are_rows(tmp_path: Path) -> None:
    rows, other = tmp_path / "rows", tmp_path / "other"
    for folder in (rows / "year=2023", other):
        folder.mkdir(parents=True)
        table(1.0).to_parquet(folder / "part.parquet")
    (rows / "year=2024").symlink_to(other)
    (other / "_above").symlink_to(rows)
    suite = Suite(METHODS, ["numpy"], [Stream.from_file(rows, "y", test=0.3)])
    assert [path.relative_to(rows).as_posix() for path in suite.files()] == [
        "year=2023/part.parquet",
        "year=2024/part.parquet",
    ]
    before = Journal(tmp_path / "r.nc", {}, suite.files).identity()
    table(2.0).to_parquet(other / "part.parquet")
    assert Journal(tmp_path / "r.nc", {}, suite.files).identity() != before


def test_results_in_the_folder_of_the_rows_are_no_rows(tmp_path: Path) -> None:
    table(1.0).to_parquet(tmp_path / "part.parquet")
    (tmp_path / "_results").mkdir()
    suite = Suite(METHODS, ["numpy"], [Stream.from_file(tmp_path, "y", test=0.3)])
    output, here = tmp_path / "_results" / "r.nc", {"isolate": False, "timed": False}
    with pytest.raises(KeyboardInterrupt):
        run(suite, output, progress=stop_after_one, **here)
    resumed: list[int] = []
    run(suite, output, progress=lambda done, total, record: resumed.append(done) if record is None else None, **here)
    assert resumed == [1]
    run(suite, output, **here)


def test_registered_streams_are_measured_and_never_replaced() -> None:
    one, other = of_table(1.0, "one"), of_table(2.0, "other")

    class TwoStreams:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def streams(self) -> Any:
            return [one, other]

    ob.register(TwoStreams(), "one")
    try:
        for given in (one, ob.streams()["one"], ob.streams()["drift"]):
            found = run(Suite(["lms"], ["numpy"], [given], rows=[]), isolate=False, timed=False)
            assert found["status"].values.tolist() == ["ok"]
        with pytest.raises(ValueError, match="a stream 'one' exists already: give this one another name"):
            run(Suite(["lms"], ["numpy"], [of_table(3.0, "one")]), isolate=False, timed=False)
        assert {"one", "other"} <= set(ob.streams())
    finally:
        ob.unregister("one")


def replaced_after_one(path: Path) -> Any:
    """A progress function that replaces a file once a cell is finished."""
    later = iter([table(2.0)])

    def replace(done: int, total: int, record: Any) -> None:
        if record is not None and (rows := next(later, None)) is not None:
            rows.to_parquet(new := path.with_suffix(".new"))
            new.replace(path)  # writing into a file that is mapped to memory would end the process

    return replace


def test_a_file_that_changes_during_a_run_ends_it(tmp_path: Path) -> None:
    table(1.0).to_parquet(path := tmp_path / "rides.parquet")
    suite, here = Suite(METHODS, ["numpy"], [Stream.from_file(path, "y", test=0.3)]), {"isolate": False, "timed": False}
    for output in (tmp_path / "r.nc", None):
        path.unlink()
        table(1.0).to_parquet(path)
        with pytest.raises(ValueError, match=r"rides\.parquet: this file changed while cells learned its rows"):
            run(suite, output, progress=replaced_after_one(path), **here)
    again = run(suite, tmp_path / "r.nc", progress=None, **here)
    assert len(set(measured(again).values())) == 1
    assert measured(again) == measured(run(suite, progress=None, **here))


def test_rows_of_a_url_that_change_during_a_run_are_noticed(tmp_path: Path) -> None:
    table(1.0).to_parquet(path := tmp_path / "rides.parquet")
    suite = Suite(METHODS, ["numpy"], [Stream.from_file(path.as_uri(), "y", test=0.3)])
    output, here = tmp_path / "r.nc", {"isolate": False, "timed": False}
    for progress in (replaced_after_one(path), None):
        with pytest.raises(ValueError, match=r"rows of 'rides\.parquet' differ between cells, .*fresh=True"):
            run(suite, output, progress=progress, **here)
    assert len(set(measured(run(suite, output, fresh=True, progress=None, **here)).values())) == 1


def a_rule(factor: float) -> Any:
    """A plugin with LMS, whose steps are multiplied by a factor."""

    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        for i, x in enumerate(X):
            f = x @ s.w
            if out is not None:
                out[i] = f
            s.w[...] += factor * p.step_size[i] * np.outer(x, Y[i] - f)
        return len(X)

    kernel = SimpleNamespace(learn=learn, LACKS={"models": "not needed"})
    return SimpleNamespace(
        SPEC_VERSION=(1, 0),
        methods=ob.hookimpl(lambda: (replace(LMS, name="own_lms"),)),
        kernels=ob.hookimpl(lambda: {("numpy", "own_lms"): kernel}),
    )


def test_cells_of_a_rule_that_was_registered_again_are_measured_again(tmp_path: Path) -> None:
    suite, output = Suite(["own_lms"], ["numpy"], ["regression"], rows=[50], seeds=[0, 1]), tmp_path / "r.nc"
    more: dict[str, Any] = {"isolate": False, "timed": False}

    def errors(factor: float, interrupted: bool) -> list[float]:
        try:
            ob.register(a_rule(factor), "own")
            if interrupted:
                with pytest.raises(KeyboardInterrupt):
                    run(suite, output, progress=stop_after_one, **more)
            found: list[float] = run(suite, output, progress=None, **more)["test_error"].values.tolist()
            return found
        finally:
            ob.unregister("own")

    want = errors(1.0, False)
    assert errors(1.0, True) == want
    ob.register(a_rule(2.0), "own")
    with pytest.raises(KeyboardInterrupt):
        run(suite, output, progress=stop_after_one, **more)
    ob.unregister("own")
    assert errors(1.0, False) == want

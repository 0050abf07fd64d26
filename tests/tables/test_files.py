"""Files as streams: every format gives the same rows, in batches; what cannot be learned is refused by name."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from click.testing import CliRunner

import orfit_bench as ob
from orfit_bench.bench import Suite, load, run
from orfit_bench.cli import main
from orfit_bench.sampling import with_sampling
from orfit_bench.spec import Stream, file_stream
from orfit_bench.tables import sources
from orfit_bench.tables.rows import Cursor

N = 60
rng = np.random.default_rng(0)
TABLE = pd.DataFrame(rng.standard_normal((N, 3)), columns=["a", "b", "c"]).assign(
    fare=lambda t: t.a - 2 * t.b,
    kind=lambda t: np.where(t.a > 0, "warm", "cold"),
    flag=lambda t: t.c > 0,
    count=np.arange(N) % 3,
    when=pd.date_range("2020-01-01", periods=N, freq="h"),
)
NUMBERS = TABLE[["a", "b", "c", "fare"]]


def write_zarr(table: pd.DataFrame, path: str) -> None:
    group = zarr.open_group(path, mode="w")
    for name in table.columns:
        group.create_array(name, data=table[name].to_numpy())


def write_stream(table: pd.DataFrame, path: str) -> None:
    rows = pa.Table.from_pandas(table, preserve_index=False)
    with pa.ipc.new_stream(path, rows.schema) as file:
        file.write_table(rows, max_chunksize=17)


WRITERS: dict[str, Callable[[pd.DataFrame, str], Any]] = {
    ".csv": lambda t, path: t.to_csv(path, index=False),
    ".csv.gz": lambda t, path: t.to_csv(path, index=False),
    ".parquet": lambda t, path: t.to_parquet(path, row_group_size=17),
    ".feather": lambda t, path: t.to_feather(path),
    ".arrow": lambda t, path: t.to_feather(path, compression="uncompressed"),
    ".arrows": write_stream,
    ".zarr": write_zarr,
    ".npy": lambda t, path: np.save(path, t.to_records(index=False)),
}
formats = pytest.mark.parametrize("ending", WRITERS)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read 7 rows at a time, and keep nothing in memory."""
    monkeypatch.setattr(sources, "BATCH", 7)
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)


def written(folder: Path, ending: str, table: pd.DataFrame = NUMBERS) -> str:
    path = str(folder / f"rides{ending}")
    WRITERS[ending](table, path)
    return path


@formats
@pytest.mark.parametrize("rows", [1, 5, 23, 1000])
def test_every_format_gives_the_same_rows(ending: str, rows: int, tmp_path: Path, small_batches: None) -> None:
    data = Stream.from_file(written(tmp_path, ending), "fare", test=0.25).load()
    assert data.feature_names == ("a", "b", "c")
    assert data.X.shape == (45, 3)
    assert data.test is not None
    X, y = (np.concatenate(parts) for parts in zip(*data.chunks(rows), strict=True))
    for found, want in (
        (X, TABLE[["a", "b", "c"]][:45]),
        (y, TABLE.fare[:45]),
        (data.test[0][:], TABLE[["a", "b", "c"]][45:]),
    ):
        np.testing.assert_allclose(found, want.to_numpy(), rtol=1e-12)
    np.testing.assert_array_equal(data.X[13:29], X[13:29])  # back to an earlier row
    np.testing.assert_array_equal(np.asarray(data.test[1]), data.test[1][0:])


@formats
def test_rows_in_memory_are_the_same(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ending)
    kept = Stream.from_file(path, "fare", test=0.25).load()
    assert isinstance(kept.X, np.ndarray)
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    read = Stream.from_file(path, "fare", test=0.25).load()
    for one, other in ((kept.X, read.X), (kept.y, read.y), (kept.test[0], read.test[0]), (kept.test[1], read.test[1])):  # type: ignore[index]
        np.testing.assert_array_equal(one, np.asarray(other))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_texts_flags_and_missing_values_become_columns_on_request(
    ending: str, tmp_path: Path, small_batches: None
) -> None:
    table = TABLE.copy()
    table.loc[3, "a"] = np.nan
    table.loc[20, "kind"] = None
    path = written(tmp_path, ending, table)
    chosen: dict[str, Any] = {"target": "fare", "drop": ["when", "count"]}
    data = Stream.from_file(path, **chosen, one_hot=True, indicators=True).load()
    assert data.feature_names == ("a", "a is missing", "b", "c", "kind=cold", "kind=warm", "kind is missing", "flag")
    X = np.asarray(data.X)
    assert X[3, :2].tolist() == [0, 1]
    assert X[20, 4:7].tolist() == [0, 0, 1]
    np.testing.assert_array_equal(X[:, 7], table.flag)
    np.testing.assert_array_equal(X[:20, 5], table.kind[:20] == "warm")
    with pytest.raises(ValueError, match=r"column 'a' has no value in row 3: ask for indicators .*--indicators"):
        np.asarray(Stream.from_file(path, **chosen, one_hot=True).load().X)
    with pytest.raises(TypeError, match=r"rides.*: 'kind': want numbers, got texts: .* \(--one-hot\)"):
        Stream.from_file(path, **chosen)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("time", ["when", "a"])
def test_rows_are_ordered_by_time(ending: str, time: str, tmp_path: Path) -> None:
    shuffled = TABLE.drop(columns=["kind", "flag"]).sample(frac=1, random_state=0)
    data = Stream.from_file(
        written(tmp_path, ending, shuffled.reset_index(drop=True)),
        "fare",
        time=time,
        test=0.5,
        drop=["count"] if time == "when" else ["count", "when"],
    ).load()
    want = TABLE.sort_values(time)
    np.testing.assert_allclose(np.concatenate([data.y, data.test[1]]), want.fare, rtol=1e-12)  # type: ignore[index, list-item]
    assert time not in data.feature_names


def test_long_files_must_be_in_order(tmp_path: Path, small_batches: None) -> None:
    table = TABLE[["a", "b", "when"]]
    assert len(Stream.from_file(written(tmp_path, ".csv", table), "a", time="when").load().X) == N
    refused = r"the rows are not in the order of 'when', .*: pl.scan_csv\('.*'\).sort\('when'\).sink_parquet"
    with pytest.raises(ValueError, match=refused):
        Stream.from_file(written(tmp_path, ".csv", table[::-1]), "a", time="when").load()


def test_errors_name_the_file_and_the_column(tmp_path: Path) -> None:
    path = written(tmp_path, ".csv", TABLE)
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: Stream.from_file(tmp_path / "nowhere.csv", "fare"), FileNotFoundError, "nowhere.csv: no such file"),
        (lambda: Stream.from_file(path, "fair"), ValueError, "no column 'fair' .target.. Did you mean 'fare'"),
        (lambda: Stream.from_file(path, "fare", drop=["x"]), ValueError, "no column 'x' .drop."),
        (lambda: Stream.from_file(path, "when", drop=["kind"]), TypeError, "the target 'when' is of type date"),
        (
            lambda: Stream.from_file(path, ["fare", "kind"], drop=["when"]),
            TypeError,
            "the target 'kind' is of type text",
        ),
        (
            lambda: Stream.from_file(path, "fare", drop=["kind"]),
            TypeError,
            "column 'when' is of type date, want numbers",
        ),
        (
            lambda: Stream.from_file(path, "fare", drop=["a", "b", "c", "kind", "flag", "count", "when"]),
            ValueError,
            "no column is left",
        ),
    ]
    (tmp_path / "rides.xls").write_text("")
    cases.append(
        (lambda: Stream.from_file(tmp_path / "rides.xls", "a"), ValueError, r"the format is not known .* \.csv")
    )
    (tmp_path / "empty.csv").write_text("")
    cases.append((lambda: Stream.from_file(tmp_path / "empty.csv", "a"), ValueError, "empty.csv: "))
    (tmp_path / "head.csv").write_text("a,b\n")
    cases.append(
        (lambda: Stream.from_file(tmp_path / "head.csv", "a").load(), ValueError, "head.csv: the file has no rows")
    )
    (tmp_path / "fake.parquet").write_text("no parquet")
    cases.append(
        (
            lambda: Stream.from_file(tmp_path / "fake.parquet", "a"),
            ValueError,
            "fake.parquet: by its ending this is Parquet",
        )
    )
    np.save(tmp_path / "complex.npy", np.ones((4, 2)) * 1j)
    cases.append((lambda: Stream.from_file(tmp_path / "complex.npy"), TypeError, "learn complex numbers from arrays"))
    (tmp_path / "fake.npy").write_text("no array")
    cases.append(
        (lambda: Stream.from_file(tmp_path / "fake.npy", "0"), ValueError, "fake.npy: by its ending this is NPY")
    )
    stream = Stream.from_file(path, "fare", drop=["kind", "when"])
    cases.append((lambda: stream.load(n=N + 1), ValueError, f"n={N + 1}: want at most {N}"))
    cases.append((lambda: stream.load(test=0.999), ValueError, "leaves no row to learn"))
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("role", ["drop", "time"])
def test_a_target_that_is_also_left_out_is_refused(role: str, tmp_path: Path) -> None:
    path = written(tmp_path, ".csv")
    with pytest.raises(ValueError, match=rf"rides.csv: column 'fare' is named as target and as {role}: .*name it once"):
        Stream.from_file(path, "fare", drop="fare" if role == "drop" else (), time="fare" if role == "time" else None)
    result = CliRunner().invoke(main, ["run", "--data", path, "--target", "fare", f"--{role}", "fare"])
    assert result.exit_code == 2
    assert f"named as target and as {role}" in result.output


@pytest.mark.parametrize("option", ["drop", "target"])
def test_a_column_that_is_named_twice_is_refused(option: str, tmp_path: Path) -> None:
    path = written(tmp_path, ".csv")
    result = CliRunner().invoke(main, ["run", "--data", path, f"--{option}", "fare", f"--{option}", "fare"])
    assert result.exit_code == 2
    assert f"--{option} fare is given 2 times: name each column once" in result.output


@pytest.mark.parametrize("ending", [".arrow", ".feather", ".ipc"])
def test_the_stream_format_of_arrow_is_known_by_its_content(ending: str, tmp_path: Path) -> None:
    write_stream(NUMBERS, path := str(tmp_path / f"rides{ending}"))
    data = Stream.from_file(path, "fare").load()
    np.testing.assert_array_equal(data.X, NUMBERS[["a", "b", "c"]])


def test_a_stream_that_is_cut_is_refused_by_name(tmp_path: Path) -> None:
    write_stream(NUMBERS, path := str(tmp_path / "rides.arrows"))
    complete = Path(path).read_bytes()
    for size in (0, 3, 40, len(complete) // 2):
        Path(path).write_bytes(complete[:size])
        with pytest.raises(ValueError, match=r"rides.arrows: (cannot be read|the file is empty|by its ending)"):
            Stream.from_file(path, "fare").load()


def test_a_file_of_two_streams_is_refused_by_name(tmp_path: Path) -> None:
    write_stream(NUMBERS, path := str(tmp_path / "rides.arrows"))
    Path(path).write_bytes(2 * Path(path).read_bytes())
    with pytest.raises(ValueError, match=r"rides.arrows: the file goes on after the end of its Arrow stream"):
        Stream.from_file(path, "fare").load()


def test_a_csv_file_whose_integers_become_fractions_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "late.csv"
    path.write_text("a,y\n" + "1,2\n" * 200_000 + "1.5,2.5\n")
    data = Stream.from_file(path, "y").load()
    assert (data.X[-1], data.y[-1]) == (1.5, 2.5)  # type: ignore[index]


def test_rows_longer_than_a_mebibyte_are_read(tmp_path: Path) -> None:
    columns = 1500
    numbers = np.arange(3.0 * columns).reshape(3, columns)
    lines = [",".join(f"column_{j:05}" for j in range(columns))]
    lines += [",".join(f"{'0' * 1000}{number!r}" for number in row) for row in numbers.tolist()]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    assert len(lines[1]) > 2**20
    np.testing.assert_array_equal(Stream.from_file(tmp_path / "wide.csv", "column_00000").load().X, numbers[:, 1:])


def test_a_column_that_changes_its_kind_is_refused_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("a,y\n" + "1,2\n" * 400_000 + "x,2\n")
    with pytest.raises(ValueError, match=r"late.csv: cannot be read: .*'x'"):
        Stream.from_file(path, "y").load()


def test_dates_and_times_of_all_kinds_order_the_rows(tmp_path: Path) -> None:
    days = pd.date_range("2020-01-01", periods=N)
    order = rng.permutation(N)
    columns = {
        "date": pa.array(days.date[order]),
        "stamp": pa.array(days[order].tz_localize("UTC")),
        "clock": pa.array((pd.Timestamp("2020-01-01") + pd.to_timedelta(order, "min")).time),
        "seconds": pa.array(order.astype(np.int32)).cast(pa.time32("s")),
    }
    for name, column in columns.items():
        pq.write_table(pa.table({"when": column, "a": order * 1.0, "y": 0.0 * order}), tmp_path / f"{name}.parquet")
        data = Stream.from_file(tmp_path / f"{name}.parquet", "y", time="when").load()
        assert data.X[:, 0].tolist() == list(range(N)), name


def test_what_is_missing_for_a_url_is_named() -> None:
    with pytest.raises(ValueError, match=r"zzz://a.parquet: Protocol not known"):
        Stream.from_file("zzz://a.parquet", "y")


def test_too_many_texts_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, ".parquet", pd.DataFrame({"id": [f"r{i}" for i in range(200)], "y": 1.0}))
    with pytest.raises(ValueError, match="column 'id' has more than 100 different texts"):
        Stream.from_file(path, "y", one_hot=True).load()


@pytest.mark.parametrize(
    ("target", "offers"),
    [
        ("fare", "numbers"),
        ("kind", "labels"),
        ("count", "integers"),
        ("flag", "integers"),
        (None, "rows"),
        (["a", "b"], "numbers"),
    ],
)
def test_the_target_decides_what_is_offered(target: Any, offers: str, tmp_path: Path) -> None:
    stream = Stream.from_file(written(tmp_path, ".csv", TABLE.drop(columns="when")), target, one_hot=True)
    assert stream.offers == offers
    data = stream.load()
    assert (data.y is None) == (target is None)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The URL of a web server for tmp_path."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".npy", ".parquet", ".arrow"])
def test_urls_are_read(ending: str, server: str, tmp_path: Path) -> None:
    written(tmp_path, ending)
    data = Stream.from_file(f"{server}/rides{ending}", "fare").load()
    np.testing.assert_allclose(data.X, TABLE[["a", "b", "c"]], rtol=1e-12)
    with pytest.raises(FileNotFoundError, match="no such file"):
        Stream.from_file(f"{server}/nowhere.csv", "fare")


def test_an_infinite_value_is_named_with_its_column_and_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,fare\n1,2,3\n4,inf,6\n")
    with pytest.raises(ValueError, match=r"rows.csv: column 'b' is inf in row 1: want finite numbers"):
        np.asarray(Stream.from_file(tmp_path / "rows.csv", "fare").load().X)


@pytest.mark.parametrize("gaps", [False, True])
def test_an_infinite_target_is_named_with_its_column_and_row(gaps: bool, tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1.0, 4.0, 5.0], "b": [1.0, 2.0, 3.0], "fare": [3.0, 6.0, -np.inf]})
    table.to_csv(tmp_path / "rows.csv", index=False)
    for stream in (
        Stream.from_file(tmp_path / "rows.csv", "fare", gaps=gaps),
        Stream.from_table(table, ["b", "fare"], gaps=gaps),
    ):
        with pytest.raises(ValueError, match=r"(rows.csv|table): column 'fare' is -inf in row 2: want finite numbers"):
            np.asarray(stream.load().y)


def test_a_sparse_column_of_a_table_is_refused_by_name() -> None:
    table = NUMBERS.assign(b=pd.arrays.SparseArray(np.zeros(len(NUMBERS))))
    with pytest.raises(TypeError, match=r"table: column 'b' is of dtype Sparse.*: convert the table with sparse.to_de"):
        Stream.from_table(table, "fare")
    dense = table.assign(b=table["b"].sparse.to_dense())
    assert not Stream.from_table(dense, "fare").load().X[:, dense.columns.get_loc("b")].any()


def test_a_file_of_labels_is_refused_by_a_method_for_numbers(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,kind\n1,x\n4,y\n")
    file = {"name": "file", "settings": {"path": str(tmp_path / "rows.csv"), "target": "kind"}}
    with pytest.raises(
        ValueError, match=r"cannot learn from file: .*rows\.csv.* has strings as targets\. Regression needs"
    ):
        Suite(["rls"], ["numpy"], [file]).cells()


def test_a_folder_of_parquet_files_is_one_stream(tmp_path: Path, small_batches: None) -> None:
    for i in range(3):
        NUMBERS[20 * i : 20 * i + 20].to_parquet(tmp_path / f"part-{i}.parquet")
    np.testing.assert_array_equal(np.asarray(Stream.from_file(tmp_path, "fare").load().y), TABLE.fare)


# ---------------------------------------------------------------------- suites and the command


def error_of(stream: Any, method: str, **settings: Any) -> float:
    results = run(Suite([method], ["numpy"], [stream]), isolate=False, progress=None)
    assert results["status"].values.tolist() == ["ok"], results["reason"].values
    return float(results["test_error"].values[0])


@pytest.mark.slow
def test_suites_take_files_and_tables(tmp_path: Path, small_batches: None) -> None:
    path = written(tmp_path, ".parquet")
    rls = ob.create("rls", backend="numpy").partial_fit(TABLE[["a", "b", "c"]][:45], TABLE.fare[:45])
    want = float(np.sqrt(((rls.predict(TABLE[["a", "b", "c"]][45:]) - TABLE.fare[45:]) ** 2).mean()))
    for stream in (
        Stream.from_file(path, "fare", test=0.25),
        Stream.from_table(NUMBERS, "fare", test=0.25),
        Stream.from_table(NUMBERS[["b", "a", "c", "fare"]], "fare", test=0.25),
        {"name": "file", "settings": {"path": path, "target": "fare", "test": 0.25}},
    ):
        assert error_of(stream, "rls") == pytest.approx(want, rel=1e-8)
    labelled = Stream.from_table(TABLE[["a", "b", "kind"]], "kind", name="kinds", test=0.25)
    assert error_of(labelled, "class_rls") < 0.3
    with pytest.raises(ValueError, match=r"method 'rls' \(regression\) cannot learn from kinds"):
        Suite(["rls"], ["numpy"], [labelled]).cells()
    with pytest.raises(ValueError, match="pass isolate=False"):
        run(Suite(["class_rls"], ["numpy"], [labelled]), progress=None)
    for name in ("table", "kinds"):
        ob.unregister(name)


def test_integers_are_labels_for_a_method_of_labels(tmp_path: Path) -> None:
    path = written(tmp_path, ".csv", TABLE[["a", "b", "count"]])
    planned = Suite(backends=["numpy"], streams=[Stream.from_file(path, "count")]).cells()
    assert "class_rls" not in {cell.method for cell, _ in planned}
    assert error_of(Stream.from_file(path, "count", test=0.25), "class_rls") <= 1


def test_progress_is_shown_in_process(capsys: pytest.CaptureFixture[str]) -> None:
    run(Suite(["lms"], ["numpy"], [Stream.from_table(NUMBERS, "fare")]), isolate=False)
    ob.unregister("table")
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "1 cell to measure"
    assert shown[1].startswith("[1/1] lms on numpy, table (seed 0): ok, ")


@pytest.mark.slow
def test_the_command_runs_on_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, ".csv", TABLE)
    asked = ["run", "--method", "rls", "--method", "incremental_pca", "--backend", "numpy", "--data", path, "--target"]
    done = CliRunner().invoke(main, [*asked, "fare", "--time", "when", "--test", "0.25", "--one-hot", "--drop", "flag"])
    assert done.exit_code == 0, done.output
    assert "rides.csv" in done.output
    results = load(tmp_path / "results.nc")
    assert results["stream"].values.tolist() == ["file", "file"]
    assert CliRunner().invoke(main, [*asked, "fair"]).exit_code == 2
    for arguments, message in (
        (["run", "--target", "y"], "--target names a column or a part of a file: add --data FILE"),
        (["run", "--data", "nowhere.csv", "--target", "y"], "nowhere.csv: no such file"),
        (["run", "--data", path, "--data", path], "rides.csv is given 2 times: name each file once"),
    ):
        done = CliRunner().invoke(main, arguments)
        assert (done.exit_code, message in done.output) == (2, True), done.output


def test_the_command_runs_on_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        NUMBERS.to_csv(name, index=False)
    asked = ["run", "--method", "rls", "--backend", "numpy", "--data", "a.csv", "--data", "b.csv", "--target", "fare"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    paths = [json.loads(text)["path"] for text in load("results.nc")["stream_settings"].values]
    assert paths == ["a.csv", "b.csv"]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv"])
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_are_found_in_the_header(tmp_path: Path, separator: str, ending: str) -> None:
    path = str(tmp_path / f"rides{ending}")
    NUMBERS.to_csv(path, index=False, sep=separator)
    data = Stream.from_file(path, "fare", test=0.5).load()
    assert data.feature_names == ("a", "b", "c")
    np.testing.assert_allclose(np.asarray(data.X), NUMBERS[["a", "b", "c"]][:30], rtol=1e-12)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_decimal_commas_are_read(ending: str, tmp_path: Path) -> None:
    table = TABLE[["kind", "count", "a", "fare"]]
    table.to_csv(path := str(tmp_path / f"rides{ending}"), index=False, sep=";", decimal=",")
    data = Stream.from_file(path, "fare", drop=["kind"]).load()
    np.testing.assert_array_equal(data.X, table[["count", "a"]])
    np.testing.assert_array_equal(data.y, table["fare"])


def test_wrong_moves_get_a_remedy(tmp_path: Path) -> None:
    path = written(tmp_path, ".parquet", TABLE.drop(columns="kind"))
    with pytest.raises(TypeError, match=r"'when' is of type date, .*order the rows by it \(--time\)"):
        Stream.from_file(path, "fare")
    with pytest.raises(ValueError, match=r"no column 'a, b' \(drop\). Name each column on its own"):
        Stream.from_file(path, "fare", drop=["a, b"])
    with pytest.raises(TypeError, match=r"got DataFrame, want a path; a table in memory is for Stream\.from_table"):
        Stream.from_file(TABLE, "fare")  # type: ignore[arg-type]
    for streams, error, message in (
        (
            [path],
            ValueError,
            r"no stream '.*': to learn the rows of a file, use --data FILE, or Stream.from_file\(path, target\)",
        ),
        ([TABLE], TypeError, r"streams: got DataFrame, want .*Stream.from_table\(table, target\)"),
    ):
        with pytest.raises(error, match=message):
            run(Suite(["rls"], ["numpy"], streams), isolate=False, progress=None)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("integers", [False, True])
def test_rows_without_a_target_stay_for_filters(tmp_path: Path, ending: str, integers: bool) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((60, 2)), columns=["a", "b"])
    table["y"] = (10 * (table.a - table.b)).round() if integers else table.a - table.b
    table.loc[::7, "y"] = np.nan
    if integers and ending == "parquet":
        table["y"] = table["y"].astype("Int64")
    path = tmp_path / f"gaps.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    with pytest.raises(ValueError, match=r"no value in row 0, .*: leave out rows .*, or keep them for filters"):
        Stream.from_file(path, "y").load()
    stream = Stream.from_file(path, "y", gaps=True, test=0.25)
    assert stream.offers == "gaps"
    data = stream.load()
    want = table["y"].to_numpy(float, na_value=np.nan)
    np.testing.assert_array_equal(np.concatenate([data.y, data.test[1]]), want)
    found = run(Suite(["kalman"], ["numpy"], [stream]), isolate=False, progress=None)
    kalman = ob.create("kalman", backend="numpy").partial_fit(data.X, data.y)
    error = (kalman.predict(data.test[0]) - data.test[1])[~np.isnan(data.test[1])]
    assert found["test_error"].item() == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)
    with pytest.raises(
        ValueError, match=r"'rls' \(regression\) cannot learn from file: .* \(--gaps, .*\) are for filters"
    ):
        run(Suite(["rls"], ["numpy"], [stream]), isolate=False, progress=None)


def test_texts_have_no_gaps() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "y": ["x", None]})
    with pytest.raises(TypeError, match="the target 'y' is of type text, want one of number, integer, boolean"):
        Stream.from_table(table, "y", gaps=True)


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("target", ["flag", "count"])
def test_labels_have_the_type_that_a_table_gives(tmp_path: Path, ending: str, target: str) -> None:
    data = Stream.from_file(written(tmp_path, ending, TABLE[["a", "b", target]]), target).load()
    learner = ob.create("softmax", backend="numpy").partial_fit(data.X, data.y)
    table = ob.create("softmax", backend="numpy").partial_fit(TABLE[["a", "b"]], TABLE[target])
    assert learner.classes_.dtype == table.classes_.dtype
    np.testing.assert_array_equal(learner.classes_, table.classes_)
    learner.partial_fit(data.X, TABLE[target])  # continues with rows of the table


def test_names_of_local_files_may_hold_what_ends_the_path_of_a_url(tmp_path):
    for name in ("a?b.csv", "#part?x=1.csv", "rides.csv?v=2.parquet"):
        path, table = tmp_path / name, pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
        table.to_parquet(path) if name.endswith("parquet") else table.to_csv(path, index=False)
        assert Stream.from_file(path, "y").load().y[:].tolist() == [3.0, 4.0]


@pytest.mark.parametrize("shape", [(), (3, 2)])
def test_fields_of_other_shapes_than_rows_are_refused(shape, tmp_path):
    np.save(path := tmp_path / "a.npy", np.zeros(shape, [("a", "f8"), ("b", "f8")]))
    with pytest.raises(ValueError, match=r"a\.npy: the array has shape .*, want \(rows,\) or"):
        Stream.from_file(path)


@pytest.mark.parametrize("order", "<>")
def test_dates_of_any_byte_order_order_the_rows(order, tmp_path):
    rows = [("2024-01-03", 3), ("2024-01-01", 1), ("2024-01-02", 2)]
    np.save(path := tmp_path / "t.npy", np.array(rows, [("t", f"{order}M8[s]"), ("x", f"{order}f8")]))
    assert Stream.from_file(path, time="t").load().X[:, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("sampling", ["uniform", "reshuffled"])
def test_rows_of_a_long_file_are_sampled_like_those_in_memory(sampling, tmp_path, monkeypatch):
    rows = np.random.default_rng(0).standard_normal((40_000, 3))
    pd.DataFrame(rows, columns=list("aby")).to_parquet(path := tmp_path / "r.parquet", row_group_size=7_000)
    stream = with_sampling(Stream.from_file(path, "y"))
    want = stream.load(sampling=sampling, passes=2, seed=1)
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    reads, read = [], Cursor.read
    monkeypatch.setattr(Cursor, "read", lambda cursor, *rows: reads.append(rows) or read(cursor, *rows))
    found = stream.load(sampling=sampling, passes=2, seed=1)
    for rows in (slice(0, 500), slice(39_900, 40_300), slice(70_000, 70_001), slice(5, 5)):
        reads.clear()
        np.testing.assert_array_equal(found.X[rows], want.X[rows])
        np.testing.assert_array_equal(found.y[rows], want.y[rows])
        assert len(reads) <= 4  # blocks of 16,384 rows, for X and y together

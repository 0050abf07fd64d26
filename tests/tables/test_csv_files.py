"""CSV files: separators of columns, and strings that are neither numbers nor UTF-8."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

from orfit_bench.bench import Suite, run
from orfit_bench.spec import Stream, file_stream


def written(folder: Path, name: str, content: str | bytes) -> Path:
    (path := folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators_in_quoted_names_do_not_count(separator: str, tmp_path: Path) -> None:
    lines = [['"height, cm"', "a", "y"], ["1.5", "2", "3"], ["2.5", "4", "5"]]
    path = written(tmp_path, "rides.csv", "".join(separator.join(line) + "\n" for line in lines))
    data = Stream.from_file(path, "y").load()
    assert data.feature_names == ("height, cm", "a")
    np.testing.assert_array_equal(data.X, [[1.5, 2.0], [2.5, 4.0]])


@pytest.mark.parametrize("name", ["rides.tsv", "RIDES.TSV"])
def test_tabs_separate_the_columns_of_tsv_files_whatever_their_names_hold(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, "height, cm\ta;b\ty\n1.5\t2\t3\n2.5\t4\t5\n")
    data = Stream.from_file(path, "y").load()
    assert data.feature_names == ("height, cm", "a;b")
    np.testing.assert_array_equal(data.X, [[1.5, 2.0], [2.5, 4.0]])


def test_the_ending_tsv_alone_makes_no_tabs(tmp_path: Path) -> None:
    assert Stream.from_file(written(tmp_path, "rides.tsv", "a,y\n1,2\n"), "y").load().feature_names == ("a",)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rides.csv", "when,a,y\n2,7,1.5\n1,8,2.5\n"),
        ("rides.csv.gz", gzip.compress(b"when,a,y\n2,7,1.5\n1,8,2.5\n", mtime=0)),
        ("rides.tsv", "when\ta\ty\n2\t7\t1.5\n1\t8\t2.5\n"),
        ("rides.csv", "when;a;y\n2;7;1,5\n1;8;2,5\n"),
        ("rides.tsv", "when|a|y\n2|7|1.5\n1|8|2.5\n"),
    ],
    ids=["commas", "compressed", "tabs", "semicolons", "bars"],
)
def test_the_call_that_sorts_a_long_file_reads_it_as_it_is(
    name: str, content: str | bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, name, content)
    with pytest.raises(ValueError, match="the rows are not in the order of 'when'") as info:
        Stream.from_file(path, "y", time="when").load()
    eval(str(info.value).partition("in parts: ")[2], {"pl": polars})
    data = Stream.from_file(tmp_path / "sorted.parquet", "y", time="when").load()
    assert np.asarray(data.X).tolist() == [[8], [7]]
    assert np.asarray(data.y).tolist() == [2.5, 1.5]


def test_rows_that_polars_does_not_read_are_to_be_sorted_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    np.save(tmp_path / "rides.npy", rows := np.array([[2.0, 3.0, 1.0], [1.0, 4.0, 2.0]]))
    table = Stream.from_table(pd.DataFrame(rows, columns=["0", "1", "2"]), "2", time="0")
    for stream in (table, Stream.from_file(tmp_path / "rides.npy", "2", time="0")):
        with pytest.raises(ValueError, match=r"too many to be sorted in memory: sort them beforehand$"):
            stream.load()


def test_large_numbers_after_integers_are_no_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "rides.csv", "a,y\n" + "1,2\n" * 300_000 + "1,1e300\n1,-1e19\n")
    y = np.asarray(Stream.from_file(path, "y").load().y)
    assert y[-3:].tolist() == [2.0, 1e300, -1e19]


def test_the_text_among_numbers_is_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "rides.csv", "a,y\n12,1\n1_000,2\n")
    with pytest.raises(TypeError, match="'a': want numbers, got texts: row 1 of 'a' holds '1_000'; correct the file"):
        Stream.from_file(path, "y")


def test_texts_that_are_not_in_utf_8_are_called_so(tmp_path: Path) -> None:
    path = written(tmp_path, "rides.csv", "a,town,y\n1,Köln,1\n2,Bonn,2\n".encode("latin-1"))
    with pytest.raises(TypeError, match=r"column 'town' is of type text that is not in UTF-8, .*: convert the file"):
        Stream.from_file(path, "y", one_hot=True)
    with pytest.raises(TypeError, match="column 'town' is of type text that is not in UTF-8, want texts"):
        Stream.from_file(path, "y", categorical="town")
    with pytest.raises(TypeError, match="the target 'town' is of type text that is not in UTF-8"):
        Stream.from_file(path, "town")
    assert Stream.from_file(path, "y", drop=["town"]).load().feature_names == ("a",)


def test_a_method_that_learns_none_of_several_files_shows_what_their_target_may_be(tmp_path: Path) -> None:
    streams = [Stream.from_file(written(tmp_path, name, "a,y\n1,x\n2,z\n"), "y") for name in ("a.csv", "b.csv")]
    with pytest.raises(
        ValueError,
        match=r"'rls' \(regression\) cannot learn from file: .*a\.csv has strings as targets\. Regression",
    ):
        run(Suite(["rls"], ["numpy"], streams), isolate=False, progress=None)


def test_lines_within_quotation_marks_are_no_rows(tmp_path):
    """Blocks of 1 MiB end within such a text, which looks like a row."""
    rows = [f'{i},1.5,"{"x" * (40 + i % 13)}, see order\n{i // 2},2.5,paid"\n' for i in range(14_000)]
    (path := tmp_path / "orders.csv").write_text("id,amount,note\n" + "".join(rows))
    data = Stream.from_file(path, "amount", drop=["note"]).load()
    assert data.X[:, 0].tolist() == list(range(14_000))
    assert (data.y == 1.5).all()


def test_times_beyond_2_53_are_ordered_exactly(tmp_path):
    """The first batches are read as floats, which would round the last rows."""
    late = [2**60 + 3 - i for i in range(3)]
    rows = [f"{t},{i}" for i, t in enumerate([*range(20_000), *late])]
    (path := tmp_path / "t.csv").write_text("\n".join(["t,x", *rows]))
    assert Stream.from_file(path, time="t").load().X[-3:, 0].tolist() == [20_002, 20_001, 20_000]


def test_rows_that_are_lost_while_a_file_is_read_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    rows = [f"{i},{2 * i}" for i in range(40_000)]
    (path := tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]))
    data = Stream.from_file(path, "y").load()
    path.write_text("\n".join(["x,y", *rows[:20_000]]))
    with pytest.raises(ValueError, match="it had 40000 rows when it was opened, but ends at row 20000: it was"):
        list(data.chunks(1_000))


def test_texts_in_files_of_a_folder_are_not_named_by_the_columns_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "rides.csv"
    folder.mkdir()
    written(folder, "1.csv", "a,b,y\n1,2,3\n")
    written(folder, "2.csv", "b,a,y\n" + "1,2,3\n" * 3 + "x,2,3\n")
    with pytest.raises(ValueError, match=r"cannot be read: a column holds 'x' in line 5 of one of the files"):
        Stream.from_file(folder, "y").load()


def test_an_ending_in_capitals_is_not_decompressed(tmp_path: Path) -> None:
    path = written(tmp_path, "RIDES.CSV.GZ", gzip.compress(b"a,y\n1,2\n"))
    with pytest.raises(ValueError, match=r"only a name that ends in \.gz, in small letters, is decompressed: rename"):
        Stream.from_file(path, "y")


@pytest.mark.parametrize("ending", [".arrow", ".arrows"])
@pytest.mark.parametrize("is_stream", [True, False])
def test_the_call_that_sorts_an_arrow_file_reads_its_format(
    ending: str, is_stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    monkeypatch.chdir(tmp_path)
    path, table = tmp_path / f"rides{ending}", pa.table({"when": [2, 1], "a": [7.0, 8.0], "y": [1.5, 2.5]})
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(path, table.schema) as file:
        file.write_table(table)
    with pytest.raises(ValueError, match="the rows are not in the order of 'when'") as info:
        Stream.from_file(path, "y", time="when").load()
    eval(str(info.value).partition("polars")[2].rpartition(": ")[2], {"pl": polars})
    assert np.asarray(Stream.from_file(tmp_path / "sorted.parquet", "y", time="when").load().X).tolist() == [[8], [7]]


def test_changes_of_chunks_and_arrays_do_not_change_a_file_that_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"{i},{2 * i}\n" for i in range(1, 6)))
    data = Stream.from_file(path, "y").load()
    for _ in range(2):
        for X, y in data.chunks(2):
            assert (y == 2 * X[:, 0]).all()
            X *= 10
            y *= 3
        np.array(data.X)[:] = -1
        np.asarray(data.X)[:] = -1
        data.X.at(np.array([0, 3]))[:] = -1
        assert np.asarray(data.X).ravel().tolist() == data.X.at(np.arange(5)).ravel().tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="an array of them is a copy"):
        np.asarray(data.X, copy=False)


def test_rows_are_sorted_by_integers_of_which_some_exceed_64_signed_bits(tmp_path: Path) -> None:
    path, large = tmp_path / "times.csv", 2**63 + 1000
    rows = [(i, i) for i in range(20_000)] + [(large + 1, 1), (large, 0)]
    path.write_text("t,y,x\n" + "".join(f"{t},{v},1\n" for t, v in rows))
    assert np.asarray(Stream.from_file(path, "y", time="t").load().y)[-2:].tolist() == [0, 1]

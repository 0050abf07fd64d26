"""Folders of files whose columns differ: none is left out, and no number is cast to a smaller type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orfit_bench.spec import Stream

Y = [1.0, 2.0]


def written(folder: Path, *tables: dict[str, Any]) -> Path:
    (path := folder / "rides").mkdir()
    for i, columns in enumerate(tables):
        pq.write_table(pa.table({**columns, "y": Y}), path / f"{i}.parquet")
    return path


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.array([True, False]), pa.array([3, 1])),
        (pa.array([True, False]), pa.array([0.5, 1.0])),
        (pa.array([1, 2]), pa.array([1.5, 2.0])),
        (pa.array([1, 2], pa.int32()), pa.array([2**40, 2])),
        (pa.array([1.5, 2.0], pa.float32()), pa.array([1 / 3, 2e300])),
        (pa.nulls(2), pa.array([1.0, 2.0])),
        (pa.array([1.5, 2.0]), pa.array([True, False])),
    ],
    ids=lambda values: str(values.type),
)
def test_numbers_of_later_files_are_not_cast_to_the_type_of_the_first(first: Any, second: Any, tmp_path: Path) -> None:
    path = written(tmp_path, {"a": first}, {"a": second})
    X = np.asarray(Stream.from_file(path, "y", indicators=True).load().X)[:, 0]
    assert X.tolist() == [float(value or 0) for value in first.to_pylist() + second.to_pylist()]


def test_a_target_is_no_label_if_a_later_file_holds_fractions(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": pa.array([1, 2])}, {"a": pa.array([1.5, 2.0])})
    stream = Stream.from_file(path, "a")
    assert stream.offers == "numbers"
    assert np.asarray(stream.load().y).tolist() == [1, 2, 1.5, 2]


def test_columns_of_later_files_are_columns(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": [1.0, 2.0]}, {"b": [5.0, 6.0], "a": [3.0, 4.0]})
    with pytest.raises(ValueError, match="column 'b' has no value in row 0"):
        Stream.from_file(path, "y").load()
    assert np.asarray(Stream.from_file(path, "y", drop=["b"]).load().X).tolist() == [[1], [2], [3], [4]]
    data = Stream.from_file(path, "y", indicators=True).load()
    assert data.feature_names == ("a", "b", "b is missing")
    assert np.asarray(data.X).tolist() == [[1, 0, 1], [2, 0, 1], [3, 5, 0], [4, 6, 0]]


def test_folders_named_by_a_column_keep_it(tmp_path: Path) -> None:
    for year, a in ((2024, [True, False]), (2025, [3, 4])):
        (folder := tmp_path / "rides" / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"a": a, "y": Y}), folder / "part.parquet")
    data = Stream.from_file(tmp_path / "rides", "y").load()
    assert data.feature_names == ("a", "year")
    assert np.asarray(data.X).tolist() == [[1, 2024], [0, 2024], [3, 2025], [4, 2025]]


def test_the_index_of_a_later_file_is_no_feature(tmp_path: Path) -> None:
    (path := tmp_path / "rides").mkdir()
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    table.to_parquet(path / "0.parquet")
    table[table.a != 2].to_parquet(path / "1.parquet")
    assert Stream.from_file(path, "y").load().feature_names == ("a",)


def test_csv_files_with_more_columns_than_the_first_are_refused(tmp_path: Path) -> None:
    (path := tmp_path / "rides.csv").mkdir()
    (path / "a.csv").write_text("a,y\n1,2\n3,4\n")
    (path / "b.csv").write_text("y,a\n1.5,8\n")
    data = Stream.from_file(path, "y").load()
    assert (np.asarray(data.X).tolist(), np.asarray(data.y).tolist()) == ([[1], [3], [8]], [2, 4, 1.5])
    (path / "b.csv").write_text("a,b,y\n1.5,8,2\n")
    with pytest.raises(ValueError, match=r"its file b\.csv has the column 'b', which the first file lacks"):
        Stream.from_file(path, "y").load()


@pytest.mark.parametrize("depth", [0, 2])
def test_a_link_to_a_folder_that_contains_it_is_refused(depth: int, tmp_path: Path) -> None:
    rides = written(tmp_path, {"a": pa.array([1.0, 2.0])})
    inside = rides.joinpath(*"ab"[:depth])
    inside.mkdir(parents=True, exist_ok=True)
    (inside / "again").symlink_to(rides)
    with pytest.raises(ValueError, match=f"{inside}/again: this link leads to a folder that contains it, {rides}: "):
        Stream.from_file(rides, "y")


def test_a_link_to_a_folder_around_the_rows_is_refused(tmp_path: Path) -> None:
    rides = written(tmp_path, {"a": pa.array([1.0, 2.0])})
    (rides / "again").symlink_to(tmp_path)
    with pytest.raises(ValueError, match=f"{rides}/again: this link leads to a folder that contains it, {tmp_path}: "):
        Stream.from_file(rides, "y")


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    rides = written(tmp_path, {"a": pa.array([1.0, 2.0])})
    (rides / "loop").symlink_to("loop")
    with pytest.raises(FileNotFoundError, match="loop: this link leads to no file"):
        Stream.from_file(rides, "y")


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    rides = written(tmp_path, {"a": pa.array([1.0, 2.0])})
    (rides / "lost.parquet").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=r"lost\.parquet: this link leads to no file"):
        Stream.from_file(rides, "y")


def test_dates_of_all_files_keep_their_time_of_day(tmp_path: Path) -> None:
    hours = pa.array(pd.to_datetime(["1970-01-02 20:00", "1970-01-02 08:00"]))
    for i, dates in enumerate(
        [pa.array([0, 40], pa.date32()), pa.array([0, 3_000_000_000_000_000], pa.timestamp("us"))]
    ):
        (folder := tmp_path / str(i)).mkdir()
        rides = written(folder, {"a": [1.0, 2.0], "t": dates}, {"a": [20.0, 8.0], "t": hours})
        assert Stream.from_file(rides, "y", time="t").load().X[:, 0].tolist() == [1.0, 8.0, 20.0, 2.0]


@pytest.mark.parametrize(
    "other", [pa.array(["007", "12"]), pa.array([0, 1], pa.timestamp("us")), pa.array([[1], [2]])], ids=str
)
def test_columns_of_other_kinds_in_other_files_are_refused(other: Any, tmp_path: Path) -> None:
    rides = written(tmp_path, {"a": pa.array([1, 2])}, {"a": other})
    with pytest.raises(
        ValueError, match=r"1\.parquet: the column 'a' is of type .*, but of type int64 in .*0\.parquet"
    ):
        Stream.from_file(rides, "y")


def test_texts_of_several_types_are_one_column(tmp_path: Path) -> None:
    texts = [pa.array(["u", "v"]), pa.array(["v", "u"]).dictionary_encode(), pa.array(["u", "u"], pa.large_string())]
    for i in range(3):
        (folder := tmp_path / str(i)).mkdir()
        rides = written(folder, *({"a": text} for text in texts[i:] + texts[:i]))
        assert sorted(Stream.from_file(rides, "y", one_hot=True).load().X[:, 0].tolist()) == [0, 0, 1, 1, 1, 1]


def test_an_integer_that_the_type_of_all_files_would_round_is_named(tmp_path: Path) -> None:
    rides = written(tmp_path, {"a": [2**53 + 1, 1]}, {"a": [1.5, 2.5]})
    with pytest.raises(ValueError, match="the integer 9007199254740993 of a column with other numbers in another file"):
        Stream.from_file(rides, "y").load()

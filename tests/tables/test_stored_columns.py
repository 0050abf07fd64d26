"""What files store besides columns: the index of a DataFrame is not a feature, the names of folders are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import orfit_bench as ob
from orfit_bench.spec import Stream

TABLE = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [2.0, 1.0, 0.0, 3.0], "y": [1.0, 2.0, 3.0, 4.0]})
INDEXED = {
    "filtered": TABLE[TABLE.b != 1],
    "named": TABLE.set_index(pd.Index([9, 7, 8, 6], name="id")),
    "two levels": TABLE.set_index(pd.MultiIndex.from_arrays([[1, 2, 3, 4], list("wxyz")], names=["id", None])),
    "dates": TABLE.set_index(pd.date_range("2026-01-01", periods=4)),
}
indexed = pytest.mark.parametrize("table", INDEXED.values(), ids=INDEXED)


def as_stream(table: pd.DataFrame, folder: Path) -> Path:
    rows = pa.Table.from_pandas(table)
    with pa.ipc.new_stream(str(path := folder / "rows.arrows"), rows.schema) as file:
        file.write_table(rows)
    return path


def as_parquet(table: pd.DataFrame, folder: Path) -> Path:
    table.to_parquet(path := folder / "rows.parquet")
    return path


@indexed
@pytest.mark.parametrize("write", [as_stream, as_parquet])
def test_the_index_in_a_file_is_no_feature(write: Callable[..., Path], table: pd.DataFrame, tmp_path: Path) -> None:
    data = Stream.from_file(path := write(table, tmp_path), "y").load()
    assert data.feature_names == ("a", "b")
    np.testing.assert_array_equal(data.X, table[["a", "b"]])
    assert ob.learn("rls", [path], target="y").feature_names_in_.tolist() == ["a", "b"]


@indexed
@pytest.mark.parametrize("convert", [lambda t: t, pa.Table.from_pandas, pa.RecordBatch.from_pandas])
def test_the_index_of_a_table_is_no_feature(convert: Callable[..., Any], table: pd.DataFrame) -> None:
    assert Stream.from_table(convert(table), "y").load().feature_names == ("a", "b")
    learner = ob.create("lms", backend="numpy").partial_fit(convert(table[["a", "b"]]), convert(table[["y"]]))
    assert learner.feature_names_in_.tolist() == ["a", "b"]
    assert learner.state()["output"].values.tolist() == ["y"]
    assert ob.learn("rls", [pa.Table.from_pandas(table)], target="y").feature_names_in_.tolist() == ["a", "b"]


def test_an_unnamed_index_is_known_without_metadata() -> None:
    rows = pl.from_arrow(pa.Table.from_pandas(INDEXED["filtered"]))
    assert isinstance(rows, pl.DataFrame)
    assert "__index_level_0__" in rows.columns
    learner = ob.create("lms", backend="numpy").partial_fit(rows.drop("y"), rows["y"])
    assert learner.feature_names_in_.tolist() == ["a", "b"]


def test_a_named_index_is_read_where_its_name_is_given(tmp_path: Path) -> None:
    path = as_parquet(INDEXED["named"], tmp_path)
    data = Stream.from_file(path, "y", time="id").load()
    assert data.feature_names == ("a", "b")
    np.testing.assert_array_equal(data.y, [4.0, 2.0, 3.0, 1.0])
    np.testing.assert_array_equal(Stream.from_file(path, "id").load().y, [9, 7, 8, 6])
    assert Stream.from_file(path, "y", drop="id").load().feature_names == ("a", "b")


def test_an_index_that_was_learned_as_a_column_is_found_again() -> None:
    table = INDEXED["named"].reset_index()[["id", "a"]]
    learner = ob.create("rls", backend="numpy").partial_fit(table, TABLE["y"])
    stored = pa.Table.from_pandas(table.set_index("id"))
    np.testing.assert_array_equal(learner.predict(stored), learner.predict(table))


def test_a_file_with_an_index_alone_is_refused(tmp_path: Path) -> None:
    path = as_parquet(TABLE[["y"]].set_index(TABLE["a"]), tmp_path)
    with pytest.raises(ValueError, match=r"no column is left to learn: .* or hold the index of a DataFrame .'a'"):
        Stream.from_file(path, "y")


def test_labels_may_have_an_index() -> None:
    labels = pa.Table.from_pandas(pd.DataFrame({"kind": ["u", "v", "u"]}, index=[4, 5, 6]))
    learner = ob.create("class_rls", backend="numpy").partial_fit([[1.0], [2.0], [3.0]], labels)
    assert learner.classes_.tolist() == ["u", "v"]


def test_a_column_without_a_name_is_refused(tmp_path: Path) -> None:
    TABLE.to_csv(path := tmp_path / "rides.csv")
    with pytest.raises(ValueError, match=r"rides.csv: a column has no name, as that of the index .* index=False"):
        Stream.from_file(path, "y")
    assert Stream.from_file(path, "y", drop=[""]).load().feature_names == ("a", "b")
    with pytest.raises(ValueError, match="a column has no name"):
        ob.learn("rls", [path], target="y")


PARTS = pd.DataFrame(
    {"a": np.arange(12.0), "y": np.arange(12.0) % 5, "year": [2023, 2024, 2024] * 4, "city": list("uvww") * 3}
)


def test_folders_named_by_a_column_are_that_column(tmp_path: Path) -> None:
    PARTS.to_parquet(tmp_path / "rides", partition_cols=["year", "city"])
    data = Stream.from_file(tmp_path / "rides", "y", one_hot=True).load()
    assert data.feature_names == ("a", "year", "city=u", "city=v", "city=w")
    want = PARTS.set_index("a").loc[data.X[:, 0]]
    np.testing.assert_array_equal(data.X[:, 1], want["year"])
    np.testing.assert_array_equal(data.X[:, 4], want["city"] == "w")
    assert Stream.from_file(tmp_path / "rides", "y", drop=["city", "year"]).load().feature_names == ("a",)
    labels = Stream.from_file(tmp_path / "rides", "city", drop=["year"]).load()
    assert set(np.asarray(labels.y)) == {"u", "v", "w"}
    with pytest.raises(TypeError, match="'city': want numbers, got texts"):
        Stream.from_file(tmp_path / "rides", "y")


def test_folders_give_columns_to_shards_and_order(tmp_path: Path) -> None:
    PARTS.drop(columns="city").to_parquet(tmp_path / "rides", partition_cols=["year"])
    assert ob.learn("rls", [tmp_path / "rides"], target="y").feature_names_in_.tolist() == ["a", "year"]
    assert Stream.from_file(tmp_path / "rides", "y", time="year").load().feature_names == ("a",)
    one_file = next((tmp_path / "rides" / "year=2023").glob("*.parquet"))
    assert Stream.from_file(one_file, "y").load().feature_names == ("a",)  # a file has its own columns


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_column_that_the_files_have_too_is_theirs(ending: str, tmp_path: Path) -> None:
    for year, part in PARTS.drop(columns="city").groupby("year"):
        (folder := tmp_path / f"rides{ending}" / f"year={year}").mkdir(parents=True)
        getattr(part, f"to_{ending[1:]}")(folder / f"rides{ending}", index=False)
    data = Stream.from_file(tmp_path / f"rides{ending}", "y").load()
    assert data.feature_names == ("a", "year")
    np.testing.assert_array_equal(data.X[:, 1], PARTS.set_index("a").loc[data.X[:, 0]]["year"])


def test_folders_of_csv_files_and_missing_values(tmp_path: Path) -> None:
    for year in ("2024", "__HIVE_DEFAULT_PARTITION__"):
        (folder := tmp_path / "rides.csv" / f"year={year}").mkdir(parents=True)
        PARTS[["a", "y"]].to_csv(folder / "rides.csv", index=False)
    with pytest.raises(ValueError, match="column 'year' has no value in row 12"):
        Stream.from_file(tmp_path / "rides.csv", "y").load()
    data = Stream.from_file(tmp_path / "rides.csv", "y", indicators=True).load()
    assert data.feature_names == ("a", "year", "year is missing")
    assert data.X[:, 2].tolist() == [0.0] * 12 + [1.0] * 12

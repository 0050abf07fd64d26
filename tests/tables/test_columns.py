"""Names and kinds of columns: codes and hexadecimal numbers in CSV files, names that are repeated or not strings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import orfit_bench as ob
from orfit_bench.bench import Suite
from orfit_bench.spec import Stream


def hexadecimal(path: Path, before: int = 1) -> Path:
    path.write_text("id,a,y\n" + "5,1,1\n" * before + "0x1F,2,2\n0x2,3,3\n")
    return path


def test_columns_of_hexadecimal_numbers_are_texts(tmp_path: Path) -> None:
    path = hexadecimal(tmp_path / "hex.csv")
    data = Stream.from_file(path, "y", drop=["id"]).load()
    np.testing.assert_array_equal(data.X, [[1.0], [2.0], [3.0]])
    encodings: list[dict[str, Any]] = [{"one_hot": True}, {"categorical": ["id"]}]
    for encoded in encodings:
        names = Stream.from_file(path, "y", **encoded).load().feature_names
        assert names == ("id=0x1F", "id=0x2", "id=5", "a")
    labels = Stream.from_file(path, "id")
    assert labels.offers == "labels"
    assert np.asarray(labels.load().y).tolist() == ["5", "0x1F", "0x2"]
    with pytest.raises(TypeError, match=r"'id': want numbers, got texts: row 1 of 'id' holds '0x1F'; .*\(--drop\)"):
        Stream.from_file(path, "y")
    with pytest.raises(TypeError, match="the time 'id' is of type text, want numbers, dates or times"):
        Stream.from_file(path, "y", time="id").load()
    assert ob.learn("rls", [path], target="y", drop=["id"], backend="numpy").n_samples_seen_ == 3


def test_texts_in_late_rows_name_the_column(tmp_path: Path) -> None:
    path = hexadecimal(tmp_path / "late.csv", 300_000)
    with pytest.raises(
        ValueError, match=r"late.csv: cannot be read: column 'id' holds '0x1F' in line 300002, and numbers .*--drop"
    ):
        Stream.from_file(path, "y").load()
    assert len(Stream.from_file(path, "y", drop=["id"]).load().X) == 300_002


def test_targets_with_leading_zeros_are_labels(tmp_path: Path) -> None:
    (path := tmp_path / "zips.csv").write_text("a,zip\n1,01234\n2,1234\n3,5\n")
    stream = Stream.from_file(path, "zip")
    assert stream.offers == "labels"
    assert np.asarray(stream.load().y).tolist() == ["01234", "1234", "5"]
    assert ob.learn("class_rls", [path], target="zip", backend="numpy").classes_.tolist() == ["01234", "1234", "5"]
    with pytest.raises(ValueError, match=r"'rls' \(regression\) cannot learn from file: .* has strings as targets\."):
        Suite(["rls"], ["numpy"], [stream]).cells()
    with pytest.raises(TypeError, match=r"y\[0\] is of type str \(labels are for methods of classification"):
        ob.learn("rls", [path], target="zip", backend="numpy")
    assert np.asarray(Stream.from_file(path, "zip", gaps=True).load().y).tolist() == [1234.0, 1234.0, 5.0]
    path.write_text("a,zip\n1,0\n2,10\n3,-5\n")
    assert Stream.from_file(path, "zip").offers == "integers"
    path.write_text("a,zip\n1,01.5\n2,0.5\n3,5\n")
    assert Stream.from_file(path, "zip").offers == "numbers"


def test_columns_of_the_same_name_are_refused_by_name(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["a", "a", "y"])
    refused = "got more than one column named 'a': rename or drop one"
    for given in (table, table.to_batches()[0], pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "y"])):
        with pytest.raises(ValueError, match=f"table: {refused}"):
            Stream.from_table(given, "y")
    (tmp_path / "folder").mkdir()
    for name in ("rows.parquet", "folder/rows.parquet"):
        pq.write_table(table, tmp_path / name)
    with pa.OSFile(str(tmp_path / "rows.feather"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pa.OSFile(str(tmp_path / "rows.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    for name in ("rows.parquet", "folder", "rows.feather", "rows.arrows"):
        with pytest.raises(ValueError, match=f"{name}: {refused}"):
            Stream.from_file(tmp_path / name, "y")


def test_names_of_columns_are_those_of_learners() -> None:
    columns = pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("y", 1)])
    table = pd.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], columns=columns)
    features = table.iloc[:, :2]
    learner = ob.create("rls", backend="numpy").partial_fit(features, table["y"][1])
    data = Stream.from_table(table, "('y', 1)").load()
    assert list(data.feature_names) == learner.feature_names_in_.tolist() == ["('a', 1)", "('b', 2)"]
    assert Stream.from_table(pd.DataFrame([[1.0, 2.0]]), "1").load().feature_names == ("0",)
    with pytest.raises(TypeError, match="got Series, want a table with named columns"):
        Stream.from_table(pd.Series([1.0, 2.0]), "a")
    with pytest.raises(ValueError, match="table: got more than one column named '1'"):
        Stream.from_table(pd.DataFrame([[1.0, 2.0]], columns=[1, "1"]), "1")


def test_arguments_that_are_no_names_are_named() -> None:
    table = pd.DataFrame({"a": [1.0], "y": [2.0]})
    cases: list[dict[str, Any]] = [{"target": 1}, {"target": "y", "drop": [1]}, {"target": "y", "categorical": [1]}]
    for given in cases:
        what, value = list(given.items())[-1]
        with pytest.raises(TypeError, match=re.escape(f"{what}={value}: want a string or a list of different strings")):
            Stream.from_table(table, **given)
    with pytest.raises(TypeError, match="time=3: want a string or None"):
        Stream.from_table(table, "y", time=3)  # type: ignore[arg-type]


def test_complex_columns_are_refused_by_name() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "wave": [1j, 2j], "y": [1.0, 2.0]})
    with pytest.raises(TypeError, match=r"table: a column is not readable: .* column wave with type complex128"):
        Stream.from_table(table, "y")


def test_objects_of_several_types_are_refused_by_column() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "kind": pd.Series([1.0, "x"], dtype=object), "y": [1.0, 2.0]})
    with pytest.raises(
        TypeError, match=r"table: a column holds objects of several types: .* column kind with type object"
    ):
        Stream.from_table(table, "y")


@pytest.mark.parametrize("names", [["a", "b"], [0, 1]])
def test_a_table_of_dask_is_refused_with_the_call_that_computes_it(names: list[Any]) -> None:
    dataframe = pytest.importorskip("dask.dataframe")
    table = dataframe.from_pandas(pd.DataFrame(np.ones((4, 2)), columns=names), npartitions=1)
    message = r"X: got a DataFrame of Dask, whose rows are not in memory: pass \.compute\(\)"
    with pytest.raises(TypeError, match=message):
        ob.create("rls").partial_fit(table, np.ones(4))


def test_columns_whose_labels_are_numbers_are_named_by_them() -> None:
    with pytest.raises(TypeError, match="X: column '20' is of dtype"):
        ob.create("lms", backend="numpy").partial_fit(pd.DataFrame({10: [1.0], 20: ["a"]}), [1.0])

"""Columns of strings, integers and booleans that become one column for each of their values, on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

from orfit_bench.bench import load
from orfit_bench.cli import main
from orfit_bench.spec import Stream, file_stream
from orfit_bench.tables import sources

TABLE = pd.DataFrame(
    {
        "a": np.arange(40) / 8,
        "zone": [10, 9, 2, 10] * 10,
        "night": [True, False] * 20,
        "city": ["rome", "oslo"] * 20,
        "fare": np.arange(40.0),
    }
)
NAMES = ("a", "zone=2", "zone=9", "zone=10", "night=False", "night=True", "city=oslo", "city=rome")
CHOSEN: dict[str, Any] = {"target": "fare", "categorical": ["zone", "night", "city"]}
WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    ".csv": lambda t, path: t.to_csv(path, index=False),
    ".parquet": lambda t, path: t.to_parquet(path),
    ".arrow": lambda t, path: t.to_feather(path),
}
formats = pytest.mark.parametrize("ending", WRITERS)


@formats
def test_each_value_becomes_a_column(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BATCH", 7)
    WRITERS[ending](TABLE, path := tmp_path / f"rides{ending}")
    data = Stream.from_file(path, **CHOSEN).load()
    assert data.feature_names == NAMES
    for name, column in zip(NAMES[1:], data.X.T[1:], strict=True):
        of, value = name.split("=")
        np.testing.assert_array_equal(column, TABLE[of].astype(str) == value)
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    np.testing.assert_array_equal(np.asarray(Stream.from_file(path, **CHOSEN).load().X), data.X)


def test_codes_with_leading_zeros_differ_from_numbers(tmp_path: Path) -> None:
    (path := tmp_path / "codes.csv").write_text("zip,n,y\n01234,1,1\n1234,10,2\n99,2,3\n")
    data = Stream.from_file(path, "y", categorical=["zip", "n"]).load()
    assert data.feature_names == ("zip=01234", "zip=1234", "zip=99", "n=1", "n=2", "n=10")
    np.testing.assert_array_equal(data.X[:, :2], [[1, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize("make", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
def test_tables_in_memory_have_categories_too(make: Callable[[Any], Any]) -> None:
    table = TABLE.astype({"zone": "int8"})
    assert Stream.from_table(make(table), **CHOSEN).load().feature_names == NAMES


def test_categories_of_pandas_need_the_request() -> None:
    table = TABLE.astype({"zone": "category"})
    assert Stream.from_table(table, **CHOSEN).load().feature_names == NAMES
    with pytest.raises(TypeError, match=r"'zone' is of type dictionary of int64, want numbers: .*--categorical"):
        Stream.from_table(table, "fare", one_hot=True)


@formats
def test_missing_values_are_indicated_or_refused(ending: str, tmp_path: Path) -> None:
    table = TABLE.astype({"zone": "Int64", "night": "boolean"})
    table.loc[[3, 30], "zone"] = pd.NA
    table.loc[5, "night"] = pd.NA
    WRITERS[ending](table, path := tmp_path / f"rides{ending}")
    with pytest.raises(ValueError, match="column 'zone' has no value in row 3"):
        Stream.from_file(path, **CHOSEN).load()
    data = Stream.from_file(path, **CHOSEN, indicators=True).load()
    assert "zone is missing" in data.feature_names
    columns = dict(zip(data.feature_names, data.X.T, strict=True))
    assert np.flatnonzero(columns["zone is missing"]).tolist() == [3, 30]
    assert np.flatnonzero(columns["night is missing"]).tolist() == [5]
    assert [columns[f"zone={v}"][3] for v in (2, 9, 10)] == [0, 0, 0]


@formats
def test_values_that_appear_late_have_a_column_from_the_first_row_on(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BATCH", 7)
    table = TABLE.assign(zone=[1] * 35 + [2] * 5, city=["rome"] * 39 + ["bonn"])
    WRITERS[ending](table, path := tmp_path / f"rides{ending}")
    data = Stream.from_file(path, **CHOSEN, test=0.1).load()
    assert {"zone=1", "zone=2", "city=bonn", "city=rome"} <= set(data.feature_names)
    assert data.test is not None
    for rows in (data.X, data.test[0]):
        assert rows.shape[1] == len(data.feature_names)
    assert data.test[0][-1, data.feature_names.index("city=bonn")] == 1


def test_columns_of_the_same_name_are_refused() -> None:
    table = pd.DataFrame({"a": ["b", "c"], "a=b": [1.0, 2.0], "y": [0.0, 1.0]})
    with pytest.raises(ValueError, match="columns 'a' and 'a=b' would both become a column 'a=b': rename one of them"):
        Stream.from_table(table, "y", one_hot=True).load()
    assert Stream.from_table(table, "y", one_hot=True, drop=["a=b"]).load().feature_names == ("a=b", "a=c")
    table = pd.DataFrame({"a": ["b=c", "b=d"], "a=b": ["c", "d"], "y": [0.0, 1.0]})
    with pytest.raises(ValueError, match="would both become a column 'a=b=c'"):
        Stream.from_table(table, "y", one_hot=True).load()
    table = pd.DataFrame({"a": [1.0, np.nan], "a is missing": [0.0, 1.0], "y": [0.0, 1.0]})
    with pytest.raises(ValueError, match="columns 'a' and 'a is missing' would both become a column 'a is missing'"):
        Stream.from_table(table, "y", indicators=True).load()


def test_what_cannot_be_a_category_is_refused(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"categorical": ["a"]}, TypeError, "column 'a' is of type number, want texts, integers or booleans"),
        ({"categorical": ["zones"]}, ValueError, "no column 'zones' .categorical.. Did you mean 'zone'"),
        ({"categorical": ["zone"], "drop": ["zone"]}, ValueError, "'zone' is named as categorical and as drop"),
        ({"categorical": ["fare"]}, ValueError, "'fare' is named as categorical and as target"),
        ({"categorical": ["zone"]}, TypeError, "'city': want numbers, got texts"),
    ]
    for given, error, message in cases:
        with pytest.raises(error, match=message):
            Stream.from_table(TABLE, "fare", **given)
    with pytest.raises(ValueError, match="column 'id' has more than 100 different values"):
        Stream.from_table(pd.DataFrame({"id": range(200), "y": 1.0}), "y", categorical=["id"]).load()
    (tmp_path / "late.csv").write_text("a,y\n" + "1,2\n" * 400_000 + "1.5,2\n")
    with pytest.raises(ValueError, match=r"column 'a' holds 1.5, want texts, integers or booleans"):
        Stream.from_file(tmp_path / "late.csv", "y", categorical=["a"]).load()


def test_the_command_takes_categories(tmp_path: Path) -> None:
    TABLE.to_csv(path := tmp_path / "rides.csv", index=False)
    command = ["run", "--data", str(path), "--target", "fare", "--categorical", "zone", "--categorical", "night"]
    command += ["--one-hot", "--method", "lms", "--backend", "numpy", "--output", str(tmp_path / "results.nc")]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "results.nc")["d"].values.tolist() == [len(NAMES)]
    result = CliRunner().invoke(main, ["run", "--categorical", "zone"])
    assert result.exit_code == 2
    assert "--categorical names a column or a part of a file: add --data FILE" in result.output


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("values", [[3, 1, 2], [True, False, True]])
def test_categories_of_pandas_that_are_no_texts_are_no_numbers_in_files(tmp_path, ending, values):
    """A Parquet file has them without a dictionary; pandas notes what they are."""
    table = pd.DataFrame({"a": [0.5, 1.5, 2.5], "zone": pd.Categorical(values), "y": [1.0, 2.0, 3.0]})
    path = tmp_path / f"zones.{ending}"
    getattr(table, f"to_{ending}")(path)
    for one_hot in (False, True):
        with pytest.raises(TypeError, match=r"column 'zone' is of type dictionary of .*, want numbers"):
            Stream.from_file(path, "y", one_hot=one_hot)
    data = Stream.from_file(path, "y", categorical=["zone"]).load()
    assert len(data.feature_names) == 1 + len(set(values))


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("values", [[3, 1, 2, 1], [True, False, True, True]])
def test_categories_of_pandas_may_be_labels(tmp_path, ending, values):
    table = pd.DataFrame({"a": [0.5, 1.5, 2.5, 3.5], "y": pd.Categorical(values)})
    path = tmp_path / f"labels.{ending}"
    getattr(table, f"to_{ending}")(path)
    for stream in (Stream.from_file(path, "y"), Stream.from_table(table, "y")):
        assert stream.offers == "labels"
        assert np.asarray(stream.load().y).tolist() == values
    table.loc[2, "y"] = None
    with pytest.raises(ValueError, match="the target 'y' has no value in row 2"):
        Stream.from_table(table, "y").load()


def test_categories_that_would_be_rounded_are_no_labels(tmp_path):
    large = pd.Categorical(np.array([2**63 + 1, 2**63 + 2, 5], np.uint64))
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": large})
    table.to_feather(tmp_path / "large.feather")
    for stream in (Stream.from_table(table, "y"), Stream.from_file(tmp_path / "large.feather", "y")):
        with pytest.raises(ValueError, match="column 'y' holds 9223372036854775809 in row 0, which would be rounded"):
            stream.load()


def test_categories_that_were_converted_are_numbers():
    table = pa.Table.from_pandas(pd.DataFrame({"c": pd.Categorical([3.0, 4.0]), "y": [1.0, 2.0]}))
    table = table.set_column(0, "c", table["c"].cast(pa.float64()))  # the notes of pandas stay
    assert Stream.from_table(table, "y").load().X[:].tolist() == [[3.0], [4.0]]

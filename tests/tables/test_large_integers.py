"""Integers beyond 2^53 in files: never rounded silently, as in tables in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import orfit_bench as ob
from orfit_bench.spec import Stream

ODD = 2**53 + 1


def write_arrow(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def write_npy(table: pa.Table, path: Path) -> None:
    np.save(path, table.to_pandas().to_records(index=False))


WRITERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    ".csv": pyarrow.csv.write_csv,
    ".parquet": pq.write_table,
    ".arrow": write_arrow,
    ".npy": write_npy,
}
formats = pytest.mark.parametrize("ending", WRITERS)


def written(folder: Path, ending: str, values: list[int | None], dtype: Any = None) -> Path:
    table = pa.table({"id": pa.array(values, dtype), "y": [float(i) for i in range(len(values))]})
    WRITERS[ending](table, path := folder / f"rows{ending}")
    return path


@formats
@pytest.mark.parametrize(("value", "dtype"), [(ODD, None), (-ODD, None), (2**63 + 1, pa.uint64())])
def test_a_rounded_integer_is_refused_by_column_and_row(ending: str, value: int, dtype: Any, tmp_path: Path) -> None:
    path = written(tmp_path, ending, [1, 2, value, 4], dtype)
    refused = rf"rows{ending}: column 'id' holds {value} in row 2, which would be rounded"
    with pytest.raises(ValueError, match=refused):
        Stream.from_file(path, "y").load()
    with pytest.raises(ValueError, match=refused):
        ob.learn("rls", [path], target="y")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_missing_values_hide_none(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path, ending, [1, None, ODD])
    with pytest.raises(ValueError, match=f"column 'id' holds {ODD} in row 2"):
        Stream.from_file(path, "y", indicators=True).load()
    column = pa.array([1, None, ODD])
    with pytest.raises(ValueError, match=f"y: the column holds {ODD} in row 2"):
        ob.create("kalman", backend="numpy").partial_fit([[1.0], [2.0], [3.0]], column)


@formats
def test_large_integers_that_doubles_hold_are_numbers(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path, ending, [1, 2**60, -(2**53)])
    assert Stream.from_file(path, "y").load().X[:, 0].tolist() == [1.0, 2.0**60, -(2.0**53)]


@formats
def test_labels_and_times_are_exact(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path, ending, [ODD + 1, ODD, ODD + 2])
    assert Stream.from_file(path, "id").load().y.tolist() == [ODD + 1, ODD, ODD + 2]  # type: ignore[union-attr]
    table = pa.table({"id": [ODD + 1, ODD], "a": [0.5, 1.5], "y": [0.0, 1.0]})
    WRITERS[ending](table, path)
    assert Stream.from_file(path, "y", time="id").load().X[:, 0].tolist() == [1.5, 0.5]


def test_several_targets_are_checked_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, ODD], "y": [1.0, 2.0], "a": [1.0, 2.0]}), path := tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=f"column 'id' holds {ODD} in row 1"):
        Stream.from_file(path, ["id", "y"]).load()


def test_late_rows_of_a_csv_file_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("id,y\n" + "1,2\n" * 300_000 + f"{ODD},3\n")
    with pytest.raises(ValueError, match=f"column 'id' holds {ODD} in row 300000"):
        Stream.from_file(path, "y").load()
    y = np.asarray(Stream.from_file(path, "id").load().y)
    assert (len(y), y[0], y[-1]) == (300_001, 1, ODD)


@pytest.mark.parametrize(
    "values", [["99999999999999999999"], ["18446744073709551615", "1" + 20 * "0"], ["9" * 400], ["9" * 5000]]
)
def test_integers_too_large_for_arrow_are_not_rounded(values: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,2\n" + "".join(f"{value},3\n" for value in values) + ",4\n")
    with pytest.raises(ValueError, match=f"column 'a' holds the integer {values[0]:.40}, which float64 would round"):
        Stream.from_file(path, "y", indicators=True).load()
    path.write_text(f"a,y\n1,2\n1{20 * '0'},3\n")
    assert Stream.from_file(path, "y").load().X[:, 0].tolist() == [1.0, 1e20]


def test_a_column_with_fractions_holds_doubles(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("a,y\n1,2\n1e300,3\n123456789012345678,4\n0.5,5\n")
    assert Stream.from_file(path, "y").load().X[:, 0].tolist() == [1.0, 1e300, 123456789012345678.0, 0.5]


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128])
def test_integers_of_128_bits_are_numbers(dtype: Any) -> None:
    table = pl.DataFrame({"a": [1, 2, 3], "y": [2, 4, 6]}).cast(dtype)
    learner = ob.create("rls", backend="numpy").partial_fit(table[["a"]], table["y"])
    same = ob.create("rls", backend="numpy").partial_fit(np.array([[1.0], [2.0], [3.0]]), np.array([2.0, 4.0, 6.0]))
    np.testing.assert_array_equal(learner.array("w"), same.array("w"))
    data = Stream.from_table(table, "y").load()
    assert np.asarray(data.X).tolist() == [[1], [2], [3]]
    assert np.asarray(data.y).tolist() == [2, 4, 6]
    large = pl.DataFrame({"a": pl.Series([1, 2**100, 3], dtype=dtype), "y": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=f"X: column 'a' holds {2**100}, which needs more than 64 bits"):
        learner.partial_fit(large[["a"]], large["y"])
    with pytest.raises(ValueError, match=f"table: column 'a' holds {2**100}, which needs more than 64 bits"):
        Stream.from_table(large, "y")


def test_integers_of_64_bits_without_a_sign_are_no_larger() -> None:
    column = pl.Series([1, 2**63 + 1, 3], dtype=pl.UInt128)
    with pytest.raises(ValueError, match=f"X: column 'a' holds {2**63 + 1} in row 1, which would be rounded"):
        ob.create("rls", backend="numpy").partial_fit(pl.DataFrame({"a": column}), [1.0, 2.0, 3.0])

"""Tables that are converted in one step: the same numbers and refusals as column by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from orfit_bench.tables.at_once import convert_at_once
from orfit_bench.tables.column_numbers import side_by_side
from orfit_bench.tables.columns import read_columns

TYPES = ["float64", "float32", "int64", "uint64", "int32", "int16", "int8", "uint8", "bool"]
LIBRARIES: dict[str, Callable[[dict[str, NDArray[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "arrow in pandas": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}
libraries = pytest.mark.parametrize("library", LIBRARIES)
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def columns_of(types: list[str], rows: int = 20) -> dict[str, NDArray[Any]]:
    """Columns whose numbers need all the digits of their types, or of a double."""
    rng = np.random.default_rng(len(types))
    columns: dict[str, NDArray[Any]] = {}
    for i, name in enumerate(types):
        dtype = np.dtype(name)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            values = rng.integers(max(limits.min, 1 - 2**53), min(limits.max, 2**53 - 1), rows, endpoint=True)
        else:
            values = rng.normal(size=rows) > 0 if name == "bool" else rng.normal(size=rows)
        columns[f"{name} {i}"] = values.astype(dtype)
    return columns


@libraries
@pytest.mark.parametrize("types", [TYPES, TYPES[::-1], ["float32", "int32"], ["int64", "uint64"], ["bool"], ["int8"]])
def test_numbers_equal_those_of_the_columns(library: str, types: list[str]) -> None:
    columns = columns_of(types)
    table = nw.from_native(LIBRARIES[library](columns))
    found = convert_at_once(table, table.columns, "X", DOUBLE)
    np.testing.assert_array_equal(found, np.column_stack([values.astype(float) for values in columns.values()]))
    np.testing.assert_array_equal(found, side_by_side(list(table.iter_columns()), "X", len(table), False, DOUBLE))


@libraries
def test_large_integers_are_refused_by_column_and_row(library: str) -> None:
    for dtype, value in ((DOUBLE, 2**53 + 1), (SINGLE, -(2**24) - 1)):
        table = LIBRARIES[library]({"a": np.array([1, 2, 3]), "b": np.array([1, 2, value])})
        with pytest.raises(ValueError, match=rf"X: column 'b' holds {value} in row 2, which would be rounded"):
            read_columns(table, "X", dtype=dtype)
        exact = LIBRARIES[library]({"a": np.array([1.5, 2.0]), "b": np.array([1, 2**60])})
        np.testing.assert_array_equal(read_columns(exact, "X", dtype=dtype).values, [[1.5, 1.0], [2.0, 2.0**60]])


@pytest.mark.parametrize("library", ["nullable", "arrow in pandas", "polars", "arrow"])
@pytest.mark.parametrize("values", [[1.0, None, 3.0], [1, None, 3], [True, None, False]])
def test_missing_values_are_refused_by_column_and_row(library: str, values: list[Any]) -> None:
    arrow = pa.table({"a": [0.0, 1.0, 2.0], "b": values})
    given: dict[str, Any] = {
        "nullable": arrow.to_pandas().convert_dtypes(),
        "arrow in pandas": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.from_arrow(arrow),
        "arrow": arrow,
    }
    with pytest.raises(ValueError, match="X: column 'b' has 1 missing values, the first in row 1"):
        read_columns(given[library], "X")
    found = read_columns(given[library], "X", missing=True).values
    np.testing.assert_array_equal(found, [[0.0, values[0]], [1.0, np.nan], [2.0, values[2]]])


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_columns_are_put_in_the_known_order(library: str) -> None:
    columns = {name: np.full(2, float(i)) for i, name in enumerate("cab")}
    found = read_columns(LIBRARIES[library](columns), "X", known=("a", "b", "c"))
    np.testing.assert_array_equal(found.values, [[1.0, 2.0, 0.0]] * 2)
    assert found.names == ("a", "b", "c")

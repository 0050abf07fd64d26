"""Rows of an array or a table by their positions, in the type that was given: tables keep the names of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.tables.columns import as_narwhals, has_columns, is_table
from orfit_bench.tables.data_arrays import is_data_array
from orfit_bench.tables.plain_values import is_categorical, refuse_masked
from orfit_bench.tables.row_view import RowView


def as_selectable(value: Any, name: str) -> Any:
    """Rows that `take_rows` accepts: tables and categories unchanged, anything else as an array.

    Raises TypeError for a masked array, for a table whose rows are not in memory, and for anything without rows.
    """
    if is_data_array(value) or is_categorical(value):
        return value
    if is_table(value) and (table := as_narwhals(value, name)) is not None:
        return value if hasattr(type(value), "iloc") else table.to_native()
    refuse_masked(value, name)
    array = np.asarray(value)
    if not array.ndim:
        raise TypeError(f"{name}: got {type(value).__name__}, want an array or a table of rows")
    return array


def take_rows(rows: Any, places: slice | NDArray[Any]) -> Any:
    """The rows at these positions, which may repeat, in the type of `rows`; a slice of an array is a view.

    Objects that have slices only give arrays if `places` is an array.
    """
    if hasattr(type(rows), "iloc"):  # the brackets of pandas take labels
        return rows.iloc[places]
    if isinstance(places, slice):
        return rows[places]
    if isinstance(rows, RowView):
        return rows.at(places)
    if type(rows).__module__.partition(".")[0] == "pyarrow":
        return rows.take(places)
    if isinstance(rows, np.ndarray) or has_columns(rows) or is_categorical(rows):
        return rows[places]
    return np.concatenate([rows[:0], *(rows[i : i + 1] for i in places.tolist())])

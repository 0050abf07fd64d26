"""Tables as arrays: pandas, polars, Arrow and other tables that narwhals supports, and arrays of xarray.

narwhals is imported when the first table is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.tables.at_once import convert_at_once
from orfit_bench.tables.column_numbers import check_no_gaps, numbers, side_by_side
from orfit_bench.tables.data_arrays import is_data_array, is_data_set, labels_of_entries, read_data_array
from orfit_bench.tables.integers import DOUBLE
from orfit_bench.tables.names import NamedValues, arrange, check_distinct, quoted, with_text_names
from orfit_bench.tables.pandas_index import index_columns

TABLE_PROTOCOLS = ("__dataframe__", "__arrow_c_stream__", "__arrow_c_array__", "collect_schema", "columns")
"""Attributes that identify types of tables and of their columns; arrays have none of them."""


def read_columns(
    value: Any,
    argument: str,
    known: tuple[str, ...] = (),
    missing: bool = False,
    width: int | None = None,
    dtype: np.dtype[Any] = DOUBLE,
) -> NamedValues:
    """The numbers of a table or column in the order of the known names; other values are returned without names.

    With `missing`, missing numbers are NaN. `width` is the number of columns of earlier rows without names; all
    integers must be exact in `dtype`. Raises TypeError or ValueError that names the columns that are refused.
    """
    if type(value) is np.ndarray or isinstance(value, (list, tuple, float)):
        return NamedValues(value)
    if is_data_set(value):
        raise TypeError(
            f"{argument}: got an xarray.Dataset, want a DataArray (rows, features): pass "
            f'{argument}.to_dataarray("feature").transpose(..., "feature")'
        )
    if is_data_array(value):
        return read_data_array(value, argument, known, width)
    if not is_table(value):
        return NamedValues(value)
    table = as_narwhals(value, argument)
    if table is None:
        return NamedValues(value)
    if not hasattr(table, "columns"):  # a single column
        return NamedValues(numbers(table, argument, table.name or "", missing, dtype))
    is_pandas = hasattr(value, "iloc")
    labels = value.columns.tolist() if is_pandas else _stored_names(table, known)
    order, names = arrange(labels, known, width, argument)
    values = convert_at_once(table, labels, argument, dtype)
    if values is not None:
        return NamedValues(values if order == sorted(order) else values[:, order], names)
    columns = list(table.iter_columns()) if is_pandas else [table[name] for name in labels]
    return NamedValues(side_by_side([columns[i] for i in order], argument, len(table), missing, dtype), names)


def refuse_named_rows(rows: Any, argument: str) -> None:
    """Raise TypeError for a list of rows whose entries have names, since each can have another order."""
    if not isinstance(rows, (list, tuple)):
        return
    if not any(hasattr(kind, "iloc") or hasattr(kind, "coords") for kind in set(map(type, rows))):
        return
    for i, row in enumerate(rows):
        labels = labels_of_entries(row) or []
        if any(isinstance(label, str) for label in labels):
            kind = type(row).__name__
            remedy = f"pandas.DataFrame({argument})" if kind == "Series" else f'xarray.concat({argument}, "row")'
            raise TypeError(
                f"{argument}[{i}] is a {kind} with the names {quoted(labels)}, and a list of rows has no names: pass "
                f"{remedy}"
            )


def is_table(value: Any) -> bool:
    """Whether the value is a table or a column of a table."""
    return any(hasattr(type(value), name) for name in TABLE_PROTOCOLS)


def has_columns(value: Any) -> bool:
    """Whether the value is a table, a column, or an array of xarray; their columns can have names."""
    return is_table(value) or is_data_array(value)


def is_of_dask(value: Any) -> bool:
    """Whether the value is a Dask collection."""
    return hasattr(value, "dask") and hasattr(value, "compute")


def read_labels(value: Any) -> Any:
    """The labels of a column, or of a table with one column, as an array or list; other values unchanged."""
    if type(value) is np.ndarray or isinstance(value, (list, tuple)):
        return value
    if is_data_array(value):
        return value.to_numpy()
    if not is_table(value):
        return value
    column = as_narwhals(value, "y")
    if column is None:
        return value
    if hasattr(column, "columns"):
        names = column.columns if hasattr(value, "iloc") else _stored_names(column, ())
        if len(names) != 1:
            raise ValueError(f"y: got a table of {len(names)} columns, want one column of labels")
        column = column[names[0]]
    check_no_gaps(column, "y", column.name or "")
    return column.to_list()


def _stored_names(table: Any, known: tuple[str, ...]) -> list[str]:
    """The columns of a table without those of a pandas index, unless the first table had the index as a column."""
    schema = getattr(table.to_native(), "schema", None)
    hidden = index_columns(table.columns, getattr(schema, "metadata", None))
    return [name for name in table.columns if name not in hidden or name in known]


def as_narwhals(value: Any, argument: str) -> Any:
    """The value as a DataFrame or Series of narwhals; None if narwhals does not support it."""
    import narwhals as nw

    if is_of_dask(value):
        kind = type(value).__name__
        raise TypeError(f"{argument}: got a {kind} of Dask, whose rows are not in memory: pass .compute()")
    if type(value).__module__.partition(".")[0] == "pyarrow":
        value = chunked(value)
        check_distinct(getattr(value, "column_names", []), argument)
    table = nw.from_native(with_text_names(value, argument), allow_series=True, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        kind = type(value).__name__
        raise TypeError(f"{argument}: got a {kind}, whose rows are not in memory: pass the result of its collect()")
    if isinstance(table, (nw.DataFrame, nw.Series)):
        return table
    if hasattr(value, "__arrow_c_stream__"):
        try:
            import pyarrow as pa

            return nw.from_native(pa.table(value))
        except ImportError:
            raise TypeError(f"{argument}: a {type(value).__name__} is read by pyarrow: pip install pyarrow") from None
    return None


def chunked(value: Any) -> Any:
    """A record batch or array of Arrow as a table or chunked array, which narwhals reads; other values unchanged."""
    if type(value).__module__.partition(".")[0] != "pyarrow":
        return value
    import pyarrow as pa

    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    return pa.chunked_array([value]) if isinstance(value, pa.Array) else value

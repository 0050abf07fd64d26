"""The numbers of the columns of a table, read through narwhals; columns that are not numeric are refused.

narwhals is imported when the first column is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from orfit_bench.tables.integers import refuse_rounded

ENCODE = "encode it as numbers, with one column for each value, or drop it"
REMEDIES = {
    "String": ENCODE,
    "Categorical": ENCODE,
    "Enum": ENCODE,
    "Object": "if it holds numbers, convert it with astype(float)",
    "Datetime": "convert it to a number, such as seconds since a fixed date",
    "Date": "convert it to a number, such as days since a fixed date",
    "Time": "convert it to a number, such as seconds",
    "Duration": "convert it to a number, such as seconds",
    "Decimal": "convert it to float64",
}


def side_by_side(
    columns: list[Any], argument: str, rows: int, missing: bool, dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """The columns as one array (rows, columns)."""
    values = np.empty((rows, len(columns)))
    refused = [refusal for column in columns if rows and (refusal := _refusal(column))]
    if refused:
        more = f" ({len(refused)} such columns in all)" if len(refused) > 1 else ""
        raise TypeError(f"{argument}: {refused[0]}{more}")
    for i, column in enumerate(columns if rows else ()):
        values[:, i] = numbers(column, argument, column.name, missing, dtype)
    return values


def numbers(column: Any, argument: str, name: str, missing: bool, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The numbers of one column as doubles; integers must be exact in `dtype`."""
    if not len(column):
        return np.empty(0)
    if not (missing and column.null_count() == len(column)) and (refusal := _refusal(column)):
        if argument == "y" and refusal.endswith(ENCODE):
            refusal = f"{refusal.removesuffix(ENCODE)}labels are for methods of classification, such as class_rls"
        raise TypeError(f"{argument}: {refusal}")
    if not missing:
        check_no_gaps(column, argument, name)
    if column.null_count() == len(column):
        return np.full(len(column), np.nan)
    import narwhals as nw

    where = f"{argument}: column {name!r}" if name else f"{argument}: the column"
    column = narrowed(column, where)
    if column.null_count() and column.dtype.is_integer():
        values = column.fill_null(0).to_numpy()
        refuse_rounded(values, where, dtype=dtype)
        return np.where(column.is_null().to_numpy(), np.nan, values)
    if column.dtype == nw.Boolean or column.null_count():
        column = column.cast(nw.Float64)
    values = column.to_numpy()
    refuse_rounded(values, where, dtype=dtype)
    return np.asarray(values, np.float64)


def narrowed(column: Any, where: str) -> Any:
    """Convert integers of 128 bits, which NumPy and Arrow lack, to 64 bits; return other columns unchanged.

    Raises ValueError for an integer that needs more bits.
    """
    import narwhals as nw

    if column.dtype not in (nw.Int128, nw.UInt128):
        return column
    least, most = column.min(), column.max()
    if least is not None and least >= 0 and most < 2**64:
        return column.cast(nw.UInt64)
    for value in (least, most):
        if value is not None and not -(2**63) <= value < 2**63:
            raise ValueError(
                f"{where} holds {value}, which needs more than 64 bits: convert the column to float if rounding is "
                "wanted"
            )
    return column.cast(nw.Int64)


def _refusal(column: Any) -> str:
    """The reason why a column is refused; empty if it is numeric."""
    import narwhals as nw

    dtype = column.dtype
    if (dtype.is_numeric() and not dtype.is_decimal()) or dtype == nw.Boolean:
        return ""
    native = getattr(column.to_native(), "dtype", None) or getattr(column.to_native(), "type", dtype)
    remedy = REMEDIES.get(type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__, "")
    if _is_sparse(column):
        remedy = "convert the table with sparse.to_dense()"
    if str(native).startswith("complex"):
        remedy = "tables hold real numbers; pass complex ones as an array, table.to_numpy()"
    named = f"column {column.name!r} is" if column.name else "got a column"
    return f"{named} of dtype {native}, want real numbers: {remedy or 'convert it to numbers or drop it'}"


def refuse_sparse(columns: Iterable[Any], argument: str) -> None:
    """Raise TypeError for a sparse column of pandas, which Arrow does not read."""
    for column in columns:
        if _is_sparse(column):
            raise TypeError(f"{argument}: {_refusal(column)}")


def _is_sparse(column: Any) -> bool:
    return str(getattr(column.to_native(), "dtype", "")).startswith("Sparse")


def check_no_gaps(column: Any, argument: str, name: str) -> None:
    """Raise ValueError if values are missing; NaN among floating-point numbers is found by the check for finiteness."""
    gaps = column.null_count() if len(column) and not _is_plain_float(column) else 0
    if gaps:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        where = f"column {name!r}" if name else "the column"
        raise ValueError(
            f"{argument}: {where} has {gaps} missing values, the first in row {row}: drop or fill these rows"
        )


def _is_plain_float(column: Any) -> bool:
    """Whether a column of pandas is a NumPy array of floats, in which missing values are NaN."""
    dtype = getattr(column.to_native(), "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "f"

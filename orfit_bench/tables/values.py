"""The values of a NumPy or Arrow column: as doubles, integers, strings or categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orfit_bench.tables.integers import refuse_rounded

Array = np.ndarray[Any, Any]
Category = str | int | bool


def exact_numbers(column: Any, source: str, name: str, first: int) -> Array:
    """A column as doubles, NaN for missing values. Raises ValueError if an integer would be rounded.

    `first` is the row of the first entry, for the message.
    """
    refuse_rounded(column, f"{source}: column {name!r}", first)
    return as_numbers(column)


def refuse_infinite(values: Array, source: str, names: Sequence[str], first: int, remedy: str = "") -> None:
    """Raise ValueError that names the first infinite number of columns (n, d); `first` is the number of their row 0."""
    infinite = np.isinf(values)
    if infinite.any():
        row, column = (int(i) for i in np.argwhere(infinite)[0])
        raise ValueError(
            f"{source}: column {names[column]!r} is {values[row, column]} in row {first + row}: want finite numbers; "
            f"leave out or correct these rows{remedy}"
        )


def as_numbers(column: Any) -> Array:
    """A column as doubles, NaN for missing values; rounded if necessary."""
    if not isinstance(column, np.ndarray):
        if column.null_count == len(column):
            return np.full(len(column), np.nan)
        if column.null_count or str(column.type) == "bool":
            column = column.cast("float64", safe=False)
        column = column.to_numpy(zero_copy_only=False)
    return np.asarray(column, np.float64)


def decoded(column: Any) -> Any:
    """The values of a column; those that Arrow stores in a dictionary are decoded."""
    values = getattr(getattr(column, "type", None), "value_type", None)
    return column if values is None or not hasattr(column.type, "index_type") else column.cast(values)


def as_labels(column: Any) -> Array | None:
    """Booleans unchanged, and integers, also those stored as doubles, as int64; None for anything else."""
    if not isinstance(column, np.ndarray):
        if column.null_count:
            return None
        column = column.to_numpy(zero_copy_only=False)
    if column.dtype.kind == "b":
        return np.asarray(column)
    if column.dtype.kind not in "iuf" or (column.dtype == np.uint64 and (column >= 2**63).any()):
        return None
    if column.dtype.kind == "f" and ((column % 1).any() or (abs(column) >= 2.0**63).any()):  # NaN % 1 counts as true
        return None
    return np.asarray(column, np.int64)


def as_texts(column: Any) -> list[str | None]:
    """A column as strings, None for missing values."""
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return [None if value is None else str(value) for value in values]


def as_categories(column: Any) -> list[Category | None]:
    """A column as strings, integers or booleans, None for missing values; doubles with integer values as integers."""
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    if any(isinstance(value, float) for value in values):
        return [None if value is None or value != value else _as_integer(value) for value in values]
    return list(values)


def _as_integer(value: float) -> Any:
    return int(value) if value == value // 1 else value

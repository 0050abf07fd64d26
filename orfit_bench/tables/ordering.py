"""The order of rows by a column of numbers, dates or times."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from orfit_bench.tables.arrow_streams import ArrowStream
from orfit_bench.tables.csv_files import CsvSource
from orfit_bench.tables.integers import LARGEST
from orfit_bench.tables.sources import TABLE, ArraySource, Source

MISSING = np.iinfo(np.int64).min
"""The value that xarray stores for a missing date."""


def order_of_rows(source: Source, time: str, rows: int, fits: bool) -> Any:
    """The order of the rows by time; None if they are sorted. Raises ValueError if they are not, and too many."""
    kind = source.kinds[time]
    if kind not in ("number", "integer", "date"):
        raise TypeError(f"{source.name}: the time {time!r} is of type {kind}, want numbers, dates or times")
    parts: list[Any] = []
    last, is_sorted = None, True
    for batch in source.read([time], 0):
        values = _times(source, time, batch[time])
        if not len(values):
            continue
        is_sorted = is_sorted and (last is None or bool(values[0] >= last)) and bool((values[1:] >= values[:-1]).all())
        last = values[-1].item()  # NumPy compares integers of two types as doubles
        if not is_sorted and not fits:
            raise ValueError(
                f"{source.name}: the rows are not in the order of {time!r}, and too many to be sorted in memory: sort "
                f"{_sorting(source, time)}"
            )
        if fits:
            parts.append(values)
    return None if is_sorted else np.argsort(_joined(parts)[:rows], kind="stable")


def _joined(parts: list[Any]) -> Any:
    """All values; as Python integers if some are signed and others beyond them, which NumPy would round."""
    if {part.dtype.kind for part in parts} == {"i", "u"}:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _sorting(source: Source, time: str) -> str:
    """Advice on what to sort; for a file that polars reads, with a call that sorts it."""
    path = source.name
    if isinstance(source, ArraySource) or path == TABLE:
        return "them beforehand"
    if isinstance(source, ArrowStream):
        call = f"pl.read_ipc_stream({path!r}).sort({time!r}).write_parquet('sorted.parquet')"
        return f"the file beforehand, for example by polars: {call}"
    is_arrow = path.lower().endswith((".arrow", ".arrows", ".feather", ".ipc"))
    scan = "scan_csv" if isinstance(source, CsvSource) else "scan_ipc" if is_arrow else "scan_parquet"
    options = source.options if isinstance(source, CsvSource) else ""
    call = f"pl.{scan}({path!r}{options}).sort({time!r}).sink_parquet('sorted.parquet')"
    return f"the file beforehand, for example by polars, in parts: {call}"


def _times(source: Source, name: str, column: Any) -> Any:
    """A column of numbers, dates or times as numbers; integers stay integers, so they are not rounded."""
    is_array = isinstance(column, np.ndarray)
    values = column
    if not is_array and not column.null_count:
        column = column.cast(_ticks(column)).cast("int64") if source.kinds[name] == "date" else column
        values = column.to_numpy(zero_copy_only=False)
    if (not is_array and column.null_count) or (values.dtype.kind in "fM" and (values != values).any()):
        _refuse_missing(source, name)
    if is_array and source.kinds[name] == "date" and values.dtype.kind == "i" and (values == MISSING).any():
        _refuse_missing(source, name)
    if values.dtype.kind == "M":
        return values.astype(values.dtype.newbyteorder("=")).view("int64")
    if values.dtype.kind == "f" and (values == np.trunc(values)).all() and (np.abs(values) < LARGEST).all():
        return values.astype(np.int64)  # a CSV column is read as floats up to its first integer beyond 2^53
    return values


def _refuse_missing(source: Source, name: str) -> NoReturn:
    raise ValueError(f"{source.name}: the time {name!r} has missing values: leave out these rows")


def _ticks(column: Any) -> str:
    """The type through which dates and times are converted to integers."""
    return "int32" if str(column.type).startswith(("date32", "time32")) else "int64"

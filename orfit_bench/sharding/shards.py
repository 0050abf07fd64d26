"""Shards: parts of the rows, in order, that a task reads where it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from orfit_bench.errors import suggest
from orfit_bench.sharding.pairs import check_no_files, is_pair, is_rows
from orfit_bench.tables.columns import chunked, has_columns, is_of_dask, read_columns
from orfit_bench.tables.data_arrays import is_data_array, is_data_set
from orfit_bench.tables.encoding import find_encoding
from orfit_bench.tables.files import open_file
from orfit_bench.tables.names import with_text_names
from orfit_bench.tables.rows import Cursor
from orfit_bench.tables.sources import Source

Rows = tuple[Any, Any]
"""X and y; y is None for a subspace."""
CHUNK = 16_384
"""Number of rows of a file that are in memory at the same time."""


class Columns(NamedTuple):
    """The names of the target columns of tables and files, and of the columns that are not learned."""

    target: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    @classmethod
    def of(cls, target: str | Sequence[str] | None, drop: Sequence[str]) -> Columns:
        """Create from arguments. Raises TypeError or ValueError unless they are distinct names of columns."""
        names = (target,) if isinstance(target, str) else target
        if names is not None and not _are_names(names):
            raise TypeError(f"target: got {target!r}, want the name of a column, or a list of names")
        if names is not None and not names:
            raise ValueError("target: got no names, want one or more")
        if isinstance(drop, str) or not _are_names(drop):
            raise TypeError(f"drop: got {drop!r}, want a list of names of columns")
        found = cls(tuple(names or ()), tuple(drop))
        if both := [name for name in found.drop if name in found.target]:
            raise ValueError(f"drop: {both[0]!r} is a target")
        return found

    def check(self, names: Iterable[object], where: str) -> None:
        """Raise ValueError if one of these columns is not among the names."""
        given = dict.fromkeys(names)
        if missing := [name for name in (*self.target, *self.drop) if name not in given]:
            raise ValueError(f"{where} no column {missing[0]!r}{suggest(missing[0], map(str, given))}")

    def learned_from(self, source: Source) -> tuple[str, ...]:
        """The columns of a file that are learned."""
        others = {*self.target, *self.drop, *source.index}
        return tuple(name for name in source.kinds if name not in others)


def _are_names(value: object) -> bool:
    return isinstance(value, Sequence) and all(isinstance(name, str) for name in value)


def read_shard(shard: Any, columns: Columns, supervised: bool, gaps: bool) -> Iterator[Rows]:
    """The rows of a shard in chunks, from arrays, a table, a file, or the value of a callable.

    With `gaps`, as for filters, targets of files may be missing (NaN).
    """
    if is_of_dask(shard):
        shard = shard.compute(scheduler="synchronous")
    check_no_files(shard)
    if callable(shard):
        yield from read_shard(shard(), columns, supervised, gaps)
    elif isinstance(shard, str | Path):
        yield from _read_file(str(shard), columns, gaps)
    elif is_pair(shard):
        yield _read_pair(shard, columns, supervised)
    elif isinstance(shard, Iterator):
        for part in shard:
            yield from read_shard(part, columns, supervised, gaps)
    elif isinstance(shard, tuple) or not hasattr(shard, "__len__"):
        got = f"a tuple of {len(shard)}" if isinstance(shard, tuple) else type(shard).__name__
        raise TypeError(f"a shard is {got}, want a pair (X, y), X, a table, a file, or a callable that returns one")
    else:
        yield _split(shard, columns)


def _read_pair(pair: Any, columns: Columns, supervised: bool) -> Rows:
    """X and y. Raises ValueError if two parts of the rows were meant."""
    X, y = (part.compute(scheduler="synchronous") if is_of_dask(part) else part for part in pair)
    if not supervised and isinstance(pair, list) and is_rows(y):
        raise ValueError(
            "a shard is a list of two matrices or tables, of which only the first would be learned: pass two shards, "
            "or a tuple (X, y) whose y is not used"
        )
    X, _ = _split(X, columns._replace(target=()))
    names = _names_of(X) if columns.target else ()
    if both := [name for name in columns.target if name in names]:
        raise ValueError(
            f"a pair (X, y) has its targets in y, but X holds the target column {both[0]!r}: leave it out of X, or "
            f"pass X alone; for two tables pass two shards"
        )
    return X, y


def column_names(shard: Any, columns: Columns) -> tuple[str, ...]:
    """The names of the columns of rows, if they are known without computing a shard; otherwise empty."""
    check_no_files(shard)
    if isinstance(shard, str | Path):
        return columns.learned_from(open_file(str(shard)))
    if is_pair(shard):
        shard, columns = shard[0], columns._replace(target=())
    if is_of_dask(shard) or not has_columns(shard):
        return ()
    return _names_of(_split(shard[:1], columns)[0])


def target_names(shard: Any) -> tuple[str, ...]:
    """The names of the columns of y of a pair (X, y), if y is a table or a labelled array of xarray."""
    y: Any = shard[1] if is_pair(shard) else None
    if is_of_dask(y) or not has_columns(y):
        return ()
    return read_columns(y[:1], "y", missing=True).names


def _names_of(X: Any) -> tuple[str, ...]:
    return read_columns(X[:1], "X").names if has_columns(X) else ()


def _split(table: Any, columns: Columns) -> Rows:
    """X and y of a table, y being the target columns; the table itself and None if no columns are named."""
    if not (columns.target or columns.drop):
        return table, None
    table = chunked(nw.to_native(table, pass_through=True))
    try:
        frame = nw.from_native(with_text_names(table, "a shard"), eager_only=True)
    except TypeError:
        name = (*columns.target, *columns.drop)[0]
        remedy = "pass pairs (X, y)" if columns.target else "leave it out there"
        if not is_data_array(table) and any(hasattr(table, verb) for verb in ("collect", "to_dataframe", "to_pandas")):
            raise TypeError(
                f"a shard is a {type(table).__name__}, want a table in memory: {_as_table(table)}"
            ) from None
        raise TypeError(f"a shard is a {type(table).__name__}, which has no column {name!r}: {remedy}") from None
    columns.check(frame.columns, "a shard has")
    y = frame[columns.target[0]] if len(columns.target) == 1 else frame.select(columns.target)
    others = {*columns.target, *columns.drop}
    learned = [i for i, name in enumerate(frame.columns) if name not in others]
    X = table.iloc[:, learned] if hasattr(table, "iloc") else frame[:, learned].to_native()  # keeps labels of pandas
    return X, y.to_native() if columns.target else None


def _as_table(value: Any) -> str:
    """The remedy that turns the value into a table in memory."""
    if hasattr(value, "collect"):
        return "collect it with .collect()"
    if is_data_set(value):
        return "pass .to_dataframe()"
    return "pass a table, such as .to_pandas()"


def _read_file(path: str, columns: Columns, gaps: bool) -> Iterator[Rows]:
    import xarray as xr  # slow to import: half a second

    source = open_file(path, columns.target if len(columns.target) == 1 else ())
    columns.check(source.kinds, f"{path}:")
    try:
        encoding = find_encoding(source, columns.learned_from(source), one_hot=False, indicators=False)
        cursor = Cursor(source, encoding, columns.target, gaps)
        for start in range(0, max(source.rows, 1), CHUNK):  # a file without rows has columns too
            X, y = cursor.read(start, min(start + CHUNK, source.rows))
            named = xr.DataArray(X, dims=("row", "feature"), coords={"feature": list(encoding.names)})
            yield named, y if columns.target else None
    except (TypeError, ValueError) as error:
        error.add_note(
            "ob.learn reads files of numbers, and drop=[...] leaves columns out: for strings, dates and missing values "
            "pass a function that reads and encodes the rows"
        )
        raise

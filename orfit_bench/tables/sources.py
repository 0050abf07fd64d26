"""Sources of columns that are read in batches: files of Arrow's formats, arrays, and tables in memory."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from orfit_bench.tables.pandas_index import categorical_columns, index_columns

BATCH = 16_384
"""Number of rows that are read at the same time."""
BUFFER = 1 << 16
"""Number of bytes that are read ahead in each column of a Parquet file."""
NOT_UTF8 = "text that is not in UTF-8"
"""The kind of a CSV column that will contain strings once the file is converted."""
PACKED = "numbers packed by xarray"
"""Prefix of the kinds of Zarr arrays whose numbers have a meaning only in xarray."""
TABLE = "table"
"""The name of a table in memory."""
Batch = Mapping[str, Any]
"""Columns by name: arrays of NumPy or Arrow."""


class Source(Protocol):
    """Columns of equal length under one name."""

    name: str
    """The path or URL, or "table", for messages."""
    kinds: Mapping[str, str]
    """The kind of each column: "number", "integer", "boolean", "text", "date", or a type that cannot be read."""
    index: frozenset[str]
    """Columns with the index of a pandas DataFrame: they are not features, and are read only if requested."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    def read(self, columns: Sequence[str], start: int) -> Iterator[Batch]:
        """The rows from `start` on, in batches."""


class ArrowSource:
    """A dataset of pyarrow: Parquet, CSV, Arrow and Feather files, or a table in memory."""

    def __init__(self, name: str, dataset: Any, kinds: Mapping[str, str] | None = None) -> None:
        """A dataset; `kinds` gives the kinds of columns if they differ from those of their types."""
        self.name, self._dataset = name, dataset
        self.kinds: Mapping[str, str] = kinds or dataset_kinds(dataset)
        self.index = index_columns(self.kinds, dataset.schema.metadata)

    @cached_property
    def _parts(self) -> list[tuple[int, Any]]:
        """Parts of the dataset that can be skipped, with their numbers of rows."""
        parts = []
        for fragment in self._dataset.get_fragments():
            groups = getattr(fragment, "row_groups", None)
            if groups:
                parts += [(group.num_rows, fragment.subset(row_group_ids=[group.id])) for group in groups]
            else:
                parts.append((self._counted(fragment), fragment))
        return parts

    def _counted(self, fragment: Any) -> int:
        with readable(self.name):
            return int(fragment.count_rows())

    @property
    def rows(self) -> int:
        """The number of rows; rows of a CSV file are counted once."""
        return sum(rows for rows, _ in self._parts)

    def read(self, columns: Sequence[str], start: int) -> Iterator[Batch]:
        """The rows from `start` on, in batches."""
        with readable(self.name):
            for rows, part in self._parts:
                if start >= rows:
                    start -= rows
                    continue
                scanned = part.to_batches(
                    self._dataset.schema, list(columns), batch_size=BATCH, batch_readahead=1, fragment_readahead=1
                )
                for batch in scanned:
                    skipped = min(start, batch.num_rows)
                    start -= skipped
                    if skipped < batch.num_rows:
                        yield dict(zip(columns, batch.slice(skipped).columns, strict=True))


class ArraySource:
    """Arrays in files that are read by slices: .npy and Zarr."""

    index: frozenset[str] = frozenset()

    def __init__(self, name: str, columns: Mapping[str, tuple[Any, Any]]) -> None:
        """Columns by name: an array, and the index of the column in it, or None if the array is the column itself."""
        self.name, self._columns = name, columns
        self.kinds: Mapping[str, str] = {column: _kind_of(*place) for column, place in columns.items()}
        lengths = {array.shape[0] for array, _ in columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"{name}: its arrays have {', '.join(map(str, sorted(lengths)))} rows, want equally many")
        self.rows = lengths.pop() if lengths else 0

    def read(self, columns: Sequence[str], start: int) -> Iterator[Batch]:
        """The rows from `start` on, in batches."""
        for a in range(start, self.rows, BATCH):
            blocks: dict[int, Any] = {}
            batch = {}
            for name in columns:
                array, column = self._columns[name]
                if id(array) not in blocks:
                    blocks[id(array)] = np.asarray(array[a : a + BATCH])
                block = blocks[id(array)]
                batch[name] = block if column is None else block[column] if block.dtype.names else block[:, column]
            yield batch


class readable:  # used as a statement: with readable(name)
    """Context in which errors of pyarrow while reading become a ValueError that names the source."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        """Convert the error."""
        if isinstance(error, UnicodeDecodeError):
            raise ValueError(f"{self._name}: the text is not in UTF-8 ({error}): convert the file") from error
        of_arrow = type(error).__module__.startswith("pyarrow")
        if error is not None and (of_arrow or (isinstance(error, OSError) and error.errno is None)):
            message = self._shortened(str(error))
            if "multiple columns named" in message:
                message += ": the first row has to name the columns, each by a name of its own"
            if rounded := re.search(r"Integer value (-?\d+) (not in range|out of bounds)", message):
                message = f"the integer {rounded[1]} of a column with other numbers in another file would be rounded"
            if "straddl" in message:
                message = "a row is longer than 1 MiB, or a quotation mark is never closed: correct this row"
            raise ValueError(f"{self._name}: cannot be read: {message}") from error

    def _shortened(self, message: str) -> str:
        """The message without the parts that repeat the name of the source."""
        message = re.sub(
            r"^Error creating dataset\. Could not read schema from '.*?'\. Is this a '.*?' file\?: ", "", message
        )
        opening = re.match(r"Could not open \S+ input source '(.*?)': ((Invalid|IOError): )?", message)
        if opening and opening[1] == self._name:
            message = message[opening.end() :]
        return "it has no header and no rows" if "Empty CSV file" in message else message.rstrip(": ")


def dataset_kinds(dataset: Any) -> dict[str, str]:
    """The kinds of the columns of a dataset; Parquet stores pandas categories other than strings by their values."""
    schema = dataset.schema
    kinds = {field.name: arrow_kind(field.type) for field in schema}
    if getattr(getattr(dataset, "format", None), "default_extname", "") != "parquet":
        return kinds
    encoded = {
        name for name in categorical_columns(schema.metadata) if kinds.get(name) in ("number", "integer", "boolean")
    }
    return kinds | {field.name: f"dictionary of {field.type}" for field in schema if field.name in encoded}


def arrow_kind(dtype: Any) -> str:
    """The kind of a column of this Arrow type."""
    import pyarrow.types as t

    if t.is_dictionary(dtype):
        dtype = dtype.value_type
        return "text" if t.is_string(dtype) or t.is_large_string(dtype) else f"dictionary of {dtype}"
    if t.is_floating(dtype) or t.is_null(dtype):
        return "number"
    if t.is_integer(dtype):
        return "integer"
    if t.is_boolean(dtype):
        return "boolean"
    if t.is_string(dtype) or t.is_large_string(dtype) or t.is_string_view(dtype):
        return "text"
    return "date" if t.is_timestamp(dtype) or t.is_date(dtype) or t.is_time(dtype) else str(dtype)


def _kind_of(array: Any, column: Any) -> str:
    kind = numpy_kind(array.dtype[column] if isinstance(column, str) else array.dtype)
    return _encoded_kind(array, kind) or kind


def _encoded_kind(array: Any, kind: str) -> str:
    """The kind of a Zarr array whose numbers encode others by the conventions of xarray; otherwise empty."""
    attributes = getattr(array, "attrs", {})
    if attributes.keys() & {"scale_factor", "add_offset"}:
        return PACKED
    if "calendar" in attributes and " since " in str(attributes.get("units", "")):
        return "date"
    missing = attributes.get("_FillValue", attributes.get("missing_value"))
    if "_ARRAY_DIMENSIONS" in attributes and missing is None:
        missing = array.fill_value
    if missing is None or kind not in ("integer", "number") or _is_nan(missing):
        return ""
    return f"{PACKED} (missing: {missing})"


def _is_nan(missing: Any) -> bool:
    """Whether the marker of missing numbers is NaN; xarray writes it in Base64 to Zarr format 3."""
    if isinstance(missing, str):
        with suppress(ValueError):
            missing = np.frombuffer(base64.b64decode(missing), "<f8")[0]
    return bool(missing != missing)


def numpy_kind(dtype: Any) -> str:
    """The kind of a column of this NumPy dtype."""
    kinds = {"f": "number", "i": "integer", "u": "integer", "b": "boolean", "U": "text", "T": "text", "M": "date"}
    return kinds.get(dtype.kind, str(dtype))

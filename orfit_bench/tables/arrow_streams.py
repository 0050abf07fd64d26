"""Files in Arrow's stream format, which has no index: rows are read from the start, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from orfit_bench.tables import sources
from orfit_bench.tables.names import check_distinct
from orfit_bench.tables.pandas_index import index_columns
from orfit_bench.tables.sources import Batch, arrow_kind, readable

CONTINUATION = b"\xff\xff\xff\xff"
"""The first bytes of each message of a stream; files of Arrow's file format start with ARROW1."""


class ArrowStream:
    """A file of consecutive record batches, such as a process writes to a pipe."""

    def __init__(self, name: str, place: str, filesystem: Any) -> None:
        """`place` is a path in a pyarrow file system, which is None if local; `name` is used in messages."""
        self.name, self._place, self._filesystem = name, place, filesystem
        with readable(name), _opened(place, filesystem) as file, _reader(file) as reader:
            check_distinct(reader.schema.names, name)
            self.kinds: Mapping[str, str] = {field.name: arrow_kind(field.type) for field in reader.schema}
            self.index = index_columns(self.kinds, reader.schema.metadata)

    @cached_property
    def rows(self) -> int:
        """The number of rows, counted by reading the file once."""
        with readable(self.name):
            return sum(batch.num_rows for batch in self._batches())

    def _batches(self) -> Iterator[Any]:
        """Yield the record batches. Raises ValueError if the stream ends before the file."""
        with _opened(self._place, self._filesystem) as file, _reader(file) as reader:
            yield from reader
            if file.read(1):
                raise ValueError(
                    f"{self.name}: the file goes on after the end of its Arrow stream: want one stream per file"
                )

    def read(self, columns: Sequence[str], start: int) -> Iterator[Batch]:
        """Yield the rows in batches, starting at row `start`."""
        with readable(self.name):
            for batch in self._batches():
                for a in range(min(start, batch.num_rows), batch.num_rows, sources.BATCH):
                    yield dict(zip(columns, batch.slice(a, sources.BATCH).select(list(columns)).columns, strict=True))
                start -= min(start, batch.num_rows)


def _reader(file: Any) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(file)


def is_stream(place: str, filesystem: Any) -> bool:
    """Whether a file has Arrow's stream format rather than its file format, regardless of its ending."""
    with _opened(place, filesystem) as file:
        return bool(file.read(len(CONTINUATION)) == CONTINUATION)


def _opened(place: str, filesystem: Any) -> Any:
    import pyarrow as pa

    return pa.OSFile(place) if filesystem is None else filesystem.open_input_stream(place)

"""CSV files: separators, decimal points, and integer columns, which are read as floating point if necessary."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from orfit_bench.tables.folders import refuse_later_columns
from orfit_bench.tables.integers import LARGEST
from orfit_bench.tables.sources import NOT_UTF8, ArrowSource, Batch, Source, arrow_kind, readable

INTEGER = re.compile(r"[+-]?[0-9]+")
QUOTED = re.compile(r'"[^"]*"')
"""A name in quotation marks, which can contain any separator."""
OTHER_SEPARATORS = (";", "\t", "|")
"""Possible separators of the columns of a CSV file whose header has no comma."""
NO_NUMBER = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to double: invalid value ('.*')", re.S
)
"""The message of pyarrow for a string among numbers: the column, the line if known, and the string."""
MEBIBYTE = 1 << 20
HEADER = 64 * MEBIBYTE
"""Number of bytes that are searched for the end of the header of a CSV file."""


class CsvSource(ArrowSource):
    """CSV files whose integer columns are read as doubles, since later rows can contain fractions.

    Once a column has numbers beyond 2^53, it is read as integers if it contains nothing else, so that none is rounded
    here.
    """

    options = ""
    """Additional arguments with which polars reads the file."""

    def __init__(
        self, name: str, opened: Callable[[dict[str, Any]], Any], types: dict[str, Any], kinds: Mapping[str, str]
    ) -> None:
        """`opened(types)` returns the pyarrow dataset with these column types; `types` are the initial types."""
        super().__init__(name, opened(types), kinds)
        self._opened, self._types = opened, types
        self._checked: set[str] = set()

    def read(self, columns: Sequence[str], start: int) -> Iterator[Batch]:
        """The rows from `start` on, in batches."""
        for batch in self._read_numbers(columns, start):
            large = [name for name in columns if name not in self._checked and _has_large_numbers(batch[name])]
            if large:
                self._check_types(large)
                yield from self.read(columns, start)
                return
            start += len(next(iter(batch.values())))
            yield batch

    @property
    def rows(self) -> int:
        """The number of rows."""
        with self._text_named():
            return super().rows

    def _read_numbers(self, columns: Sequence[str], start: int) -> Iterator[Batch]:
        """Yield the rows from row `start`."""
        with self._text_named():
            yield from super().read(columns, start)

    @contextmanager
    def _text_named(self) -> Iterator[None]:
        """Raise ValueError that names a column with a string among its numbers."""
        try:
            yield
        except ValueError as error:
            found = NO_NUMBER.search(str(error))
            if found is None:
                raise
            row, column = f" in line {found[2]}" if found[2] else "", f"column {list(self.kinds)[int(found[1])]!r}"
            if len(self._dataset.files) > 1:  # whose columns may have another order
                row, column = f"{row} of one of the files" if row else " in one of the files", "a column"
            raise ValueError(
                f"{self.name}: cannot be read: {column} holds {found[3]}{row}, and numbers in its first rows: "
                f"correct the file, or drop the column (--drop, or drop=[...])"
            ) from error

    def _check_types(self, columns: Sequence[str]) -> None:
        """Read columns as integers if they contain nothing else."""
        import pyarrow as pa

        for name in columns:
            found = next((dtype for dtype in (pa.int64(), pa.uint64()) if self._is_of(name, dtype)), pa.float64())
            if found == pa.float64():
                self._refuse_rounded_integers(name)
            self._types = {**self._types, name: found}
        self._checked |= set(columns)
        counts = [rows for rows, _ in self._parts]
        self._dataset = self._opened(self._types)
        self._parts = list(zip(counts, self._dataset.get_fragments(), strict=True))

    def _refuse_rounded_integers(self, name: str) -> None:
        """Raise ValueError if a column contains only integers and one is too large for the integers of Arrow."""
        import pyarrow as pa

        texts = self._opened({**self._types, name: pa.string()}).to_batches(columns=[name], batch_readahead=1)
        rounded = ""
        for text in (text for batch in texts for text in batch[name].to_pylist() if text):
            if not INTEGER.fullmatch(text):
                return
            if not rounded and _is_rounded(text):
                rounded = text
        if rounded:
            raise ValueError(
                f"{self.name}: column {name!r} holds the integer {rounded:.40}, which float64 would round: drop the "
                f"column (--drop, or drop=[...]), or write its numbers with a decimal point"
            )

    def _is_of(self, name: str, dtype: Any) -> bool:
        """Whether a column can be read as this type."""
        import pyarrow as pa

        try:
            for _ in self._opened({**self._types, name: dtype}).to_batches(columns=[name], batch_readahead=1):
                pass
        except pa.ArrowInvalid:
            return False
        return True


def _is_rounded(text: str) -> bool:
    """Whether float64 would round the integer in a string."""
    value = float(text)
    return math.isinf(value) or int(value) != int(text)


def _has_large_numbers(column: Any) -> bool:
    """Whether a column of doubles has values of magnitude >= 2^53, which may have been rounded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type != pa.float64():
        return False
    extremes = pc.min_max(column).as_py()
    return any(value is not None and abs(value) >= LARGEST for value in extremes.values())


def open_csv(path: str, place: str, filesystem: Any, partitioning: str | None, codes: Collection[str]) -> Source:
    """A CSV file; pyarrow guesses types from the first rows, so integer columns are read as floating point.

    Columns in `codes` are read as strings if a number has leading zeros, since 01234 and 1234 then differ. Hexadecimal
    numbers (0x1F) in the first rows are strings.

    If the header has no comma outside of quotation marks, but a semicolon, a tab or a bar, that character separates the
    columns; the ending .tsv selects tabs. Commas are then decimal if this turns strings into numbers.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds

    header = _header(place, filesystem)
    separator = _separator(header, is_tabbed=path.partition("?")[0].lower().endswith(".tsv"))
    parse = pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    read = pyarrow.csv.ReadOptions(block_size=_block_size(len(header)))

    def opened(types: dict[str, Any], point: str = ".") -> Any:
        convert = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True, decimal_point=point)
        csv = ds.CsvFileFormat(parse_options=parse, convert_options=convert, read_options=read)
        return ds.dataset(place, format=csv, filesystem=filesystem, partitioning=partitioning)

    dataset = opened({})
    if not header:
        refuse_later_columns(path, dataset)
    point, guessed = ".", dataset.schema
    if separator != "," and "string" in map(str, guessed.types):
        decimal_commas = opened({}, ",").schema
        if sum(map(pa.types.is_floating, decimal_commas.types)) > sum(map(pa.types.is_floating, guessed.types)):
            point, guessed = ",", decimal_commas
    types = {f.name: pa.float64() for f in guessed if pa.types.is_null(f.type) or pa.types.is_integer(f.type)}
    with readable(path):
        integers = (f.name for f in guessed if pa.types.is_integer(f.type) and f.name in codes)
        texts = {name: pa.string() for name in integers if _has_leading_zeros(opened({name: pa.string()}), name)}
        source = _source(path, partial(opened, point=point), guessed, types | texts)
    source.options = f", separator={separator!r}" * (separator != ",") + ", decimal_comma=True" * (point == ",")
    return source


def _source(path: str, opened: Callable[[dict[str, Any]], Any], guessed: Any, types: dict[str, Any]) -> CsvSource:
    """The source; columns that pyarrow guessed to be integers but cannot read as doubles are strings."""
    import pyarrow as pa

    while True:
        texts = {name for name, kind in types.items() if pa.types.is_string(kind)}
        kinds = {f.name: _kind(types[f.name] if f.name in texts else f.type) for f in guessed}
        try:
            return CsvSource(path, opened, types, kinds)
        except pa.ArrowInvalid as error:
            found = NO_NUMBER.search(str(error))
            if found is None or guessed.names[int(found[1])] in texts:
                raise
            types = types | {guessed.names[int(found[1])]: pa.string()}


def _kind(dtype: Any) -> str:
    """The kind of a column; pyarrow treats text that is not in UTF-8 as binary data."""
    import pyarrow.types as t

    return NOT_UTF8 if t.is_binary(dtype) else arrow_kind(dtype)


def _has_leading_zeros(dataset: Any, name: str) -> bool:
    """Whether a string column contains a number such as 01234."""
    import pyarrow.compute as pc

    batches = dataset.to_batches(columns=[name], batch_readahead=1)
    return any(pc.any(pc.match_substring_regex(batch[name], r"^[+-]?0[0-9]")).as_py() for batch in batches)


def _header(place: str, filesystem: Any) -> str:
    """The first line of a CSV file; empty for a folder."""
    import pyarrow.fs

    local = pyarrow.fs.LocalFileSystem() if filesystem is None else filesystem
    if filesystem is None and Path(place).is_dir():
        return ""
    header = b""
    with local.open_input_stream(place) as file:  # decompresses according to the ending
        while b"\n" not in header and len(header) < HEADER and (more := file.read(MEBIBYTE)):
            header += more
    return header.partition(b"\n")[0].decode(errors="replace")


def _separator(header: str, is_tabbed: bool) -> str:
    """The separator of a CSV file, from its first line; tabs if there are any and the ending is .tsv."""
    unquoted = QUOTED.sub("", header)
    if is_tabbed and "\t" in unquoted:
        return "\t"
    found = [one for one in OTHER_SEPARATORS if one in unquoted]
    return found[0] if found and "," not in unquoted else ","


def _block_size(header: int) -> int:
    """Number of bytes per block, given the size of the header: about 100 rows, up to 32 MiB, and at least one row.

    In blocks of a few rows, setting up the columns dominates the time, and pyarrow cannot read a row longer than a
    block.
    """
    return max(MEBIBYTE, min(256 * header, 32 * MEBIBYTE), 16 * header)

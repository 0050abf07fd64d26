"""Columns as numeric rows: strings and missing values are refused with the column's name, or encoded on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orfit_bench.tables.names import quoted
from orfit_bench.tables.sources import NOT_UTF8, PACKED, Batch, Source
from orfit_bench.tables.values import (
    Array,
    Category,
    as_categories,
    as_numbers,
    as_texts,
    exact_numbers,
    refuse_infinite,
)

NUMBERS = ("number", "integer", "boolean")
CATEGORIES = ("text", "integer", "boolean")
"""Kinds of columns that can be encoded as one column per value."""
ENCODED = ("dictionary of int", "dictionary of uint", "dictionary of bool")
"""Prefixes of the kinds of columns that Arrow or pandas stores as categories."""
MOST_CATEGORIES = 100
"""Largest number of distinct values of an encoded column."""


@dataclass(frozen=True)
class Encoding:
    """Encoding of columns as numbers.

    Parameters
    ----------
    source : str
        The name of the source, for messages.
    columns : tuple of str
        The columns that are read.
    categories : dict
        The values of a column, by its name. It becomes one column per value, which is 1 in rows with this value.
    indicators : tuple of str
        Columns whose missing values become 0, each followed by a column that is 1 in rows with a missing value.
    """

    source: str
    columns: tuple[str, ...]
    categories: dict[str, tuple[Category, ...]]
    indicators: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse columns that would get the same name."""
        origin: dict[str, str] = {}
        for column in self.columns:
            for name in self._names_from(column):
                if name in origin:
                    raise ValueError(
                        f"{self.source}: the columns {origin[name]!r} and {column!r} would both become a column "
                        f"{name!r}: rename one of them, or drop it (--drop)"
                    )
                origin[name] = column

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(name for column in self.columns for name in self._names_from(column))

    def _names_from(self, column: str) -> list[str]:
        """The names of the columns that a column becomes."""
        values = self.categories.get(column)
        names = [column] if values is None else [f"{column}={value}" for value in values]
        return names + [f"{column} is missing"] * (column in self.indicators)

    def encode(self, batch: Batch, first: int) -> Array:
        """The numbers (rows, len(names)) of a batch whose first row is number `first` of the source."""
        rows = len(next(iter(batch.values())))
        X, j = np.zeros((rows, len(self.names))), 0
        for name in self.columns:
            if name in self.categories:
                values = as_categories(batch[name])
                missing = np.array([value is None for value in values], bool)
                for category in self.categories[name]:
                    X[:, j] = [value == category for value in values]
                    j += 1
            else:
                X[:, j] = column = exact_numbers(batch[name], self.source, name, first)
                missing = np.isnan(column)
                j += 1
            if name in self.indicators:
                if name not in self.categories:
                    X[missing, j - 1] = 0
                X[:, j] = missing
                j += 1
            elif missing.any():
                self._refuse_missing(name, first + int(missing.argmax()))
        refuse_infinite(X, self.source, self.names, first, ", or drop the column (--drop, or drop=[...])")
        return X

    def _refuse_missing(self, name: str, row: int) -> None:
        raise ValueError(
            f"{self.source}: column {name!r} has no value in row {row}: ask for indicators of missing values "
            f"(--indicators, or indicators=True), drop the column (--drop, or drop=[...]), or fill it"
        )


def _first_text(source: Source, name: str) -> str:
    """The first value of a string column that is not a number, and its row; empty if all are numbers."""
    row = 0
    for batch in source.read([name], 0):
        for value in as_texts(batch[name]):
            if value and not _is_number(value):
                return f"row {row} of {name!r} holds {value!r}; "
            row += 1
    return ""


def _is_number(text: str) -> bool:
    """Whether a string is a number in a file; 1_000 is a number only in Python."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def check_columns(source: Source, columns: Sequence[str], one_hot: bool, categorical: Sequence[str]) -> None:
    """Raise TypeError that names a column that is neither numeric nor encoded as one column per value.

    Raises ValueError for a column without a name.
    """
    if "" in columns:
        raise ValueError(
            f"{source.name}: a column has no name, as that of the index which pandas writes: write the file with "
            f"to_csv(..., index=False), name the column, or drop it (--drop '')"
        )
    for name in categorical:
        if (kind := source.kinds[name]) not in CATEGORIES and not kind.startswith(ENCODED):
            raise TypeError(
                f"{source.name}: column {name!r} is of type {kind}, want texts, integers or booleans for one column "
                f"for each value (--categorical)"
            )
    texts = [name for name in columns if source.kinds[name] == "text" and name not in categorical]
    if texts and not one_hot:
        raise TypeError(
            f"{source.name}: {quoted(texts)}: want numbers, got texts: {_first_text(source, texts[0])}correct the file "
            f"if these should be numbers, ask for one column for each text (--one-hot), or drop them (--drop); in "
            f"Python one_hot=True or drop=[...]"
        )
    for name in columns:
        if (kind := source.kinds[name]) not in (*NUMBERS, "text") and name not in categorical:
            remedy = "convert it or drop it (--drop)"
            if kind == "date":
                remedy = "order the rows by it (--time), convert it, or drop it (--drop)"
            if kind == NOT_UTF8:
                remedy = "convert the file, or drop the column (--drop)"
            if kind.startswith(PACKED):
                remedy = "write what xarray.open_zarr reads without an encoding, or drop it (--drop)"
            if kind.startswith("complex"):
                remedy = "learn complex numbers from arrays in Python, by create(..., dtype='complex128')"
            if kind.startswith(ENCODED):
                remedy = "ask for one column for each value (--categorical), convert it, or drop it (--drop)"
            raise TypeError(f"{source.name}: column {name!r} is of type {kind}, want numbers: {remedy}")


def find_encoding(
    source: Source, columns: Sequence[str], one_hot: bool, indicators: bool, categorical: Sequence[str] = ()
) -> Encoding:
    """The encoding of the columns of a source; its rows are read once to find categories and missing values."""
    check_columns(source, columns, one_hot, categorical)
    encoded = [name for name in columns if source.kinds[name] == "text" or name in categorical]
    categories: dict[str, dict[Category, None]] = {name: {} for name in encoded}
    missing: dict[str, None] = {}
    inspected = list(columns) if indicators else encoded
    for batch in source.read(inspected, 0) if inspected else ():
        for name in inspected:
            if name in categories:
                found = dict.fromkeys(as_categories(batch[name]))
                has_gaps = None in found
                categories[name] |= {value: None for value in found if value is not None}
                _check_categories(source, name, categories[name])
            else:
                has_gaps = bool(np.isnan(as_numbers(batch[name])).any())
            if indicators and has_gaps:
                missing[name] = None
    ordered = {name: tuple(sorted(found)) for name, found in categories.items()}
    return Encoding(source.name, tuple(columns), ordered, tuple(name for name in columns if name in missing))


def _check_categories(source: Source, name: str, found: dict[Category, None]) -> None:
    """Raise ValueError if there are too many categories, or fractions among integers of a CSV file."""
    if len(found) > MOST_CATEGORIES:
        kind = "texts" if source.kinds[name] == "text" else "values"
        raise ValueError(
            f"{source.name}: column {name!r} has more than {MOST_CATEGORIES} different {kind}, too many for one column "
            f"each: drop it (--drop) or group its values"
        )
    if fractions := [value for value in found if isinstance(value, float)]:
        raise ValueError(
            f"{source.name}: column {name!r} holds {fractions[0]}, want texts, integers or booleans for one column for "
            f"each value (--categorical)"
        )

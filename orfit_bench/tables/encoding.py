"""Columns as the numbers of rows: texts and missing values are refused by name, or encoded on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orfit_bench.tables.integers import refuse_rounded
from orfit_bench.tables.names import quoted
from orfit_bench.tables.sources import Batch, Source

NUMBERS = ("number", "integer", "boolean")
MOST_CATEGORIES = 100
"""Different texts of a column that is encoded."""
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Encoding:
    """How columns become numbers.

    Parameters
    ----------
    source : str
        Its name, for messages.
    columns : tuple of str
        What is read.
    categories : dict
        The texts of a column; it becomes one column for each of them, with 1 where it has this text.
    indicators : tuple of str
        Columns whose missing values become 0, each followed by a column with 1 where one is missing.
    """

    source: str
    columns: tuple[str, ...]
    categories: dict[str, tuple[str, ...]]
    indicators: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        found: list[str] = []
        for name in self.columns:
            found += [f"{name}={value}" for value in self.categories[name]] if name in self.categories else [name]
            found += [f"{name} is missing"] * (name in self.indicators)
        return tuple(found)

    def encode(self, batch: Batch, first: int) -> Array:
        """The numbers (rows, len(names)) of a batch whose first row is number `first` of the source."""
        rows = len(next(iter(batch.values())))
        X, j = np.zeros((rows, len(self.names))), 0
        for name in self.columns:
            if name in self.categories:
                texts = as_texts(batch[name])
                missing = np.array([text is None for text in texts], bool)
                for value in self.categories[name]:
                    X[:, j] = [text == value for text in texts]
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
        if not np.isfinite(X).all():
            row, j = np.argwhere(~np.isfinite(X))[0]
            raise ValueError(
                f"{self.source}: column {self.names[j]!r} is {X[row, j]} in row {first + row}: want finite numbers; "
                f"leave out or correct these rows, or drop the column (--drop)"
            )
        return X

    def _refuse_missing(self, name: str, row: int) -> None:
        raise ValueError(
            f"{self.source}: column {name!r} has no value in row {row}: ask for indicators of missing values "
            f"(--indicators), drop the column (--drop), or fill it"
        )


def check_columns(source: Source, columns: Sequence[str], one_hot: bool) -> None:
    """TypeError that names a column which holds no numbers, and no texts that become columns of their own."""
    texts = [name for name in columns if source.kinds[name] == "text"]
    if texts and not one_hot:
        raise TypeError(
            f"{source.name}: {quoted(texts)}: want numbers, got texts: ask for one column for each text (--one-hot), "
            f"or drop them (--drop)"
        )
    for name in columns:
        if (kind := source.kinds[name]) not in (*NUMBERS, "text"):
            remedy = "convert it or drop it (--drop)"
            if kind == "date":
                remedy = "order the rows by it (--time), convert it, or drop it (--drop)"
            if kind.startswith("complex"):
                remedy = "learn complex numbers from arrays in Python, by create(..., dtype='complex128')"
            raise TypeError(f"{source.name}: column {name!r} is of type {kind}, want numbers: {remedy}")


def find_encoding(source: Source, columns: Sequence[str], one_hot: bool, indicators: bool) -> Encoding:
    """How the columns of a source become numbers; texts and missing values are found by reading the source once."""
    check_columns(source, columns, one_hot)
    texts = [name for name in columns if source.kinds[name] == "text"]
    categories: dict[str, dict[str, None]] = {name: {} for name in texts}
    missing: dict[str, None] = {}
    inspected = list(columns) if indicators else texts
    for batch in source.read(inspected, 0) if inspected else ():
        for name in inspected:
            if name in categories:
                found = dict.fromkeys(as_texts(batch[name]))
                has_gaps = None in found
                categories[name] |= {text: None for text in found if text is not None}
                _check_count(source.name, name, categories[name])
            else:
                has_gaps = bool(np.isnan(as_numbers(batch[name])).any())
            if indicators and has_gaps:
                missing[name] = None
    ordered = {name: tuple(sorted(found)) for name, found in categories.items()}
    return Encoding(source.name, tuple(columns), ordered, tuple(name for name in columns if name in missing))


def _check_count(source: str, name: str, found: dict[str, None]) -> None:
    if len(found) > MOST_CATEGORIES:
        raise ValueError(
            f"{source}: column {name!r} has more than {MOST_CATEGORIES} different texts, too many for one column each: "
            f"drop it (--drop) or group its values"
        )


def exact_numbers(column: Any, source: str, name: str, first: int) -> Array:
    """A column as doubles, NaN where a value is missing; ValueError where an integer would be rounded.

    `first` is the row of the first entry, for the message.
    """
    refuse_rounded(column, f"{source}: column {name!r}", first)
    return as_numbers(column)


def as_numbers(column: Any) -> Array:
    """A column as doubles, NaN where a value is missing, rounded where it has to be."""
    if not isinstance(column, np.ndarray):
        if column.null_count == len(column):
            return np.full(len(column), np.nan)
        if column.null_count or str(column.type) == "bool":
            column = column.cast("float64", safe=False)
        column = column.to_numpy(zero_copy_only=False)
    return np.asarray(column, np.float64)


def as_integers(column: Any) -> Array | None:
    """A column of integers or booleans, also as doubles, as integers of 64 bits; None where it holds anything else."""
    if not isinstance(column, np.ndarray):
        if column.null_count:
            return None
        column = column.to_numpy(zero_copy_only=False)
    if column.dtype.kind not in "iubf" or (column.dtype == np.uint64 and (column >= 2**63).any()):
        return None
    if column.dtype.kind == "f" and (column % 1).any():  # NaN counts as true
        return None
    return np.asarray(column, np.int64)


def as_texts(column: Any) -> list[str | None]:
    """A column as texts, None where a value is missing."""
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return [None if value is None else str(value) for value in values]

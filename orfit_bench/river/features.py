"""Dictionaries as rows: names of features in a fixed order, of which some may be missing and new ones may come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from struct import error as StructError
from struct import pack_into
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Features:
    """The names of the features seen so far, in the order of the columns; a constant column precedes them."""

    def __init__(self, constant: bool) -> None:
        self._first = (1.0,) if constant else ()
        self._column: dict[Any, int] = {}
        self._values: Callable[[Mapping[Any, Any]], tuple[Any, ...]] = _no_values
        self._buffer: Any = np.array(self._first)  # mypy does not know that arrays are buffers
        self._format = ""

    @property
    def width(self) -> int:
        """The length of a row."""
        return len(self._first) + len(self._column)

    def new(self, names: Iterable[Any]) -> list[Any]:
        """Those of the names that are not known, in alphabetical order."""
        return sorted(set(names).difference(self._column), key=str)

    def add(self, new: Iterable[Any]) -> None:
        """Take in new names behind the known ones."""
        for name in new:
            self._column[name] = len(self._column)
        known = tuple(self._column)
        self._values = itemgetter(*known) if len(known) > 1 else _OneValue(known[0])
        self._buffer, self._format = np.array(self._first + (0.0,) * len(known)), f"{len(known)}d"

    def known_row(self, x: Mapping[Any, Any]) -> Array | None:
        """The row (width,) of x if its features are all those known, else None. The next call overwrites the row."""
        if len(x) != len(self._column):
            return None
        try:
            return self._packed(x, self._values(x))
        except KeyError:
            return None

    def row(self, x: Mapping[Any, Any]) -> Array:
        """The row (width,) of x, 0 for features that it lacks; those that are not known are left out.

        The next call overwrites the row.
        """
        try:
            values = self._values(x)
        except KeyError:
            values = tuple(x.get(name, 0.0) for name in self._column)
        return self._packed(x, values)

    def _packed(self, x: Mapping[Any, Any], values: tuple[Any, ...]) -> Array:
        try:  # struct takes a quarter of the time of np.array(values)
            pack_into(self._format, self._buffer, 8 * len(self._first), *values)
        except StructError:
            raise _no_number(x) from None
        row: Array = self._buffer
        return row

    def rows(self, X: Any) -> Array:
        """The rows (n, width) of a DataFrame."""
        table = np.zeros((len(X), self.width))
        table[:, : len(self._first)] = 1.0
        for name in X.columns:
            if name in self._column:
                table[:, len(self._first) + self._column[name]] = X[name].to_numpy(dtype=np.float64)
        return table


class _OneValue:
    """The value of a single feature as a tuple, where itemgetter would return the value itself."""

    def __init__(self, name: Any) -> None:
        self._name = name

    def __call__(self, x: Mapping[Any, Any]) -> tuple[Any, ...]:
        return (x[self._name],)


def _no_values(x: Mapping[Any, Any]) -> tuple[Any, ...]:
    return ()


def _no_number(x: Mapping[Any, Any]) -> TypeError:
    """What to say where a value of x is no number."""
    for name, value in x.items():
        if not isinstance(value, (int, float, np.number, np.bool_)):
            kind = type(value).__name__
            return TypeError(f"the feature {name!r} is {value!r}, of type {kind}, want a number: encode it beforehand")
    return TypeError("a row of numbers could not be made of the features")

"""Dictionaries as rows: names of features in a fixed order, of which some may be missing and new ones may come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Features:
    """The names of the features seen so far, in the order of the columns; a constant column precedes them."""

    def __init__(self, constant: bool) -> None:
        self._first = (1.0,) if constant else ()
        self._column: dict[Any, int] = {}
        self._values: Callable[[Mapping[Any, Any]], tuple[Any, ...]] = _no_values

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

    def has_all(self, x: Mapping[Any, Any]) -> bool:
        """Whether all names of x are known."""
        return x.keys() <= self._column.keys()

    def row(self, x: Mapping[Any, Any]) -> Array:
        """The row (width,) of x, 0 for features that it lacks; those that are not known are left out."""
        try:
            return np.array(self._first + self._values(x), np.float64)
        except KeyError:
            return np.array(self._first + tuple(x.get(name, 0.0) for name in self._column), np.float64)
        except (TypeError, ValueError):
            raise _no_number(x) from None

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

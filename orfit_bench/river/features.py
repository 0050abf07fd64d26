"""Dictionaries as rows: feature names in a fixed order; features can be missing, and new ones can appear."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import itemgetter
from struct import error as StructError
from struct import pack_into
from typing import Any

import numpy as np

from orfit_bench.tables.integers import DOUBLE, LARGEST, refuse_rounded_integer
from orfit_bench.tables.integers import refuse_rounded as refuse_rounded_column

Array = np.ndarray[Any, Any]
EXACT = {float, bool, np.bool_, *(np.dtype(code).type for code in "bhiBHIefd")}
"""Types of values that are exact as doubles."""
NUMBERS = {float, int, bool, np.bool_, *(np.dtype(code).type for code in "bhilqBHILQefdg")}
"""Types of values that need no closer look."""
REMEDY = "want a finite number; replace it, for example by the mean of the feature, or leave out the row"


class Features:
    """The names of the features seen so far, in the order of the columns; a constant column precedes them."""

    def __init__(self, constant: bool, columns: Mapping[Any, int] | None = None) -> None:
        self._first = int(constant)
        self._column = {} if columns is None else columns  # by name, after the constant
        self.width = self._first + len(self._column)
        """The length of a row."""
        self._buffer: Any = np.zeros(self.width)  # mypy does not know that arrays are buffers
        self._buffer[: self._first] = 1.0
        self._format = f"{len(self._column)}d"
        self._size = len(self._column) if self.width else None

    @cached_property
    def _values(self) -> Callable[[Mapping[Any, Any]], tuple[Any, ...]]:
        return _values_of(tuple(self._column))

    def new(self, names: Iterable[Any]) -> list[Any]:
        """The names that are not known yet, in alphabetical order."""
        return sorted(set(names).difference(self._column), key=str)

    def with_new(self, names: Iterable[Any]) -> Features:
        """These features and new ones after them."""
        added = {name: self.width + i for i, name in enumerate(names)}
        return Features(bool(self._first), {**self._column, **added})

    def known_row(self, x: Mapping[Any, Any]) -> Array | None:
        """The row (width,) of x if it has exactly the known features, else None, as for a row of width 0.

        The next call overwrites the row.
        """
        if type(x) is not dict:
            x = plain_dict(x)
        if len(x) != self._size:
            return None
        try:
            values = self._values(x)
        except KeyError:
            return None
        return self._packed(values)

    def row(self, x: Mapping[Any, Any]) -> Array:
        """The row (width,) of x, with 0 for missing features; unknown features are left out.

        The next call overwrites the row.
        """
        if type(x) is not dict:
            x = plain_dict(x)
        if len(x) >= len(self._column):
            try:
                values = self._values(x)
            except KeyError:
                pass
            else:
                return self._packed(values)
        return self._filled({name: value for name, value in x.items() if name in self._column})

    def _packed(self, values: tuple[Any, ...]) -> Array:
        """The row of the values of all features."""
        if not EXACT.issuperset(map(type, values)):
            _refuse_inexact(self._column, values)
        try:  # struct is four times faster than np.array(values)
            pack_into(self._format, self._buffer, 8 * self._first, *values)
        except (StructError, OverflowError):
            check_finite(dict(zip(self._column, values, strict=True)))
            raise
        row: Array = self._buffer
        return row

    def _filled(self, x: Mapping[Any, Any]) -> Array:
        """The row of the values of some features; it costs what a row of zeros and these values cost."""
        if not EXACT.issuperset(map(type, x.values())):
            _refuse_inexact(x, x.values())
        row: Array = self._buffer
        row[self._first :] = 0.0
        for name, value in x.items():
            try:
                row[self._column[name]] = float(value)  # of a longdouble without a warning
            except OverflowError:
                check_finite({name: value})
                raise
        return row

    def rows(self, X: Any) -> Array:
        """The rows (n, width) of a DataFrame."""
        check_frame(X)
        table = np.zeros((len(X), self.width))
        table[:, : self._first] = 1.0
        known = X.columns[[name in self._column for name in X.columns]]
        if not known.is_unique:
            raise ValueError(f"X: the feature {known[known.duplicated()][0]!r} occurs twice: give it two names")
        for name in known:
            table[:, self._column[name]] = numbers_of(X[name], f"the feature {name!r}")
        return table


def _refuse_inexact(names: Iterable[Any], values: Collection[Any]) -> None:
    """Raise TypeError for a value that is not a number, ValueError for an integer that a double would round."""
    if not NUMBERS.issuperset(map(type, values)):
        check_finite(dict(zip(names, values, strict=True)))  # struct packs whatever has a float
    if max(values) >= LARGEST or min(values) <= -LARGEST:
        for name, value in zip(names, values, strict=True):
            refuse_rounded(value, f"the feature {name!r}")


class _OneValue:
    """The value of a single feature as a tuple; itemgetter would return the value itself."""

    def __init__(self, name: Any) -> None:
        self._name = name

    def __call__(self, x: Mapping[Any, Any]) -> tuple[Any, ...]:
        return (x[self._name],)


def _no_values(x: Mapping[Any, Any]) -> tuple[Any, ...]:
    return ()


def _values_of(names: Sequence[Any]) -> Callable[[Mapping[Any, Any]], tuple[Any, ...]]:
    """A function that returns the values of these features as a tuple; it raises KeyError if one is missing."""
    if len(names) > 1:
        return itemgetter(*names)
    return _OneValue(names[0]) if names else _no_values


def plain_dict(x: Any) -> dict[Any, Any]:
    """A mapping or series as a dictionary, without the default values of a Counter; TypeError for anything else."""
    if not hasattr(type(x), "items"):
        raise TypeError(f"got {type(x).__name__}, want a row as a dictionary of features, {{name: number}}")
    return dict(x.items())


def check_frame(X: Any) -> None:
    """Raise TypeError for anything but a pandas DataFrame, the type of River's mini-batches."""
    if not (hasattr(type(X), "iloc") and hasattr(type(X), "columns")):
        kind = type(X)
        raise TypeError(f"X: got {kind.__name__} of {kind.__module__.partition('.')[0]}, want a DataFrame of pandas")


def is_real(value: Any) -> bool:
    """Whether a value is a real number; durations of NumPy, which count as integers there, are none."""
    return isinstance(value, (int, float, np.integer, np.floating, np.bool_)) and not isinstance(value, np.timedelta64)


def check_finite(x: Mapping[Any, Any]) -> None:
    """Raise TypeError that names a feature that is not a number, ValueError for one that is not finite."""
    for name, value in x.items():
        if not is_real(value):
            kind = type(value).__name__
            raise TypeError(f"the feature {name!r} is {value!r}, of type {kind}, want a number: encode it beforehand")
        if not is_finite(value):
            shown = "an integer beyond the range of float64" if isinstance(value, int) else value
            raise ValueError(f"the feature {name!r} is {shown}: {REMEDY}")


@contextmanager
def named_columns(X: Any) -> Iterator[None]:
    """Context in which a ValueError about the rows of a DataFrame names the column."""
    try:
        yield
    except ValueError:
        if X.columns.is_unique:
            check_finite_columns(X)
        raise


def check_finite_columns(X: Any) -> None:
    """Raise ValueError for the first entry of a DataFrame that is not finite, with its column and index label."""
    for name in X.columns:
        bad = np.flatnonzero(~np.isfinite(numbers_of(X[name], f"the feature {name!r}")))
        if len(bad):
            value, label = X[name].iloc[bad[0]], X.index[bad[0]]
            raise ValueError(f"the feature {name!r} is {value} in the row {label!r} ({len(bad)} such in all): {REMEDY}")


def is_finite(value: Any) -> bool:
    """Whether a real number is finite as a double."""
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of doubles
        return False


def numbers_of(column: Any, what: str) -> Array:
    """A column of pandas as doubles, NaN where a value is missing. Raises TypeError if it is not numeric."""
    is_numeric = getattr(column.dtype, "kind", "") in "biuf"
    if not (is_numeric or (column.dtype == object and all(map(is_real, column[column.notna()])))):
        raise TypeError(f"{what} is of dtype {column.dtype}, want real numbers: encode it beforehand")
    try:
        numbers: Array = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{what} is of dtype {column.dtype}, want numbers ({error})") from None
    if column.dtype == object:
        for row in np.flatnonzero(np.abs(numbers) >= LARGEST):
            refuse_rounded(column.iloc[row], f"{what}, in the row {column.index[row]!r},")
    elif column.dtype.kind in "iu":
        refuse_rounded_column(column.dropna().to_numpy(), what)
    return numbers


def refuse_rounded(value: Any, what: str) -> None:
    """Raise ValueError for an integer that a double would round."""
    if isinstance(value, (int, np.integer)) and not -LARGEST <= value <= LARGEST and is_finite(value):
        refuse_rounded_integer(int(value), what, DOUBLE)

"""Dictionaries as rows: feature names in a fixed order; features can be missing, and new ones can appear."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

    def __init__(self, constant: bool, names: Sequence[Any] = ()) -> None:
        self._first = (1.0,) if constant else ()
        self._column = {name: i for i, name in enumerate(names)}
        self._values: Callable[[Mapping[Any, Any]], tuple[Any, ...]] = _values_of(names)
        self._buffer: Any = np.array(self._first + (0.0,) * len(names))  # mypy does not know that arrays are buffers
        self._format = f"{len(names)}d"
        self._size = len(names) if self.width else None

    @property
    def width(self) -> int:
        """The length of a row."""
        return len(self._first) + len(self._column)

    def new(self, names: Iterable[Any]) -> list[Any]:
        """The names that are not known yet, in alphabetical order."""
        return sorted(set(names).difference(self._column), key=str)

    def with_new(self, names: Iterable[Any]) -> Features:
        """These features and new ones after them."""
        return Features(bool(self._first), (*self._column, *names))

    def known_row(self, x: Mapping[Any, Any]) -> Array | None:
        """The row (width,) of x if it has exactly the known features, else None, as for a row of width 0.

        The next call overwrites the row.
        """
        if type(x) is not dict:
            x = plain_dict(x)
        if len(x) != self._size:
            return None
        try:
            return self._packed(self._values(x))
        except KeyError:
            return None

    def row(self, x: Mapping[Any, Any]) -> Array:
        """The row (width,) of x, with 0 for missing features; unknown features are left out.

        The next call overwrites the row.
        """
        if type(x) is not dict:
            x = plain_dict(x)
        try:
            values = self._values(x)
        except KeyError:
            values = tuple(x.get(name, 0.0) for name in self._column)
        return self._packed(values)

    def _packed(self, values: tuple[Any, ...]) -> Array:
        kinds = set(map(type, values))
        if not kinds <= EXACT:
            if not kinds <= NUMBERS:
                check_finite(dict(zip(self._column, values, strict=True)))  # struct packs whatever has a float
            if max(values) >= LARGEST or min(values) <= -LARGEST:
                for name, value in zip(self._column, values, strict=True):
                    refuse_rounded(value, f"the feature {name!r}")
        try:  # struct is four times faster than np.array(values)
            pack_into(self._format, self._buffer, 8 * len(self._first), *values)
        except (StructError, OverflowError):
            check_finite(dict(zip(self._column, values, strict=True)))
            raise
        row: Array = self._buffer
        return row

    def rows(self, X: Any) -> Array:
        """The rows (n, width) of a DataFrame."""
        check_frame(X)
        table = np.zeros((len(X), self.width))
        table[:, : len(self._first)] = 1.0
        known = X.columns[[name in self._column for name in X.columns]]
        if not known.is_unique:
            raise ValueError(f"X: the feature {known[known.duplicated()][0]!r} occurs twice: give it two names")
        for name in known:
            table[:, len(self._first) + self._column[name]] = numbers_of(X[name], f"the feature {name!r}")
        return table


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

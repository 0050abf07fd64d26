"""One row with names: a mapping, a pandas Series, or a one-dimensional xarray.DataArray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orfit_bench.tables.columns import read_columns
from orfit_bench.tables.data_arrays import is_data_array, labels_of_entries
from orfit_bench.tables.integers import DOUBLE, LARGEST, largest_safe, refuse_rounded_integer
from orfit_bench.tables.names import NamedValues, arrange, is_permutation, quoted


def read_row(
    x: Any,
    known: tuple[str, ...],
    width: int | None,
    argument: str = "x",
    dtype: np.dtype[Any] = DOUBLE,
) -> NamedValues:
    """One row with names in the order of the known names; other values unchanged.

    The labels of a Series or DataArray are its names. While no names are known, consecutive integers are not names:
    they number the entries, or the row is a part of a signal. All numbers must be representable in `dtype`.
    """
    if type(x) is np.ndarray:
        return NamedValues(x)
    labels = list(x) if isinstance(x, Mapping) else labels_of_entries(x)
    if labels is None:
        return NamedValues(*read_columns(x, argument, known, width=width, dtype=dtype))
    if isinstance(x, Mapping):
        if (values := values_by_name(x, known)) is not None:
            return NamedValues(_numbers(list(known), values, list(range(len(known))), argument, dtype), known)
        order, names = arrange(labels, known, width, argument)
        return NamedValues(_numbers(labels, list(x.values()), order, argument, dtype), names)
    if not known and _are_positions(labels, x, argument):
        return NamedValues(*read_columns(x, argument, dtype=dtype))
    try:
        order, names = arrange(labels, known, width, argument)
    except ValueError as error:
        if known:
            error.add_note(f"the labels of a {type(x).__name__} are names of columns: pass {_as_array(argument)}")
        raise
    if is_data_array(x):
        return NamedValues(np.asarray(x.to_numpy())[order], names)
    return NamedValues(_numbers(labels, x.tolist(), order, argument, dtype), names)


def values_by_name(x: Mapping[Any, Any], known: tuple[str, ...]) -> list[Any] | None:
    """The entries of a row in the order of the known names; None if the row has other names, or none are known."""
    if not known or len(x) != len(known) or not all(name in x for name in known):
        return None
    return [x[name] for name in known]


def is_row_with_names(value: Any) -> bool:
    """Whether the value is a mapping, or a row whose entries have labels."""
    return isinstance(value, Mapping) or labels_of_entries(value) is not None


def _are_positions(labels: list[Any], x: Any, argument: str) -> bool:
    """Whether labels are consecutive integers. Raises ValueError if they are, but in another order."""
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in labels):
        return False
    first = min(labels, default=0)
    if not is_permutation([label - first for label in labels]):
        return False
    if labels != sorted(labels):
        kind = type(x).__name__
        by_number = f"{argument}.sort_index()" if kind == "Series" else f"{argument}.sortby({x.dims[0]!r})"
        raise ValueError(
            f"{argument}: the labels of the {kind} are {quoted(labels)}, the numbers of columns in another order: "
            f"pass {by_number} if they are that, or {_as_array(argument)}"
        )
    return True


def _as_array(argument: str) -> str:
    return f"{argument}.to_numpy() if the entries are in order"


def _numbers(
    labels: list[Any], values: list[Any], order: list[int], argument: str, dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """The values in this order as doubles. Raises TypeError or ValueError for one that is not a number or too large."""
    if set(map(type, values)) != {float}:
        safe = largest_safe(dtype)
        for label, value in zip(labels, values, strict=True):
            if type(value) is not float and not (type(value) is int and -safe <= value <= safe):
                _check_number(value, label, argument, dtype)
    numbers = np.array([values[i] for i in order], np.float64)
    if largest_safe(dtype) < LARGEST:
        with np.errstate(over="ignore"):
            lost = np.isinf(numbers.astype(dtype)) & np.isfinite(numbers)
        if lost.any():
            place = int(lost.argmax())
            where = f"{argument}[{labels[order[place]]!r}]"
            raise ValueError(f"{where} = {numbers[place]} overflows {dtype}: scale it or take float64")
    return numbers


def _check_number(value: Any, label: Any, argument: str, dtype: np.dtype[Any]) -> None:
    """Raise TypeError for a value that is not a real number, ValueError for one that the type cannot represent."""
    if type(value) is np.float64 or isinstance(value, (bool, np.bool_)):
        return
    where = f"{argument}[{label!r}]"
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        refuse_rounded_integer(int(value), where, dtype)
    elif isinstance(value, np.longdouble):
        with np.errstate(over="ignore"):
            if np.isinf(np.float64(value)) and np.isfinite(value):
                raise ValueError(f"{where} = {value!s} overflows {dtype}: scale it")
    elif isinstance(value, (complex, np.complexfloating)):
        raise TypeError(
            f"{where} is {value!r}, a complex number: rows with names hold real numbers; a learner created with "
            "dtype='complex128' takes complex rows as arrays"
        )
    elif not isinstance(value, (float, np.floating)):
        raise TypeError(f"{where} is {value!r}, of type {type(value).__name__}: want a number")

"""Labels of rows: the index of pandas and the coordinate of xarray. Labels of X and y must have the same order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from orfit_bench.tables.data_arrays import is_data_array


def check_rows_agree(X: Any, value: Any, argument: str, axes: int = 1) -> None:
    """Raise ValueError if two tables have the same row labels in different orders.

    Tables with different labels are matched by position: targets of the next day have other dates than their rows.

    Parameters
    ----------
    X, value : object
        The rows, and the values that belong to them.
    argument : str
        The name of `value`, for messages.
    axes : int
        The number of leading dimensions that both have in common.
    """
    if type(X) is np.ndarray or type(value) is np.ndarray:
        return
    if is_data_array(X) and is_data_array(value):
        _check_dimensions(X, value, argument, axes)
    for axis in range(axes):
        one, other = _labels(X, axis), _labels(value, axis)
        if one is not None and other is not None and _are_permuted(one, other):
            row, here, there = _first_difference(other.tolist(), one.tolist())
            raise ValueError(
                f"{argument}: its rows have the labels of X in another order: row {row} has {here!r}, in X {there!r}. "
                f"Put them in the same order, or pass {argument}.to_numpy() if they are in order"
            )


def _are_permuted(one: Any, other: Any) -> bool:
    """Whether two indexes have the same labels in another order."""
    if one is other or len(one) != len(other) or one.equals(other):
        return False
    if one.is_monotonic_increasing and other.is_monotonic_increasing:  # pandas caches this with an index
        return False
    try:
        if one.dtype == other.dtype:
            return bool(one.sort_values().equals(other.sort_values()))
    except TypeError:  # labels without an order
        pass
    a, b = one.tolist(), other.tolist()
    try:
        return Counter(a) == Counter(b) and not all(map(_are_equal, a, b))
    except TypeError:  # labels without a hash
        return False


def _first_difference(labels: list[Any], wanted: list[Any]) -> tuple[int, Any, Any]:
    """The first position at which two lists of labels differ, with both labels."""
    return next((i, a, b) for i, (a, b) in enumerate(zip(labels, wanted, strict=True)) if not _are_equal(a, b))


def _are_equal(a: Any, b: Any) -> bool:
    """Whether two labels are equal, where a missing label equals itself."""
    equal = a == b  # for some missing labels this is missing too
    return a is b or (isinstance(equal, bool | np.bool_) and bool(equal))


def _check_dimensions(X: Any, value: Any, argument: str, axes: int) -> None:
    """Raise ValueError if a DataArray has the row dimensions in another order, or X has its columns among them."""
    want, got = X.dims[:axes], value.dims[:axes]
    if not got:
        return  # no rows, which is refused elsewhere
    if got[0] in X.dims and set(got).isdisjoint(want):
        others = ", ".join(repr(dim) for dim in X.dims if dim not in got)
        raise ValueError(
            f"{argument}: its rows are along {got[0]!r}, those of X along {want[0]!r}: pass "
            f"X.transpose({', '.join(map(repr, got))}, {others})"
        )
    if set(want) == set(got) and want != got:
        raise ValueError(
            f"{argument}: got the dimensions {', '.join(map(repr, got))}, want {', '.join(map(repr, want))} as X has: "
            f"pass {argument}.transpose({', '.join(map(repr, (*want, *value.dims[axes:])))})"
        )


def _labels(value: Any, axis: int) -> Any:
    """The labels along an axis as a pandas index; None if there are none."""
    if is_data_array(value):
        return value.indexes.get(value.dims[axis]) if axis < value.ndim else None
    return value.index if axis == 0 and hasattr(type(value), "iloc") else None

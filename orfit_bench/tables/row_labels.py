"""Labels of rows: the index of pandas and the coordinate of xarray. Where X and y both have some, they must agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.tables.data_arrays import is_data_array


def check_rows_agree(X: Any, value: Any, argument: str, axes: int = 1) -> None:
    """ValueError where two tables label their rows differently.

    Rows that are numbered 0, 1, ... have no labels; but the same numbers in another order are labels.

    Parameters
    ----------
    X, value : object
        The rows, and what comes with each of them.
    argument : str
        Of `value`, for messages.
    axes : int
        The number of leading dimensions that both have in common.
    """
    if type(X) is np.ndarray or type(value) is np.ndarray:
        return
    if is_data_array(X) and is_data_array(value):
        _check_dimensions(X, value, argument, axes)
    for axis in range(axes):
        one, other = _labels(X, axis), _labels(value, axis)
        if one is not None and other is not None and not _agree(one, other):
            row = int(np.flatnonzero(~np.equal(one.to_numpy(object), other.to_numpy(object)))[0])
            raise ValueError(
                f"{argument}: its rows have other labels than those of X: row {row} has {other[row]!s}, in X "
                f"{one[row]!s}. Put them in the same order, or pass {argument}.to_numpy() if they are in order"
            )


def _agree(one: Any, other: Any) -> bool:
    """Whether two indexes label rows alike; those of other lengths are refused later, for their shapes."""
    if one is other or len(one) != len(other) or one.equals(other):
        return True
    if _is_numbered(one) or _is_numbered(other):
        labels = (other if _is_numbered(one) else one).to_numpy()
        return labels.dtype.kind not in "iu" or not np.array_equal(np.sort(labels), np.arange(len(labels)))
    return False


def _is_numbered(index: Any) -> bool:
    """Whether the labels are 0, 1, ..., by which pandas numbers rows without labels."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _check_dimensions(X: Any, value: Any, argument: str, axes: int) -> None:
    """ValueError where a DataArray has the dimensions of the rows in another order."""
    want, got = X.dims[:axes], value.dims[:axes]
    if set(want) == set(got) and want != got:
        raise ValueError(
            f"{argument}: got the dimensions {', '.join(map(repr, got))}, want {', '.join(map(repr, want))} as X has: "
            f"pass {argument}.transpose({', '.join(map(repr, (*want, *value.dims[axes:])))})"
        )


def _labels(value: Any, axis: int) -> Any:
    """The labels along an axis as an index of pandas; None where there are none."""
    if is_data_array(value):
        return value.indexes.get(value.dims[axis]) if axis < value.ndim else None
    return value.index if axis == 0 and hasattr(type(value), "iloc") else None

"""Single rows of plain numbers, converted for the short path: lists, rows with the known names, other dtypes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from orfit_bench.spec.backend import Array
from orfit_bench.tables import single_rows
from orfit_bench.tables.integers import DOUBLE, largest_safe

FLOATS = {float, np.float64, np.float32}
PLAIN = {int, *FLOATS}
"""Types of the numbers of a list. All others, such as bool, take the general path."""


def plain_row(x: Any, names: tuple[str, ...], needs_names: bool, dtype: np.dtype[Any]) -> Array | None:
    """Return x (d,) as an array of real numbers of this dtype; None if the general path has to convert or refuse it.

    `names` are the names of the columns, if they are known.
    """
    kind = type(x)
    if dtype.kind != "f":
        return None
    if kind is dict:
        if (x := single_rows.values_by_name(x, names)) is None:
            return None
    elif hasattr(kind, "iloc"):
        if (x := _values_of_series(x, names)) is None:
            return None
        kind = np.ndarray
    elif needs_names:
        return None
    if kind is np.ndarray:
        has_integers = x.dtype.kind in "iu"
        if not has_integers and (x.dtype.kind != "f" or x.dtype.itemsize > DOUBLE.itemsize):
            return None
    elif kind in (dict, list, tuple):
        types = set(map(type, x))
        has_integers = not types <= FLOATS
        if not types <= PLAIN:
            return None
    else:
        return None
    found = _converted(x, dtype)
    if found is not None and has_integers and found.size and np.abs(found).max() >= largest_safe(dtype):
        return None  # an integer may have been rounded
    return found


def _values_of_series(x: Any, names: tuple[str, ...]) -> Array | None:
    """The values of a Series of pandas whose labels are the known names in their order; None for anything else."""
    if not names or x.ndim != 1:
        return None
    with suppress(TypeError):  # pandas' NA as a label is neither equal nor unequal
        if tuple(x.index.tolist()) == names:
            return np.asarray(x.to_numpy())
    return None


def _converted(x: Any, dtype: np.dtype[Any]) -> Array | None:
    if dtype == DOUBLE:  # without errstate, which takes a third of the time
        with suppress(OverflowError):  # of an integer
            return np.array(x, dtype, order="C")
        return None
    with suppress(OverflowError), np.errstate(over="ignore"):  # what becomes infinite is refused later
        return np.array(x, dtype, order="C")
    return None

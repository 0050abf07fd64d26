"""Integers that a floating-point type would round: beyond 2^53 for doubles, except multiples of powers of 2."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

LARGEST = 2**53
"""All integers up to this one are exact as doubles."""
DOUBLE = np.dtype(np.float64)


def refuse_rounded(column: Any, where: str, first: int = 0, dtype: np.dtype[Any] = DOUBLE) -> None:
    """Raise ValueError with the first integer of a column (NumPy or Arrow) that a type would round, and its row.

    Parameters
    ----------
    column : array
        A column; integers of Arrow columns can be missing, and columns of objects can hold other values too.
    where : str
        The beginning of the message: the argument or file, and the column.
    first : int
        The row of the first entry.
    dtype : dtype
        The type, of real or complex numbers.
    """
    if not _has_large_integers(column, dtype):
        return
    for row, value in enumerate(column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()):
        if _is_integer(value) and not _holds(dtype, value):
            raise ValueError(
                f"{where} holds {value} in row {first + row}, which would be rounded: {_limit(dtype)}: "
                "convert the column to float if rounding is wanted"
            )


@cache
def largest_safe(dtype: np.dtype[Any]) -> int:
    """The largest integer up to which all integers are exact in a type."""
    return int(2 ** (np.finfo(dtype).nmant + 1))


def refuse_rounded_integer(value: int, where: str, dtype: np.dtype[Any]) -> None:
    """Raise ValueError if a type would round an integer, which can have any size."""
    try:
        is_held = _holds(dtype, value)
    except OverflowError:
        digits = f"{value:d}" if value.bit_length() < 128 else f"an integer of {value.bit_length()} bits"
        raise ValueError(f"{where} is {digits}, which overflows {dtype}: scale it") from None
    if not is_held:
        raise ValueError(
            f"{where} = {value} would be rounded: {_limit(dtype)}: pass floating-point numbers if rounding is wanted"
        )


def _holds(dtype: np.dtype[Any], value: int) -> bool:
    """Whether an integer is exact in a type. Raises OverflowError if it exceeds the largest number of the type."""
    with np.errstate(over="ignore"):
        return bool(int(dtype.type(float(value)).real) == value)


def _limit(dtype: np.dtype[Any]) -> str:
    return f"{dtype} holds all integers up to 2^{largest_safe(dtype).bit_length() - 1} only"


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64)


def _has_large_integers(column: Any, dtype: np.dtype[Any]) -> bool:
    """Whether there are integers in a range where a type is not exact."""
    safe, width = largest_safe(dtype), np.finfo(dtype).dtype.itemsize
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "O":
            return any(_is_integer(value) and not -safe <= value <= safe for value in column.tolist())
        if column.dtype.kind not in "iu" or column.dtype.itemsize < width or not len(column):
            return False
        least, largest = int(column.min()), int(column.max())
    else:
        import pyarrow as pa
        import pyarrow.compute as pc

        is_wide = pa.types.is_integer(column.type) and column.type.bit_width >= 8 * width
        if not is_wide or column.null_count == len(column):
            return False
        least, largest = pc.min_max(column).as_py().values()
    return least < -safe or largest > safe

"""Integers that a double does not hold: those beyond 2^53, apart from multiples of powers of 2."""

from __future__ import annotations

from typing import Any

import numpy as np

LARGEST = 2**53
"""All integers up to this one are doubles."""


def refuse_rounded(column: Any, where: str, first: int = 0) -> None:
    """ValueError with the first integer of a column (of NumPy or Arrow) that a double does not hold, and its row.

    Parameters
    ----------
    column : array
        A column; missing values may be among the integers of Arrow's columns.
    where : str
        The beginning of the message: the argument or file, and the column.
    first : int
        The row of the first entry.
    """
    if not _has_large_integers(column):
        return
    for row, value in enumerate(column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()):
        if value is not None and int(float(value)) != value:
            raise ValueError(
                f"{where} holds {value} in row {first + row}, which would be rounded: float64 holds all integers up to "
                "2^53 only: convert the column to float if rounding is wanted"
            )


def _has_large_integers(column: Any) -> bool:
    """Whether there are integers beyond 2^53."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind not in "iu" or column.dtype.itemsize < 8 or not len(column):
            return False
        least, largest = int(column.min()), int(column.max())
    else:
        import pyarrow as pa
        import pyarrow.compute as pc

        if column.type not in (pa.int64(), pa.uint64()) or column.null_count == len(column):
            return False
        least, largest = pc.min_max(column).as_py().values()
    return least < -LARGEST or largest > LARGEST

"""Tables converted in one step, if no column and no value has to be checked on its own.

narwhals is imported when the first table is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.tables.integers import largest_safe

NUMBERS = {"Boolean", "Float32", "Float64"} | {f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)}
"""The types of narwhals that NumPy has too."""


def convert_at_once(table: Any, names: list[str], dtype: np.dtype[Any]) -> NDArray[np.float64] | None:
    """The numbers of a table of narwhals as doubles (rows, columns), in this order of columns.

    None if a column is not numeric, a value is missing, or an integer might not be exact in `dtype`: the columns then
    have to be read one by one.
    """
    if not len(table):
        return None
    implementation = table.implementation
    if implementation.is_pandas():
        return _convert_pandas(table.to_native(), dtype)
    if not (implementation.is_polars() or implementation.is_pyarrow()):
        return None
    if names != table.columns:
        table = table.select(names)
    types = set(table.schema.values())
    if not all(str(t) in NUMBERS for t in types):
        return None
    return _if_exact(table.to_numpy(), dtype, has_integers=any(t.is_integer() for t in types))


def _convert_pandas(table: Any, dtype: np.dtype[Any]) -> NDArray[np.float64] | None:
    types = set(table.dtypes)
    kinds = {t.kind for t in types}
    if not kinds <= set("biuf") or any(str(t).startswith("Sparse") for t in types):
        return None
    if all(isinstance(t, np.dtype) for t in types):
        values = table.to_numpy(np.float64)
        return values if kinds <= set("bf") else _if_exact(values, dtype, has_integers=True)
    return _if_exact(table.to_numpy(np.float64, na_value=np.nan), dtype, has_integers=bool(kinds & set("iu")))


def _if_exact(values: NDArray[Any], dtype: np.dtype[Any], has_integers: bool) -> NDArray[np.float64] | None:
    """The values as doubles, unless one is NaN, which may stand for a missing one, or might be a rounded integer."""
    if values.dtype.kind not in "biuf":
        return None
    numbers = values.astype(np.float64, copy=False)
    limit = largest_safe(dtype) if has_integers else np.inf
    return numbers if -limit < numbers.min() and numbers.max() < limit else None

"""Tables converted in one step, if no value has to be checked on its own.

narwhals is imported when the first table is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.tables.integers import largest_safe, refuse_rounded

NUMBERS = {"Boolean", "Float32", "Float64"} | {f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)}
"""The types of narwhals that NumPy has too."""


def convert_at_once(table: Any, names: list[str], argument: str, dtype: np.dtype[Any]) -> NDArray[np.float64] | None:
    """The numbers of a table of narwhals as doubles (rows, columns), in this order of columns.

    None if a column is not numeric, a value is missing, or an integer might not be exact in `dtype`: the columns then
    have to be read one by one. Raises ValueError for an integer in a column of NumPy that would be rounded.
    """
    if not len(table):
        return None
    implementation = table.implementation
    if implementation.is_pandas():
        return _convert_pandas(table.to_native(), names, argument, dtype)
    if not (implementation.is_polars() or implementation.is_pyarrow()):
        return None
    if names != table.columns:
        table = table.select(names)
    types = list(table.schema.values())
    if not all(str(t) in NUMBERS for t in set(types)):
        return None
    return _if_exact(table.to_numpy(), [i for i, t in enumerate(types) if t.is_integer()], dtype)


def _convert_pandas(table: Any, names: list[Any], argument: str, dtype: np.dtype[Any]) -> NDArray[np.float64] | None:
    types = list(table.dtypes)
    if any(t.kind not in "biuf" or str(t).startswith("Sparse") for t in set(types)):
        return None
    integers = [i for i, t in enumerate(types) if t.kind in "iu"]
    if not all(isinstance(t, np.dtype) for t in set(types)):
        return _if_exact(table.to_numpy(np.float64, na_value=np.nan), integers, dtype)
    values: NDArray[np.float64] = table.to_numpy(np.float64)
    for i in _large(values, integers, dtype):
        refuse_rounded(table.iloc[:, i].to_numpy(), f"{argument}: column {names[i]!r}", dtype=dtype)
    return values


def _if_exact(values: NDArray[Any], integers: Sequence[int], dtype: np.dtype[Any]) -> NDArray[np.float64] | None:
    """The values as doubles; None if one is NaN, which may stand for a missing value, or an integer is large."""
    if values.dtype.kind not in "biuf":
        return None
    numbers = values.astype(np.float64, copy=False)
    return None if math.isnan(numbers.max()) or _large(numbers, integers, dtype) else numbers


def _large(values: NDArray[np.float64], integers: Sequence[int], dtype: np.dtype[Any]) -> list[int]:
    """The columns of integers in which one might not be exact in a dtype."""
    if not integers:
        return []
    part, limit = values if len(integers) == values.shape[1] else values[:, integers], largest_safe(dtype)
    if -limit < part.min() and part.max() < limit:
        return []
    exact = (part.min(axis=0) > -limit) & (part.max(axis=0) < limit)
    return [i for i, is_exact in zip(integers, exact.tolist(), strict=True) if not is_exact]

"""Functions for arrays of any library and device: dtypes, copies, diagonals, host memory, finite numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of any library."""
MAX_SQUARES = 10_000
"""With at most this many numbers, BLAS adds their squares on the calling thread, without waiting for other threads."""


@cache
def array_type(xp: ModuleType) -> type:
    """The class of the arrays of a namespace; the standard gives it no name."""
    found: type = getattr(xp, "ndarray", None) or type(xp.empty((0,)))
    return found


def native_dtype(xp: ModuleType, dtype: np.dtype[Any]) -> Any:
    """The dtype of a namespace that corresponds to a dtype of NumPy."""
    return dtype if xp is np else getattr(xp, dtype.name)


def dtype_name(a: Array) -> str:
    """The name of an array's dtype, "float64" for `torch.float64`."""
    return str(getattr(a.dtype, "name", a.dtype)).rpartition(".")[2]


def host_dtype(a: Array) -> np.dtype[Any]:
    """The dtype of an array in NumPy; `object` for one that NumPy does not have, such as bfloat16."""
    if isinstance(a.dtype, np.dtype):
        return a.dtype
    try:
        return np.dtype(dtype_name(a))
    except TypeError:
        return np.dtype(object)


def spacing(a: object) -> float:
    """The spacing of the floating-point numbers of an array at 1; 0 for anything else."""
    if not hasattr(a, "dtype") or (dtype := host_dtype(a)).kind != "f":
        return 0.0
    return float(np.finfo(dtype).eps)


def cast(a: Array, dtype: np.dtype[Any]) -> Array:
    """A copy of an array in a dtype of NumPy, on the device of the array."""
    if hasattr(a, "astype"):
        return a.astype(dtype)
    xp = a.__array_namespace__()
    return xp.astype(a, native_dtype(xp, dtype), copy=True)


def copy_of(a: Array, xp: ModuleType) -> Array:
    """An independent copy of an array, of the namespace xp or of NumPy."""
    return a.copy() if hasattr(a, "copy") else xp.asarray(a, copy=True)


def take(a: Array, index: slice | Sequence[int] | NDArray[Any]) -> Array:
    """A copy of entries along the first dimension of an array, on its device."""
    if isinstance(a, np.ndarray):
        return a[index].copy() if isinstance(index, slice) else a[index]  # an index of integers copies
    xp = a.__array_namespace__()
    return copy_of(a[index, ...], xp) if isinstance(index, slice) else xp.take(a, xp.asarray(index), axis=0)


def enlarged(a: Array, shape: tuple[int, ...]) -> Array:
    """`a` padded with zeros at the end of each dimension to this shape; `a` itself if it has the shape."""
    if a.shape == shape:
        return a
    found = a.__array_namespace__().zeros(shape, dtype=a.dtype)
    found[tuple(map(slice, a.shape))] = a
    return found


def diagonal(a: Array, xp: ModuleType) -> Array:
    """The diagonal of a matrix, or of each in a stack; NumPy and CuPy keep a function outside `linalg`."""
    return xp.diagonal(a, axis1=-2, axis2=-1) if hasattr(xp, "diagonal") else xp.linalg.diagonal(a)


def transposed(a: Array, xp: ModuleType) -> Array:
    """The transpose of a matrix, or of each in a stack."""
    return xp.swapaxes(a, -1, -2) if hasattr(xp, "swapaxes") else xp.matrix_transpose(a)


def row_blocks(X: Array, entries: int, most: int) -> list[Array]:
    """The rows X in blocks for each of which `entries` numbers per row are at most `most`, or of one row."""
    size, n = max(1, most // max(1, entries)), X.shape[0]
    return [X[begin : min(begin + size, n), :] for begin in range(0, n, size)] or [X]


def contiguous(a: Array, xp: ModuleType) -> Array:
    """The array in C order if its library has memory orders; the array API standard defines none."""
    return xp.ascontiguousarray(a) if hasattr(xp, "ascontiguousarray") else a


def to_host(a: Array) -> NDArray[Any]:
    """The array as a NumPy array of the same dtype; it is copied only if it is on a device."""
    if isinstance(a, np.ndarray) or not hasattr(a, "__dlpack_device__"):
        return np.asarray(a)
    return np.from_dlpack(a, device="cpu")


def has_finite_sum(a: NDArray[Any]) -> bool:
    """Whether a sum shows, in one pass without a temporary, that all entries are finite; huge ones may give False."""
    if a.size <= MAX_SQUARES:
        return math.isfinite(np.vdot(a, a).real)
    with np.errstate(all="ignore"):
        return bool(np.isfinite(a.sum()))

"""Arrays of any library and device, brought to host memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@cache
def array_type(xp: Any) -> type:
    """The class of the arrays of a namespace; the standard gives it no name."""
    found: type = getattr(xp, "ndarray", None) or type(xp.empty((0,)))
    return found


def native_dtype(xp: Any, dtype: np.dtype[Any]) -> Any:
    """What the functions of a namespace take for a dtype of NumPy."""
    return dtype if xp is np else getattr(xp, dtype.name)


def dtype_name(a: Any) -> str:
    """The name of an array's dtype, "float64" for `torch.float64`."""
    return str(getattr(a.dtype, "name", a.dtype)).rpartition(".")[2]


def copy_of(a: Any, xp: Any) -> Any:
    """An independent copy of an array, of the namespace xp or of NumPy."""
    return a.copy() if hasattr(a, "copy") else xp.asarray(a, copy=True)


def diagonal(a: Any, xp: Any) -> Any:
    """The diagonal of a matrix; NumPy and CuPy keep the function outside `linalg`."""
    return xp.diagonal(a) if hasattr(xp, "diagonal") else xp.linalg.diagonal(a)


def contiguous(a: Any, xp: Any) -> Any:
    """The array in C order, where its library knows an order; the standard knows none."""
    return xp.ascontiguousarray(a) if hasattr(xp, "ascontiguousarray") else a


def to_host(a: Any) -> NDArray[Any]:
    """A NumPy array of what may lie on a device, in its own dtype; what is in host memory already is not copied."""
    if isinstance(a, np.ndarray) or not hasattr(a, "__dlpack_device__"):
        return np.asarray(a)
    return np.from_dlpack(a, device="cpu")

"""The functions of the namespace, made from NumPy's of the same name and restricted to CuPy's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _operators  # noqa: F401  # gives the array its operators
from ._array import compute, lifted, multiply_matrices, ndarray, plain
from ._counts import COUNTS, count_call
from ._memory import Block
from ._real import bound
from ._rounding import flushed

CREATED_THERE = ("empty", "zeros", "ones", "eye", "full", "arange", "linspace", "identity")
"""Functions whose results are filled on the device, without an upload."""
SHARED = ("diagonal", "reshape", "transpose", "ravel", "squeeze", "expand_dims", "permute_dims", "broadcast_to")
"""Functions that return a view."""
COPYING = ("concatenate", "stack", "take")
"""Functions that copy numbers without computing, so that subnormal ones are kept."""


def created(name: str, real: Any) -> Callable[..., Any] | None:
    """The function of this name; None if CuPy's attribute is not a function."""
    if name in OWN:
        return bound(name, real, OWN[name])
    if not callable(real) or isinstance(real, type):
        return None
    act = getattr(np, name)
    if isinstance(act, np.ufunc):
        return lambda *given, **options: compute(name, act, *given, **options)
    return bound(name, real, _created(name, act) if name in CREATED_THERE else _called(name, act))


def _created(name: str, act: Any) -> Callable[..., Any]:
    def create(*arguments: Any, **options: Any) -> ndarray:
        count_call(name, arguments, options)
        return ndarray(act(*arguments, **options))

    return create


def _called(name: str, act: Any) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        if not any(map(_on_device, (*arguments, *options.values()))):
            raise TypeError(f"cupy.{name} got no array on the device, but {[type(a).__name__ for a in arguments]}")
        if name in SHARED:
            found = act(*map(plain, arguments), **options)
            return ndarray(found, next(a._block for a in arguments if isinstance(a, ndarray)))
        count_call(name, arguments, options)
        given = [plain(a) if name in COPYING else _flushed(plain(a)) for a in arguments]
        with np.errstate(all="ignore"):
            return lifted(act(*given, **{key: plain(value) for key, value in options.items()}))

    return call


def _on_device(a: Any) -> bool:
    return isinstance(a, ndarray) or (isinstance(a, (list, tuple)) and any(map(_on_device, a)))


def _flushed(a: Any) -> Any:
    return type(a)(map(flushed, a)) if isinstance(a, (list, tuple)) else flushed(a)


# ---------------------------------------------------------------------- functions with a rule of their own


def uploaded(a: Any, dtype: Any = None, order: Any = None) -> ndarray:
    """A host array, list or number, copied to the device through a staging buffer."""
    host = np.array(a, dtype=dtype, order=order or "K")
    if host.dtype.kind not in "biufc":
        raise ValueError(f"Unsupported dtype {host.dtype}")
    COUNTS.uploads += 1
    COUNTS.bytes_there += host.nbytes
    return ndarray(host)


def converted(a: ndarray, dtype: Any = None, order: Any = None) -> ndarray:
    """A copy on the device."""
    COUNTS.launches += 1
    with np.errstate(all="ignore"):
        return ndarray(np.array(a._a, dtype=dtype, order="C" if order in (None, "K") else order))


def array(
    obj: Any,
    dtype: Any = None,
    copy: Any = True,
    order: Any = "K",
    subok: Any = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    if isinstance(obj, ndarray):
        return converted(obj, dtype, order)
    return uploaded(obj, dtype, order)


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False) -> ndarray:
    if not isinstance(a, ndarray):
        return uploaded(a, dtype, order)
    return a if dtype is None or a.dtype == dtype else converted(a, dtype, order)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """Unlike NumPy's function, it leaves arrays without dimensions as they are."""
    a = asarray(a, dtype)
    return a if a.flags.c_contiguous else converted(a, dtype, "C")


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    return a.get(order=order, out=out) if isinstance(a, ndarray) else np.asarray(a, order=order)


def from_dlpack(other: Any, *, device: Any = None, copy: Any = None) -> ndarray:
    if other.__dlpack_device__()[0] not in (2, 13):
        raise BufferError(f"Unsupported device type {other.__dlpack_device__()[0]}")
    return other.__dlpack__(stream=None).of


def count_nonzero(a: Any, axis: Any = None) -> ndarray:
    COUNTS.launches += 2
    return ndarray(np.asarray(np.count_nonzero(flushed(plain(a)), axis=axis)))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if not isinstance(condition, ndarray):
        raise TypeError("cupy.where wants a condition on the device")
    return compute("where", np.where, condition, x, y)


def matmul(a: Any, b: Any, *, out: Any = None) -> ndarray:
    """A B, in an array of the same dtype and shape, in C order, without a copy."""
    product = multiply_matrices(a, b)
    if out is None:
        return product
    if (out.dtype, out.shape) != (product.dtype, product.shape) or not out.flags.c_contiguous:
        raise ValueError(f"matmul: got out of {out.dtype} and shape {out.shape}, want {product.dtype} {product.shape}")
    out._a[...] = product._a
    return out


def finfo(dtype: Any) -> Any:
    return np.finfo(dtype)


def reserve(size: int) -> Block:
    """Memory that a library needs while it works."""
    return Block(size)


OWN = {
    "array": array,
    "asarray": asarray,
    "ascontiguousarray": ascontiguousarray,
    "asnumpy": asnumpy,
    "from_dlpack": from_dlpack,
    "count_nonzero": count_nonzero,
    "where": where,
    "matmul": matmul,
    "finfo": finfo,
}

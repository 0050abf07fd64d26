"""The array type: a NumPy array that only the functions of the stand-in can reach."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._counts import COUNTS, LAUNCHES
from ._memory import Block
from ._real import REAL
from ._rounding import flushed, uneven

NUMBERS = (int, float, bool, complex, np.generic)
CUDA, HOST = 2, 1
"""DLPack's numbers of the two places."""


class ndarray:  # CuPy's name
    """An array on the device."""

    __slots__ = ("_a", "_block")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, a: Any, block: Block | None = None) -> None:
        self._a = a
        self._block = Block(a.nbytes) if block is None else block

    # ------------------------------------------------------------------ nothing of the host's is let in, nothing out

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        raise TypeError(f"numpy.{function.__name__} of an array on the device")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if not hasattr(REAL, ufunc.__name__) or options.get("out"):
            return NotImplemented
        return compute(ufunc.__name__, getattr(ufunc, method), *inputs, **options)

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        COUNTS.waits += 1
        COUNTS.launches += not self._a.flags.c_contiguous
        COUNTS.bytes_back += self.nbytes
        host = np.array(self._a, order="C")
        if out is None:
            return host
        out[...] = host
        return out

    def set(self, a: Any, stream: Any = None) -> None:
        """Copy from host memory, without a staging buffer."""
        if type(a) is not np.ndarray or (a.dtype, a.shape) != (self.dtype, self.shape):
            raise TypeError(f"set: got {type(a).__name__}, want a NumPy array of {self.dtype} and shape {self.shape}")
        COUNTS.uploads += 1
        COUNTS.bytes_there += a.nbytes
        self._a[...] = a

    def item(self) -> Any:
        return self.get().item()

    def tolist(self) -> Any:
        return self.get().tolist()

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __index__(self) -> int:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")

    def __repr__(self) -> str:
        return repr(self.get())

    def __format__(self, how: str) -> str:
        return format(self.get(), how)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        if dl_device == (HOST, 0):
            return self.get().__dlpack__()
        return SimpleNamespace(of=self)  # replaces a capsule, only for the stand-in's from_dlpack

    # ------------------------------------------------------------------ what it is

    shape = property(lambda self: self._a.shape)
    dtype = property(lambda self: self._a.dtype)
    ndim = property(lambda self: self._a.ndim)
    size = property(lambda self: self._a.size)
    nbytes = property(lambda self: self._a.nbytes)
    itemsize = property(lambda self: self._a.itemsize)
    strides = property(lambda self: self._a.strides)
    T = property(lambda self: ndarray(self._a.T, self._block))
    device = property(lambda self: 0)

    @property
    def flags(self) -> Any:
        found = self._a.flags
        return SimpleNamespace(c_contiguous=found.c_contiguous, f_contiguous=found.f_contiguous, owndata=found.owndata)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return len(self._a)

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    # ------------------------------------------------------------------ parts

    def __getitem__(self, key: Any) -> ndarray:
        found = self._a[_host_key(key)]
        if isinstance(found, np.ndarray) and not _selects(key):
            return ndarray(found, self._block)
        if _selects(key):
            COUNTS.launches += 1
            return ndarray(np.array(found))
        return ndarray(self._a[(*key, ...) if isinstance(key, tuple) else (key, ...)], self._block)  # 0-d, a view

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        COUNTS.launches += 1
        with np.errstate(all="ignore"):
            self._a[_host_key(key)] = value._a if isinstance(value, ndarray) else value

    # ------------------------------------------------------------------ arithmetic

    def __matmul__(self, other: Any) -> Any:
        return multiply_matrices(self, other) if isinstance(other, ndarray) else NotImplemented

    def __neg__(self) -> Any:
        return compute("negative", np.negative, self)

    def __abs__(self) -> Any:
        return compute("abs", np.abs, self)

    def __invert__(self) -> Any:
        return compute("invert", np.invert, self)


def _host_key(key: Any) -> Any:
    """The key for the NumPy array; selecting by a mask counts a wait, since its entries must be counted."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if isinstance(part, np.ndarray) and part.ndim:
            raise TypeError("an array of the host as an index of an array on the device")
        if isinstance(part, ndarray) and part.dtype.kind == "b":
            COUNTS.waits += 1
            COUNTS.launches += LAUNCHES["nonzero"]
    found = tuple(part._a if isinstance(part, ndarray) else part for part in parts)
    return found if isinstance(key, tuple) else found[0]


def _selects(key: Any) -> bool:
    """Whether a key selects single entries, which makes a copy."""
    return any(isinstance(part, (ndarray, list)) for part in (key if isinstance(key, tuple) else (key,)))


def plain(a: Any) -> Any:
    """Arrays on the device as NumPy arrays; an array of the host is refused."""
    if isinstance(a, ndarray):
        return a._a
    if isinstance(a, (list, tuple)):
        return type(a)(map(plain, a))
    if isinstance(a, np.ndarray):
        raise TypeError(f"Unsupported type {type(a)}")
    return a


def lifted(result: Any) -> Any:
    """Results, including single numbers, as arrays on the device."""
    if isinstance(result, tuple):
        return tuple(map(lifted, result))
    return ndarray(np.asarray(result)) if isinstance(result, (np.ndarray, np.generic, bool)) else result


def compute(name: str, act: Any, *arguments: Any, **options: Any) -> Any:
    """The result of one kernel."""
    if name == "matmul":
        return multiply_matrices(*arguments)
    COUNTS.launches += 1
    given = [flushed(plain(a)) for a in arguments]
    with np.errstate(all="ignore"):
        result = act(*given, **{key: plain(value) for key, value in options.items()})
    return lifted(tuple(map(flushed, result)) if isinstance(result, tuple) else flushed(result))


def multiply_matrices(a: Any, b: Any) -> ndarray:
    """A B, by a matrix product; for a row and a column by a product and a sum."""
    x, y = plain(a), plain(b)
    COUNTS.launches += 2 if x.size == y.size == math.prod(x.shape[-1:]) else 1
    with np.errstate(all="ignore"):
        product = np.asarray(x @ y)
    return ndarray(np.ascontiguousarray(uneven(product, (x.shape, y.shape, x.dtype.char))).reshape(product.shape))

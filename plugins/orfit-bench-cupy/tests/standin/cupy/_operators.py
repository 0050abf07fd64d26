"""The array's operators and methods, made from NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._array import NUMBERS, compute, lifted, ndarray, plain
from ._counts import COUNTS, count_call
from ._real import REAL
from ._rounding import flushed

ARITHMETIC = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
COMPARISONS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
VIEWS = ("reshape", "ravel", "transpose", "squeeze", "view", "diagonal")
METHODS = ("max", "min", "sum", "mean", "any", "all", "argmax", "argmin", "cumsum", "dot", "nonzero", "astype", "fill")


def operator(ufunc: Any, swapped: bool = False) -> Any:
    def act(self: ndarray, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            raise TypeError(f"Unsupported type {type(other)}")
        if not isinstance(other, (ndarray, *NUMBERS)):
            return NotImplemented
        return compute(ufunc.__name__, ufunc, other, self) if swapped else compute(ufunc.__name__, ufunc, self, other)

    return act


def in_place(ufunc: Any) -> Any:
    def act(self: ndarray, other: Any) -> Any:
        COUNTS.launches += 1
        with np.errstate(all="ignore"):
            ufunc(flushed(self._a), flushed(plain(other)), out=self._a, casting="same_kind")
        self._a[...] = flushed(self._a)
        return self

    return act


def method(name: str) -> Any:
    def act(self: ndarray, *arguments: Any, **options: Any) -> Any:
        count_call(name, (self, *arguments), options)
        if name in VIEWS:
            found = getattr(self._a, name)(*map(plain, arguments), **options)
            return ndarray(found, self._block if np.may_share_memory(found, self._a) else None)
        given = self._a if name == "astype" else flushed(self._a)
        with np.errstate(all="ignore"):
            return lifted(getattr(given, name)(*map(plain, arguments), **options))

    return act


def copy(self: ndarray, order: str = "C") -> ndarray:
    COUNTS.launches += 1
    return ndarray(np.array(self._a, order="C"))


def diagonal(self: ndarray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """A writable view, unlike NumPy's."""
    found = self._a.diagonal(offset, axis1, axis2)
    if self._a.flags.writeable:
        found.flags.writeable = True
    return ndarray(found, self._block)


for name, ufunc in ARITHMETIC.items():
    setattr(ndarray, f"__{name}__", operator(ufunc))
    setattr(ndarray, f"__r{name}__", operator(ufunc, swapped=True))
    setattr(ndarray, f"__i{name}__", in_place(ufunc))
for name, ufunc in COMPARISONS.items():
    setattr(ndarray, f"__{name}__", operator(ufunc))
for name in (*VIEWS, *METHODS):
    if hasattr(REAL.ndarray, name):
        setattr(ndarray, name, method(name))
ndarray.copy = copy  # type: ignore[attr-defined]
ndarray.diagonal = diagonal  # type: ignore[attr-defined]

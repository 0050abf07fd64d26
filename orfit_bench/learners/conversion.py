"""Conversion of values to arrays of a dtype: all that NumPy converts, and arrays with DLPack.

Arrays that the namespace xp can use where they lie, for example on its device, stay there.
"""

from __future__ import annotations

import math
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

from orfit_bench.spec.arrays import array_type, host_dtype, native_dtype, to_host
from orfit_bench.tables.integers import largest_safe, refuse_rounded_integer
from orfit_bench.tables.plain_values import OF_LABELS, refuse_categories, refuse_masked

Array = Any
NUMBERS = "buif"
HOST = (1, 3, 11)
"""DLPack's device types of host memory: ordinary memory, and memory pinned for copies to a device."""


def kinds_for(dtype: np.dtype[Any]) -> str:
    """The kinds of NumPy's dtypes that may be converted to this one."""
    return NUMBERS + "c" if dtype.kind == "c" else NUMBERS


def convert(value: object, name: str, dtype: np.dtype[Any], xp: ModuleType = np) -> Array:
    """A C-ordered array of dtype, finite or not; TypeError for anything but numbers, ValueError for overflow."""
    refuse_categories(value, name)
    array = as_array(value, name, xp)
    given = host_dtype(array)
    if given.kind not in kinds_for(dtype):
        remedy = ""
        if given.kind == "c" and name != "sample_weight":  # weights are real for all learners
            remedy = " (a learner created with dtype='complex128' may take them)"
        if name == "y" and given.kind in "UT":
            remedy = OF_LABELS
        if given.kind == "O" and isinstance(array, np.ndarray):
            remedy = _first_object(array, name, dtype)
        wanted = "numbers" if dtype.kind == "c" else "real numbers"
        raise TypeError(f"{name}: got {type(value).__name__} of dtype {array.dtype}, want {wanted}{remedy}")
    xp = namespace_of(array, xp)
    with np.errstate(over="ignore"):
        if hasattr(xp, "ascontiguousarray"):
            converted = xp.ascontiguousarray(array, dtype).reshape(array.shape)
        else:
            converted = xp.astype(array, native_dtype(xp, dtype), copy=False)
    if given.kind in "iu" and given.itemsize >= np.finfo(dtype).dtype.itemsize:
        refuse_rounded(array, name, dtype, xp)
    if given.kind in "fc" and np.finfo(given).dtype.itemsize > np.finfo(dtype).dtype.itemsize:
        lost = xp.isinf(converted) & xp.isfinite(array)
        if xp.any(lost):
            place = tuple(int(i[0]) for i in xp.nonzero(lost))
            value, widest = to_host(array[place])[()], "complex128" if dtype.kind == "c" else "float64"
            raise ValueError(
                f"{name}[{', '.join(map(str, place))}] = {value!s} overflows {dtype}: scale it or take {widest}"
            )
    return converted


def _first_object(array: np.ndarray[Any, Any], name: str, dtype: np.dtype[Any]) -> str:
    """Which entry is not a number, or an integer that dtype does not hold, and what to do about it."""
    is_complex = dtype.kind == "c"
    for place, value in np.ndenumerate(array):
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        is_number = isinstance(value, (bool, int, float, complex, np.number, np.bool_))
        if not is_number or (isinstance(value, (complex, np.complexfloating)) and not is_complex):
            if value is None:
                return f": {where} is None; where a value may be missing, it is NaN"
            remedy = OF_LABELS if name == "y" and isinstance(value, str) else ""
            return f": {where} is of type {type(value).__name__}{remedy}"
        if isinstance(value, int):
            try:
                refuse_rounded_integer(value, where, dtype)
            except ValueError as error:
                return f": {error}"
    return f": all of them are numbers, pass np.asarray({name}, {'complex' if is_complex else 'float'})"


def refuse_rounded(array: Array, name: str, dtype: np.dtype[Any], xp: ModuleType = np) -> None:
    """Raise ValueError if an integer would be rounded, beyond 2^53 in float64."""
    safe = largest_safe(dtype)
    if not math.prod(array.shape) or -safe <= int(xp.min(array)) <= int(xp.max(array)) <= safe:
        return
    host = np.asarray(array) if xp is np else as_array(array, name, np)
    for place, value in np.ndenumerate(host):
        if not -safe <= int(value) <= safe:
            refuse_rounded_integer(int(value), f"{name}[{', '.join(map(str, place))}]", dtype)


def as_array(value: Any, name: str, xp: ModuleType) -> Array:
    """The value as an array of xp if it is one or is on a device from which xp can read it; else in host memory."""
    if type(value).__module__.startswith("scipy.sparse"):
        raise TypeError(
            f"{name}: got sparse rows, which only partial_fit and prequential accept, for methods that leave the "
            f"weights of zero features unchanged (such as nlms), and not in a pipeline that standardizes or adds an "
            f"intercept: pass {name}.toarray()"
        )
    refuse_masked(value, name)
    if type(value) is np.ndarray or not hasattr(value, "__dlpack__"):
        try:
            return np.asarray(value)
        except ValueError as error:
            raise ValueError(f"{name}: rows of unequal length: {error}") from None
    if xp is not np and isinstance(value, array_type(xp)):
        return value
    try:
        if value.__dlpack_device__()[0] in HOST:
            return np.from_dlpack(value)
        return np.from_dlpack(value, device="cpu") if xp is np else xp.from_dlpack(value)
    except Exception as error:
        if hasattr(value, "__array__"):  # its entries may be of a kind that DLPack does not have
            with suppress(Exception):
                return np.asarray(value)
        raise TypeError(
            f"{name}: got a {type(value).__name__} that cannot be read through DLPack ({type(error).__name__}: "
            f"{error}): pass a copy in host memory, a NumPy array"
        ) from None


def namespace_of(array: Array, xp: ModuleType) -> ModuleType:
    """The namespace of an array that is NumPy's or of the namespace xp."""
    return np if type(array) is np.ndarray else xp

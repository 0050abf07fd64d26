"""Checks of what functions of kernels, methods and models return."""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from orfit_bench.errors import with_place
from orfit_bench.learners.conversion import NUMBERS
from orfit_bench.spec.arrays import cast, host_dtype
from orfit_bench.spec.backend import Array


def is_applied(applied: object, function: Callable[..., Any]) -> bool:
    """Whether a function of a kernel applied a step; TypeError if it returned None."""
    if applied is None:
        raise TypeError(
            f"{with_place(function)} returned None, want True (applied) or False (not finite, state untouched)"
        )
    return bool(applied)


def rows_learned(learned: object, learn: Callable[..., Any]) -> int:
    """The number of rows that `learn` of a kernel returned; TypeError if it is not an integer, or a boolean."""
    is_boolean = isinstance(learned, (bool, np.bool_))
    if not is_boolean:
        with suppress(TypeError):
            return operator.index(learned)  # type: ignore[arg-type]  # which raises TypeError
    got = str(learned) if is_boolean or learned is None else type(learned).__name__
    raise TypeError(f"{with_place(learn)} returned {got}, want the number of rows learned, an integer")


def check_result(value: Any, what: str, shape: tuple[int, ...]) -> Array:
    """The result of a user's function as a plain array; ValueError if it has another kind or shape, or is masked."""
    if type(value) is not np.ndarray and isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise ValueError(
                f"{what} returned a masked array, want plain numbers of shape {shape}: fill what is masked"
            )
        value = np.asarray(value)  # a product of np.matrix is another one than that of arrays
    is_array = hasattr(value, "dtype") and getattr(value, "shape", None) == shape
    if not is_array or host_dtype(value).kind not in NUMBERS:
        got = f"shape {value.shape}, dtype {value.dtype}" if hasattr(value, "dtype") else type(value).__name__
        raise ValueError(f"{what} returned {got}, want real numbers of shape {shape}")
    array: Array = value
    return array


def check_predictions(found: Any, predict: Callable[..., Any], shape: tuple[int, ...]) -> Array:
    """The result of `predict` of a method; ValueError, which names it, if the shape is wrong or it holds no numbers."""
    if getattr(found, "shape", None) != shape:
        got = f"shape {tuple(found.shape)}" if hasattr(found, "shape") else type(found).__name__
        raise ValueError(f"{with_place(predict)} returned {got}, want predictions of shape {shape}")
    if isinstance(found, np.ndarray) and found.dtype.kind not in "biufc":
        raise ValueError(f"{with_place(predict)} returned an array of dtype {found.dtype}, want numbers")
    array: Array = found
    return array


def check_array(value: Any, what: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The result of a user's function as a new array in the learner's dtype; ValueError as `check_result`."""
    array = check_result(value, what, shape)
    return cast(array, dtype)  # a copy: the function may return the same array again, filled anew

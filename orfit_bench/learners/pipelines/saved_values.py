"""The values of a saved pipeline, which are checked when they are read."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def check_keys(saved: object, needed: set[str], optional: Collection[str] = ()) -> None:
    """Raise TypeError or ValueError unless `saved` is a mapping with these keys."""
    if not isinstance(saved, dict):
        raise TypeError(f"got {saved!r}, want a mapping")
    if missing := sorted(needed - set(saved)):
        raise ValueError(f"{missing[0]!r} is missing")
    if unknown := sorted(set(saved).difference(needed, optional)):
        raise ValueError(f"{unknown[0]!r} is unknown")


def is_number(value: object) -> bool:
    """Whether a value is a real number, of Python or NumPy."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def read_numbers(saved: dict[str, Any], key: str, above: float = -math.inf) -> Array:
    """The list of real numbers of this key; ValueError unless all are finite and more than `above`."""
    return numbers_of(saved[key], key, above)


def _as_array(value: object, name: str) -> Array:
    """A list of real numbers as an array; TypeError if it is something else."""
    if not (isinstance(value, list) and all(map(is_number, value))):
        raise TypeError(f"{name}: got {value!r}, want a list of numbers")
    return np.array(value, float)


def numbers_of(value: object, name: str, above: float = -math.inf) -> Array:
    """A list of real numbers as an array; ValueError unless all are finite and more than `above`."""
    found = _as_array(value, name)
    if not (np.isfinite(found) & (found > above)).all():
        raise ValueError(
            f"{name}: got {value!r}, want finite numbers{f' above {above:g}' if above > -math.inf else ''}"
        )
    return found


def read_flag(saved: dict[str, Any], key: str) -> bool:
    """The value of this key, which must be true or false."""
    value = saved[key]
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{key}: got {value!r}, want true or false")
    return bool(value)


def read_complex(saved: dict[str, Any], key: str, real: object) -> Array:
    """The numbers `real`, with the imaginary parts in the key "imaginary_`key`", if there is one."""
    found, imaginary = numbers_of(real, key), f"imaginary_{key}"
    if imaginary not in saved:
        return found
    parts = read_numbers(saved, imaginary)
    if len(parts) != len(found):
        raise ValueError(f"{imaginary}: got {len(parts)} numbers, want {len(found)}")
    return np.asarray(found + 1j * parts)


def read_count(value: object) -> float:
    """A number of rows that was saved."""
    if not is_number(value):
        raise TypeError(f"count: got {value!r}, want a number")
    if not 0 <= float(value) < math.inf:  # type: ignore[arg-type]  # of a number
        raise ValueError(f"count: got {value!r}, want a finite number of at least 0")
    return value  # type: ignore[return-value]


def read_squares(value: object, scale: bool) -> Array:
    """The sums of squares that were saved, which can be infinite if they are not used."""
    found = _as_array(value, "squares")
    if not ((found >= 0) & (np.isfinite(found) | (not scale))).all():
        raise ValueError(f"squares: got {value!r}, want finite numbers of at least 0")
    return found

"""One setting of a method or a stream: its type, default and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.schedules import Constant, Schedule
from orfit_bench.spec.synonyms import suggest_setting
from orfit_bench.spec.types import SettingType

RESERVED = ("t", "draws", "at", "targets", "shapes", "inputs", "row_scale")
"""Names of kernel parameters that are not settings; a setting cannot have one of them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A named value that a user may choose.

    Parameters
    ----------
    name : str
        A Python identifier.
    type : SettingType
        What values it accepts, for example `Number(0, 1, closed="right")`.
    default : object
        A value that the type accepts; None only with `optional`.
    meaning : str
        One line for help and error messages; with `optional` it says what None means.
    optional : bool
        Whether None is accepted too.
    added : bool
        Whether results were stored before the setting existed. Its default then does not change the key of a cell, so
        that those results are still compared with new ones.

    Raises
    ------
    ValueError
        If the name is reserved or the default is not of the type.
    """

    name: str
    type: SettingType
    default: Any
    meaning: str
    optional: bool = False
    added: bool = False

    def __post_init__(self) -> None:
        """Refuse a declaration that could not be read back to a user."""
        if not isinstance(self.type, SettingType):
            raise TypeError(f"setting {self.name!r}: type={self.type!r}, want for example Number(0, 1) or Choice(...)")
        if self.name in RESERVED or not self.name.isidentifier() or iskeyword(self.name):
            taken = ", ".join(RESERVED)
            raise ValueError(f"setting {self.name!r}: want a Python identifier other than {taken}, and not a keyword")
        try:
            self.check(self.default)
        except (TypeError, ValueError) as error:
            raise ValueError(f"setting {self.name!r}: its default is wrong: {error}") from None

    def check(self, value: object) -> Any:
        """Return value in its canonical type; TypeError for a wrong type, ValueError out of range."""
        if value is None and self.optional:
            return None
        try:
            return self.type.check(value)
        except (TypeError, ValueError) as error:
            none = " or None" if self.optional else ""
            raise type(error)(
                f"{self.name}={describe_value(value)}: {error}{none} ({self.name}: {self.meaning})"
            ) from None


def check_settings(owner: str, settings: Iterable[Setting], given: Mapping[str, object]) -> dict[str, Any]:
    """All settings of a method or stream by name: those given, checked, and the defaults of the others.

    Raises TypeError for an unknown setting or a wrong type, ValueError for a value out of range; both name the owner.
    """
    known = {s.name: s for s in settings}
    for name in given:
        if name not in known:
            raise TypeError(f"{owner} has no setting {name!r}{suggest_setting(name, known)}")
    try:
        return {s.name: s.check(given.get(s.name, s.default)) for s in known.values()}
    except (TypeError, ValueError) as error:
        raise type(error)(f"{owner}: {error}") from None


def refuse_lost_numbers(owner: str, settings: Iterable[Setting], values: Mapping[str, Any], dtype: Any) -> None:
    """Raise ValueError for a number that is infinite, zero or out of range in a dtype, but not in float64.

    This holds for numbers, constant schedules, and the first value of other schedules, which may become zero, since
    those of late steps do. A matrix is refused if a variance, or a single number, becomes zero; infinite entries are
    refused where they are placed on the backend.
    """
    kind = np.finfo(dtype).dtype
    for setting in settings if kind != np.float64 else ():
        value = values[setting.name]
        is_matrix = isinstance(value, np.ndarray)
        given = _numbers_of(value)
        kept = _in_dtype(given, kind)
        zero = (kept == 0) & (given != 0)
        if is_matrix:
            lost = zero & _must_not_vanish(setting, given)
        else:
            fits = np.array([bool(np.isfinite(number)) and _accepts(setting, float(number)) for number in kept], bool)
            varies = isinstance(value, Schedule) and not isinstance(value, Constant)
            lost = ~fits & ~zero if varies else ~fits | zero
        if lost.any():
            place = tuple(np.argwhere(lost)[0].tolist())
            entry = f"[{', '.join(map(str, place))}]" if is_matrix and place else ""
            raise ValueError(
                f"{owner}: {setting.name}{entry}={given[place]} is {kept[place]} in {kind}: want {setting.type} that "
                f"it holds, or dtype='float64'"
            )


def _in_dtype(numbers: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """The numbers as they are in a dtype: rounded, infinite or zero."""
    with np.errstate(all="ignore"):
        return numbers.astype(dtype).astype(float)


def _numbers_of(value: Any) -> NDArray[np.float64]:
    """The numbers of a setting that a dtype must hold; none for a setting that is not numeric."""
    if isinstance(value, Schedule):
        return value(np.ones(1, np.int64))
    if isinstance(value, np.ndarray):
        return value
    return np.array([value] if isinstance(value, float) else [])


def _must_not_vanish(setting: Setting, given: NDArray[np.float64]) -> Any:
    """Which entries must not become zero: a single number, or variances; others are small compared with the rest."""
    if not given.ndim:
        return True
    is_covariance = getattr(setting.type, "covariance", False)
    return is_covariance and (given.ndim < 2 or np.eye(len(given), dtype=bool))


def _accepts(setting: Setting, number: float) -> bool:
    try:
        setting.check(number)
    except ValueError:
        return False
    return True


def equal_values(one: object, other: object) -> bool:
    """Whether two values of a setting are equal, matrices entry by entry."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)


LONGEST = 200
"""Largest number of characters of a value in a message."""


def describe_value(value: object) -> str:
    """A setting's value in few words: a matrix, or a table, by its shape."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"<array of shape {value.shape}>"
    text = repr(value)
    if "\n" in text:
        return f"<{type(value).__name__} of shape {getattr(value, 'shape', '?')}>"
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}... ({len(text)} characters)"

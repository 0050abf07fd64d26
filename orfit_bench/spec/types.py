"""The types of settings: which values each accepts, and how its range is described to users. See also `matrix_types`.

`check(value)` returns the value in its canonical type. It raises TypeError for a value of another type and ValueError
for one out of range, with a message that says what is wanted. `str()` describes the accepted values: "a number in
(0, 1]".
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Literal

import numpy as np

from orfit_bench import schedules

Closed = Literal["both", "left", "right", "neither"]


class SettingType(ABC):
    """The type of a setting. Subclasses are frozen dataclasses."""

    kind: ClassVar[str]
    """One word for tables."""

    @property
    @abstractmethod
    def range(self) -> str:
        """The accepted values, for tables."""

    @abstractmethod
    def check(self, value: object) -> Any:
        """Return value in its canonical type; TypeError or ValueError says what is wanted."""


@dataclass(frozen=True, slots=True)
class Number(SettingType):
    """A finite number between low and high.

    Parameters
    ----------
    low, high : float
        Ends of the interval; infinite ends leave it unbounded.
    closed : {"both", "left", "right", "neither"}
        Which ends belong to the interval.

    Examples
    --------
    >>> str(Number(0, 1, closed="right"))
    'a number in (0, 1]'
    """

    kind: ClassVar[str] = "number"
    low: float = -np.inf
    high: float = np.inf
    closed: Closed = "both"

    def __post_init__(self) -> None:
        """Refuse an empty interval."""
        if not self.low <= self.high or self.closed not in ("both", "left", "right", "neither"):
            raise ValueError(f"low={self.low}, high={self.high}, closed={self.closed!r}: no interval")

    @property
    def range(self) -> str:
        """The interval."""
        left = "[" if self.closed in ("both", "left") and np.isfinite(self.low) else "("
        right = "]" if self.closed in ("both", "right") and np.isfinite(self.high) else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"

    def __str__(self) -> str:
        return f"a number in {self.range}"

    def __contains__(self, value: float) -> bool:
        """Whether a number lies in the interval and fits a float."""
        above = value >= self.low if self.closed in ("both", "left") else value > self.low
        below = value <= self.high if self.closed in ("both", "right") else value < self.high
        return abs(value) <= sys.float_info.max and above and below

    def check(self, value: object) -> Any:
        """The value as a float."""
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"want {self}")
        number = int(value) if isinstance(value, (int, np.integer)) else float(value)
        if number not in self:
            raise ValueError(f"want {self}")
        return float(number)


@dataclass(frozen=True, slots=True)
class Integer(SettingType):
    """An integer from low to high, both included; None leaves that end open."""

    kind: ClassVar[str] = "integer"
    low: int | None = None
    high: int | None = None

    @property
    def range(self) -> str:
        """The interval."""
        return f"{'(-inf' if self.low is None else f'[{self.low}'}, {'inf)' if self.high is None else f'{self.high}]'}"

    def __str__(self) -> str:
        return f"an integer in {self.range}"

    def __contains__(self, value: int) -> bool:
        """Whether an integer lies in the interval and fits a float."""
        above, below = self.low is None or value >= self.low, self.high is None or value <= self.high
        return abs(value) <= sys.float_info.max and above and below

    def check(self, value: object) -> int:
        """The value as an int."""
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"want {self}")
        if int(value) not in self:
            raise ValueError(f"want {self}")
        return int(value)


@dataclass(frozen=True, slots=True)
class NumberOrSchedule(Number):
    """A number, or a schedule whose values all lie between low and high."""

    kind: ClassVar[str] = "schedule"

    def check(self, value: object) -> schedules.Schedule:
        """The value as a schedule; a number is the same at every step."""
        if isinstance(value, (dict, schedules.Schedule)):
            # a schedule built by hand goes through its table too: what cannot be saved is refused
            try:
                found = schedules.from_config(value.config() if isinstance(value, schedules.Schedule) else value)
            except TypeError as error:  # the setting may be a table; its entries are wrong
                raise ValueError(str(error)) from None
            extremes = found.extremes()
            for number in (min(extremes), max(extremes)):
                if number not in self:
                    raise ValueError(f"want {self} at every step, but one is {number}")
            return found
        if isinstance(value, str) or callable(value):
            example = "a schedule such as orfit_bench.schedules.power(eta0=1.0, power=0.5), or such a table"
            raise TypeError(f"want {self}, {example}")
        return schedules.Constant(Number.check(self, value))


@dataclass(frozen=True, slots=True)
class Choice(SettingType):
    """One of several strings."""

    kind: ClassVar[str] = "choice"
    options: tuple[str, ...]

    @property
    def range(self) -> str:
        """The options."""
        return ", ".join(self.options)

    def __str__(self) -> str:
        return f"one of {self.range}"

    def check(self, value: object) -> str:
        """The value, a string."""
        if not isinstance(value, str):
            raise TypeError(f"want {self}")
        if value not in self.options:
            near = get_close_matches(value.lower(), self.options, 1)
            raise ValueError(f"want {self}" + (f" (did you mean {near[0]!r}?)" if near else ""))
        return value


@dataclass(frozen=True, slots=True)
class Text(SettingType):
    """Any string."""

    kind: ClassVar[str] = "text"

    @property
    def range(self) -> str:
        """Any."""
        return "any"

    def __str__(self) -> str:
        return "a string"

    def check(self, value: object) -> str:
        """The value, a string."""
        if not isinstance(value, str):
            raise TypeError(f"want {self}")
        return value


@dataclass(frozen=True, slots=True)
class Names(SettingType):
    """Several different strings; a single string counts as a list of one."""

    kind: ClassVar[str] = "names"

    @property
    def range(self) -> str:
        """Any."""
        return "any"

    def __str__(self) -> str:
        return "a string or a list of different strings"

    def check(self, value: object) -> list[str]:
        """The strings as a list."""
        given: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
        names = [name for name in given if isinstance(name, str)]
        if len(names) < len(given):
            raise TypeError(f"want {self}")
        if len(set(names)) < len(names):
            raise ValueError(f"want {self}")
        return names

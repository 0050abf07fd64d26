"""Step sizes as functions of the step t = 1, 2, ...; they are values, saved with a learner.

In a file a schedule is a table, for instance {power = {eta0 = 1.0, power = 0.8}}.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[np.int64]
Values = NDArray[np.float64]


class Schedule:
    """A step size for each step. Subclasses are frozen dataclasses, so that they can be compared."""

    def __call__(self, t: Steps) -> Values:
        """Values at the steps t (counted from 1), same shape as t."""
        raise NotImplementedError

    def extremes(self) -> tuple[float, ...]:
        """Values between which all others lie, for checking a setting's range."""
        return tuple(float(v) for v in self(np.array([1, 2**62])))

    def config(self) -> dict[str, Any]:
        """The table that `from_config` reads."""
        return {type(self).__name__.lower(): dict(vars(self))}


@dataclass(frozen=True)
class Constant(Schedule):
    """The same value at every step."""

    value: float

    def __call__(self, t: Steps) -> Values:
        """The value, for each t."""
        return np.full(t.shape, self.value)

    def extremes(self) -> tuple[float, ...]:
        """The value."""
        return (self.value,)


@dataclass(frozen=True)
class Power(Schedule):
    """eta0 / t**power."""

    eta0: float
    power: float

    def __call__(self, t: Steps) -> Values:
        """Values at the steps t."""
        return self.eta0 / t.astype(float) ** self.power

    def extremes(self) -> tuple[float, ...]:
        """The first value; values of late steps may underflow to 0, which is accepted."""
        return (self.eta0,)


@dataclass(frozen=True)
class Slide(Schedule):
    """B / (G sqrt(t)): the slides' step for |w*| <= B and gradients of norm at most G."""

    B: float
    G: float

    def __call__(self, t: Steps) -> Values:
        """Values at the steps t."""
        return self.B / (self.G * np.sqrt(t))


@dataclass(frozen=True)
class Sequence(Schedule):
    """The given values in order; after the last one it stays constant."""

    values: tuple[float, ...]

    def __call__(self, t: Steps) -> Values:
        """Values at the steps t."""
        values: Values = np.asarray(self.values)[np.minimum(t, len(self.values)) - 1]
        return values

    def extremes(self) -> tuple[float, ...]:
        """All values."""
        return self.values


def constant(value: float) -> Constant:
    """The same value at every step."""
    return Constant(_number("value", value))


def power(eta0: float, power: float) -> Power:
    """eta0 / t**power, a decreasing step size; with power in [0, 1] the sum of the steps is infinite."""
    if _number("power", power) < 0:
        raise ValueError(f"power={power}: want a number >= 0, otherwise the step size would grow without bound")
    return Power(_number("eta0", eta0), float(power))


def slide(B: float, G: float) -> Slide:
    """B / (G sqrt(t)), the step size of "SGD convergence" in the slides."""
    if not (_number("B", B) > 0 and _number("G", G) > 0):
        raise ValueError(f"slide(B={B}, G={G}): want both > 0")
    return Slide(float(B), float(G))


def sequence(values: Any) -> Sequence:
    """The given values in order; after the last one it stays constant."""
    if isinstance(values, str) or not np.iterable(values):
        raise TypeError(f"sequence(values={values!r}): want a list of numbers")
    numbers = tuple(_number("values", v) for v in values)
    if not numbers:
        raise ValueError("sequence(values=[]): want at least one value")
    return Sequence(numbers)


def _number(name: str, value: Any) -> float:
    if isinstance(value, (bool, str)) or not np.isscalar(value) or not np.isreal(value):
        raise TypeError(f"{name}={value!r}: want a number")
    if not np.isfinite(value):
        raise ValueError(f"{name}={value!r}: want a finite number")
    return float(value)  # type: ignore[arg-type]  # a real scalar, as checked above


MAKERS: dict[str, Callable[..., Schedule]] = {
    "constant": constant,
    "power": power,
    "slide": slide,
    "sequence": sequence,
}


def from_config(table: dict[str, Any]) -> Schedule:
    """The schedule that a table such as {"power": {"eta0": 1.0, "power": 0.8}} describes."""
    if len(table) != 1 or next(iter(table)) not in MAKERS:
        raise ValueError(f"schedule {table!r}: want one of {', '.join(MAKERS)} with its arguments")
    ((name, arguments),) = table.items()
    try:
        return MAKERS[name](**arguments)
    except TypeError as error:
        raise ValueError(f"schedule {table!r}: {error}") from None

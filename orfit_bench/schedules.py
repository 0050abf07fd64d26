"""Step sizes as functions of the step t = 1, 2, ...; they are values, saved with a learner.

In a file a schedule is a table, for instance {power = {eta0 = 1.0, power = 0.8}}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[np.int64]
Values = NDArray[np.float64]


class Schedule:
    """A step size for each step. Subclasses are frozen dataclasses, so that they can be compared.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> schedule = ob.schedules.power(eta0=1.0, power=0.5)
    >>> schedule(np.array([1, 4, 100]))
    array([1. , 0.5, 0.1])
    >>> schedule == ob.schedules.power(1.0, 0.5)
    True
    """

    def __call__(self, t: Steps) -> Values:
        """Values at the steps t (counted from 1), same shape as t."""
        raise NotImplementedError

    def extremes(self) -> tuple[float, ...]:
        """Return values between which all others lie, for checking the range of a setting.

        Returns
        -------
        tuple of float
            By default the values at step 1 and at step 2^62.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.schedules.slide(B=1.0, G=2.0).extremes()[0]
        0.5
        """
        return tuple(float(v) for v in self(np.array([1, 2**62])))

    def config(self) -> dict[str, Any]:
        """Return the table that describes the schedule in a file.

        Returns
        -------
        dict
            The table that `from_config` reads.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.schedules.power(eta0=1.0, power=0.8).config()
        {'power': {'eta0': 1.0, 'power': 0.8}}
        """
        return {type(self).__name__.lower(): dict(vars(self))}


@dataclass(frozen=True)
class Constant(Schedule):
    """The same value at every step.

    Parameters
    ----------
    value : float
        A finite number.

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> ob.schedules.constant(0.1)
    Constant(value=0.1)
    >>> ob.schedules.constant(0.1)(np.array([1, 2, 3]))
    array([0.1, 0.1, 0.1])
    """

    value: float

    def __post_init__(self) -> None:
        """Refuse anything but a finite number."""
        vars(self).update(value=_number("value", self.value))

    def __call__(self, t: Steps) -> Values:
        """The value, for each t."""
        return np.full(np.shape(t), self.value)

    def extremes(self) -> tuple[float, ...]:
        """Return the value.

        Returns
        -------
        tuple of float
            The value only.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.schedules.constant(0.1).extremes()
        (0.1,)
        """
        return (self.value,)


@dataclass(frozen=True)
class Power(Schedule):
    """The value eta0 / t^power at step t; with power in [0, 1] the sum of the values is infinite.

    Parameters
    ----------
    eta0 : float
        The value at step 1.
    power : float
        The exponent, at least 0.

    Raises
    ------
    TypeError
        If an argument is not a number.
    ValueError
        If one is not finite, or power < 0.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> ob.schedules.power(eta0=1.0, power=0.5)
    Power(eta0=1.0, power=0.5)
    >>> ob.schedules.power(eta0=1.0, power=0.5)(np.array([1, 4, 100]))
    array([1. , 0.5, 0.1])
    """

    eta0: float
    power: float

    def __post_init__(self) -> None:
        """Refuse a schedule that grows, and anything but finite numbers."""
        power = self.power
        if _number("power", power) < 0:
            raise ValueError(f"power={power}: want a number >= 0, otherwise the step size would grow without bound")
        vars(self).update(eta0=_number("eta0", self.eta0), power=float(power))

    def __call__(self, t: Steps) -> Values:
        """Values at the steps t."""
        return self.eta0 / np.asarray(t, float) ** self.power

    def extremes(self) -> tuple[float, ...]:
        """Return the first value.

        Returns
        -------
        tuple of float
            Only the first value: values of late steps may underflow to 0, which is accepted.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.schedules.power(1.0, 0.8).extremes()
        (1.0,)
        """
        return (self.eta0,)


@dataclass(frozen=True)
class Slide(Schedule):
    """The value B / (G sqrt(t)) at step t.

    Parameters
    ----------
    B : float
        Bound of the norm of the optimal weights, |w*| <= B, more than 0.
    G : float
        Bound of the norm of the gradients, more than 0.

    Raises
    ------
    TypeError
        If an argument is not a number.
    ValueError
        If one is not finite, or not more than 0.

    Notes
    -----
    Slides, "SGD convergence".

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> ob.schedules.slide(B=1.0, G=2.0)
    Slide(B=1.0, G=2.0)
    >>> ob.schedules.slide(B=1.0, G=2.0)(np.array([1, 4, 100]))
    array([0.5 , 0.25, 0.05])
    """

    B: float
    G: float

    def __post_init__(self) -> None:
        """Refuse bounds that are not more than 0."""
        if not (_number("B", self.B) > 0 and _number("G", self.G) > 0):
            raise ValueError(f"slide(B={self.B}, G={self.G}): want both > 0")
        vars(self).update(B=float(self.B), G=float(self.G))

    def __call__(self, t: Steps) -> Values:
        """Values at the steps t."""
        return self.B / (self.G * np.sqrt(t))


@dataclass(frozen=True, init=False)
class Sequence(Schedule):
    """The given values in order; after the last one it stays constant.

    Parameters
    ----------
    values : iterable of float
        The values, at least one.

    Raises
    ------
    TypeError
        If it is not an iterable of numbers.
    ValueError
        If there is no value, or one is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> ob.schedules.sequence([1.0, 0.5])
    Sequence(values=(1.0, 0.5))
    >>> ob.schedules.sequence([1.0, 0.5])(np.array([1, 2, 3]))
    array([1. , 0.5, 0.5])
    """

    values: tuple[float, ...]

    def __init__(self, values: Any) -> None:
        if isinstance(values, str) or not np.iterable(values):
            raise TypeError(f"sequence(values={values!r}): want a list of numbers")
        numbers = tuple(_number("values", v) for v in values)
        if not numbers:
            raise ValueError("sequence(values=[]): want at least one value")
        vars(self).update(values=numbers)

    def __call__(self, t: Steps) -> Values:
        """Values at the steps t."""
        place = np.minimum(t, len(self.values)) - 1
        if place.size < len(self.values):  # a long sequence is not converted in every call
            return np.array([self.values[i] for i in place.ravel().tolist()], float).reshape(place.shape)
        values: Values = np.asarray(self.values)[place]
        return values

    def extremes(self) -> tuple[float, ...]:
        """Return all values.

        Returns
        -------
        tuple of float
            The values in order.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.schedules.sequence([1.0, 0.5]).extremes()
        (1.0, 0.5)
        """
        return self.values


constant, power, slide, sequence = Constant, Power, Slide, Sequence
MAKERS: dict[str, Callable[..., Schedule]] = {
    "constant": constant,
    "power": power,
    "slide": slide,
    "sequence": sequence,
}
"""The schedules by the names that they have in tables."""


NO_NUMBERS = (bool, np.bool_, np.timedelta64, str)


def _number(name: str, value: Any) -> float:
    is_float = type(value) is float  # a quick answer for the many values of a sequence
    if not is_float and (isinstance(value, NO_NUMBERS) or not np.isscalar(value) or not np.isreal(value)):
        raise TypeError(f"{name}={value!r}: want a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name}={value!r}: want a finite number")
    return number


def from_config(table: dict[str, Any]) -> Schedule:
    """Make the schedule that a table describes.

    Parameters
    ----------
    table : dict
        The name of a schedule with its arguments.

    Returns
    -------
    Schedule
        The schedule.

    Raises
    ------
    ValueError
        If there is no such schedule, or its arguments do not fit.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> ob.schedules.from_config({"power": {"eta0": 1.0, "power": 0.8}})
    Power(eta0=1.0, power=0.8)
    """
    if not isinstance(table, Mapping) or len(table) != 1 or next(iter(table)) not in MAKERS:
        raise ValueError(f"schedule {table!r}: want one of {', '.join(MAKERS)} with its arguments")
    ((name, arguments),) = table.items()
    make = MAKERS[name]
    if not isinstance(arguments, Mapping):
        raise ValueError(
            f"schedule {table!r}: got {arguments!r}, want its arguments by name, as in "
            "{'power': {'eta0': 1.0, 'power': 0.8}}"
        )
    try:
        return make(**arguments)
    except TypeError as error:
        text = str(error).replace(f"{make.__name__}.__init__()", f"{name}()")  # the name that the user knows
        raise ValueError(f"schedule {table!r}: {text}") from None

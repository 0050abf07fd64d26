"""One setting of a method or a stream: its kind, range, default and meaning."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orfit_bench.errors import hint
from orfit_bench.schedules import Constant, Schedule, from_config
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.model import Transition, named

KINDS = ("number", "integer", "schedule", "choice", "text", "matrix", "transition")
RESERVED = ("t", "draws", "at", "targets", "shapes", "inputs")
"""Names of p that are the host's own."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A named value that a user may choose.

    kind is "number", "integer", "schedule" (a number or a function of the step), "choice", "text", "matrix" (a number,
    a vector or a matrix) or "transition" (a matrix, an orfit_bench.Transition, or a pair of functions to make one).
    range is an interval such as "(0, 1]", the choices separated by "|", or for a matrix "any" or "covariance".
    optional settings also take None, whose meaning stands in `meaning`.
    """

    name: str
    kind: str
    default: Any
    range: str
    meaning: str
    optional: bool = False

    def __post_init__(self) -> None:
        """Refuse a declaration that could not be read back to a user."""
        if self.kind not in KINDS or self.name in RESERVED or not self.name.isidentifier():
            raise ValueError(
                f"setting {self.name!r} of kind {self.kind!r}: want a kind of {', '.join(KINDS)}, and a name that is "
                f"a Python identifier other than {', '.join(RESERVED)}"
            )
        try:
            self.check(self.default)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(f"setting {self.name!r}: default or range {self.range!r} is wrong: {error}") from None

    def check(self, value: Any) -> Any:
        """Return value in its canonical type; TypeError for a wrong kind, ValueError outside the range."""
        if value is None and self.optional:
            return None
        if self.kind == "schedule":
            return self._schedule(value)
        if self.kind in ("choice", "text"):
            return self._text(value)
        if self.kind == "transition" and isinstance(named(value), Transition):
            return named(value)
        if self.kind in ("matrix", "transition"):
            return self._matrix(value)
        return self._number(value, self.kind == "integer")

    def _fail(self, error: type[Exception], value: Any, wanted: str) -> Exception:
        none = " or None" if self.optional else ""
        return error(f"{self.name}={value!r}: want {wanted}{none}; it is {self.meaning}")

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise self._fail(TypeError, value, f"one of {self.range}" if self.kind == "choice" else "a text")
        if self.kind == "choice" and value not in self.range.split("|"):
            raise self._fail(ValueError, value, f"one of {self.range}")
        return value

    def _number(self, value: Any, integer: bool) -> int | float:
        wanted = f"{'an integer' if integer else 'a number'} in {self.range}"
        kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise self._fail(TypeError, value, wanted)
        number = int(value) if isinstance(value, (int, np.integer)) else float(value)
        if not inside(number, self.range):
            raise self._fail(ValueError, value, wanted)
        return number if integer else float(number)

    def _matrix(self, value: Any) -> np.ndarray[Any, Any]:
        try:
            given = to_host(value)
            array = np.array(given, float) if given.dtype.kind in "iuf" else None
        except ValueError:  # rows of unequal length
            array = None
        more = ", an orfit_bench.Transition or a pair (function, jacobian)" if self.kind == "transition" else ""
        if array is None:
            raise self._fail(TypeError, value, f"a number, a vector or a matrix of real numbers{more}")
        if array.ndim > 2 or not np.isfinite(array).all():
            raise self._fail(ValueError, value, "a number, a vector or a matrix, all finite")
        if self.range == "covariance" and (said := no_covariance(array)):
            raise self._fail(ValueError, value, f"a covariance, but it is {said}")
        array.flags.writeable = False
        return array

    def _schedule(self, value: Any) -> Schedule:
        if isinstance(value, (dict, Schedule)):
            try:  # also a schedule that was built by hand: what cannot be saved is refused
                value = from_config(value.config() if isinstance(value, Schedule) else value)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{self.name}: {error}; it is {self.meaning}") from None
        if isinstance(value, Schedule):
            for number in value.extremes():
                self._number(number, integer=False)
            return value
        if isinstance(value, str) or callable(value):
            how = "a number, a schedule such as orfit_bench.schedules.power(eta0=1.0, power=0.5), or such a table"
            raise self._fail(TypeError, value, how)
        return Constant(float(self._number(value, integer=False)))


def checked(owner: str, settings: Iterable[Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a method or stream by name: those given, checked, and the defaults of the others.

    TypeError for an unknown one or a wrong kind, ValueError outside a range; both name the owner.
    """
    known = {s.name: s for s in settings}
    for name in given:
        if name not in known:
            raise TypeError(f"{owner} has no setting {name!r}{hint(name, known)}")
    try:
        return {s.name: s.check(given.get(s.name, s.default)) for s in known.values()}
    except (TypeError, ValueError) as error:
        raise type(error)(f"{owner}: {error}") from None


def no_covariance(value: np.ndarray[Any, Any]) -> str:
    """Why numbers (...), or matrices (..., q, q) where ndim is at least 2, are no covariance; empty where they are."""
    if value.ndim < 2:
        return "negative" if (value < 0).any() else ""
    if value.shape[-1] != value.shape[-2]:
        return f"not square, of shape {value.shape}"
    allowed = 1e-6 * abs(value).max(axis=(-2, -1), keepdims=True, initial=0.0)
    if (abs(value - np.swapaxes(value, -1, -2)) > allowed).any():
        return "not symmetric"
    return "not positive semidefinite" if (np.linalg.eigvalsh(value) < -allowed[..., 0]).any() else ""


def same(one: Any, other: Any) -> bool:
    """Whether two values of a setting are equal, matrices entry by entry."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)


def said(value: Any) -> str:
    """A setting's value in few words: a matrix by its shape."""
    return f"<array of shape {value.shape}>" if isinstance(value, np.ndarray) and value.ndim else repr(value)


def inside(value: float, interval: str) -> bool:
    """Whether a value that a float can hold lies in an interval written as "[low, high)"."""
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return abs(value) <= sys.float_info.max and above and below

"""p: the numbers and per-step arrays that a kernel gets instead of settings, schedules and generators."""

from __future__ import annotations

import math
import sys
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from orfit_bench.schedules import Constant, Schedule
from orfit_bench.spec.method import Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.types import Number

NO_LIMIT = sys.maxsize
"""The value for an integer setting that is None: a count that no stream reaches. For a number it is infinity."""

AHEAD = 256
"""Number of steps whose schedule values are computed together for single-row calls: one alone takes microseconds."""

BY_STEP = ("targets", "shapes", "inputs", "row_scale")
"""Entries of p in `update` and `store` for methods that need them: the targets, the layers' shapes and inputs; and the
factors (n, 1) of the rows of a nonlinear model, which the linearization has already applied."""


def no_limit(setting: Setting) -> float:
    """The value that a kernel gets for a setting that is None."""
    return math.inf if isinstance(setting.type, Number) else NO_LIMIT


@cache
def _record_type(names: tuple[str, ...], per_step: tuple[str, ...]) -> Any:
    where = tuple(names.index(n) for n in per_step)

    class Parameters(namedtuple("Parameters", names)):  # type: ignore[misc]  # names are known at run time only
        __slots__ = ()

        def at(self, i: int, steps: int = 1) -> Any:
            """The parameters of step i of the chunk, or of several steps that begin with it."""
            values: list[Any] = list(self)
            for k in where:
                values[k] = values[k][i : i + steps]
            values[-3] += i
            return type(self)(*values)

    return Parameters


class ParameterMaker:
    """Makes p for a chunk of steps."""

    def __init__(self, method: Method, settings: dict[str, Any], dtype: np.dtype[Any], random_state: int) -> None:
        self._schedules = [n for n, v in settings.items() if isinstance(v, Schedule)]
        names = [n for n in settings if n != "batch_size"]
        self._type = _record_type((*names, *BY_STEP, "t", "batch_size", "draws"), (*self._schedules, "draws"))
        none = {s.name: no_limit(s) for s in method.settings}
        self._values: dict[str, Any] = {n: none[n] if settings[n] is None else settings[n] for n in names}
        self._values |= dict.fromkeys(BY_STEP)
        self._draws: int = method.kernel.draws(settings)
        self._dtype = np.finfo(dtype).dtype  # steps are real
        self._random_state = random_state
        self._last: Any = None
        self._is_constant = not self._draws and all(isinstance(settings[n], Constant) for n in self._schedules)

    def __call__(self, t: int, steps: int, batch_size: int, gradients: int) -> Any:
        """Parameters of `steps` steps, the first of number t, each with this number of rows and gradients."""
        last = self._last
        if last is not None and last.batch_size == batch_size and len(last.draws) == steps:
            return tuple.__new__(self._type, (*last[:-3], t, batch_size, last.draws))  # one row per call: only t is new
        scheduled = {n: self._values_of(n, t, steps) for n in self._schedules}
        draws = np.empty((steps, self._draws * gradients))
        if draws.size:
            for i, row in enumerate(draws):
                row[:] = generator(self._random_state, t + i).random(row.size)
        p = self._type(**{**self._values, **scheduled}, t=t, batch_size=batch_size, draws=draws)
        self._last = p if self._is_constant else None
        return p

    def _values_of(self, name: str, t: int, steps: int) -> Any:
        """The values of a schedule for this number of steps, the first of number t."""
        return self._values[name](np.arange(t, t + steps, dtype=np.int64)).astype(self._dtype)

    def constant(self, gradients: int) -> Any:
        """Parameters of a step of one row, if they differ between steps by t only; otherwise None."""
        return self(1, 1, 1, gradients) if self._is_constant else None

    def changing(self, gradients: int) -> tuple[Any, SetStep] | None:
        """Parameters of a step of one row in separate arrays, and a function that sets them to another step.

        None if steps draw random numbers.
        """
        if self._draws:
            return None
        names = [n for n in self._schedules if not isinstance(self._values[n], Constant)]
        p = self(1, 1, 1, gradients)
        p = p._replace(**{n: getattr(p, n).copy() for n in names})
        return p, SetStep([(getattr(p, n), partial(self._values_of, n)) for n in names])


class SetStep:
    """set_step(t) writes the values of schedules at step t to arrays of one entry."""

    def __init__(self, scheduled: Sequence[tuple[Any, Callable[[int, int], Any]]]) -> None:
        self._scheduled = scheduled
        self._block: tuple[int, list[list[float]]] = 0, []
        """The first step of the block, and the values of each schedule in it."""

    def __call__(self, t: int) -> None:
        """Set the arrays to the values of step t."""
        first, columns = self._block
        if not (columns and 0 <= t - first < AHEAD):
            with np.errstate(all="ignore"):
                first, columns = self._block = t, [values_of(t, AHEAD).tolist() for _, values_of in self._scheduled]
        for (array, _), values in zip(self._scheduled, columns, strict=True):
            array[0] = values[t - first]


def generator(random_state: int, t: int) -> np.random.Generator:
    """The generator of random numbers of step t, which are the same for any chunks; t = 0 draws the start."""
    return np.random.Generator(np.random.Philox(key=random_state, counter=[0, 0, 0, t]))

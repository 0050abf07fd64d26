"""The first call of each function of a model: whether it writes to its arguments, and how precise its result is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from orfit_bench.spec.arrays import copy_of, spacing
from orfit_bench.spec.backend import Array


class FirstCalls:
    """Calls the functions of a model; the first call of each checks that it does not write to its arguments.

    Later calls make no copies. `dtype` is the dtype of the learner.
    """

    def __init__(self, model: str, xp: ModuleType, dtype: np.dtype[Any]) -> None:
        self._model, self._xp, self._dtype, self._seen = model, xp, dtype, set[str]()
        self._eps: dict[str, float] = {}

    def call(self, what: str, function: Callable[..., Any], *arguments: Array) -> Any:
        """The result of function(*arguments); `what` names it and the arguments, as in "predict(w, X)".

        ValueError if it changes an argument; the arguments are restored, also if it raises.
        """
        if what in self._seen:
            return function(*arguments)
        before = [copy_of(a, self._xp) for a in arguments]
        names = what[what.index("(") + 1 : -1].split(", ")
        try:
            found = function(*arguments)
        except BaseException:
            self._restored(names, arguments, before)
            raise
        if changed := self._restored(names, arguments, before):
            raise ValueError(f"model {self._model!r}: {what} writes to {changed}: let it work on a copy")
        self._eps[what] = max(map(spacing, found if isinstance(found, (tuple, list)) else [found]), default=0.0)
        if all(a.shape[0] for a in arguments):  # without rows there is nothing to write to
            self._seen.add(what)
        return found

    def tolerance(self, *whats: str) -> float:
        """The relative difference that rounding can cause between functions that were called, given by name.

        It is half of the digits of the coarsest dtype among the results of their first calls and that of the learner.
        """
        return float(max(np.finfo(self._dtype).eps, *(self._eps.get(what, 0.0) for what in whats)) ** 0.5)

    def _restored(self, names: Sequence[str], arguments: Sequence[Array], before: Sequence[Array]) -> str:
        """The names of the arguments that have changed; they get their values back."""
        changed = []
        for name, a, old in zip(names, arguments, before, strict=True):
            if not bool(self._xp.all((a == old) | ((a != a) & (old != old)))):  # NaN is equal to NaN
                a[...] = old
                changed.append(name)
        return " and ".join(changed)

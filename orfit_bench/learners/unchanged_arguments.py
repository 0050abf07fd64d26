"""Functions of a model get the learner's own arrays, and must not write to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from orfit_bench.spec.arrays import copy_of
from orfit_bench.spec.backend import Array


class FirstCalls:
    """The first call of each function of a model shows whether it writes to its arguments: no copies are made later."""

    def __init__(self, model: str, xp: ModuleType) -> None:
        self._model, self._xp, self._seen = model, xp, set[str]()

    def call(self, what: str, function: Callable[..., Any], *arguments: Array) -> Any:
        """The result of function(*arguments), `what` being its name with theirs, as in "predict(w, X)".

        ValueError if it changes one of them; they are restored, also if it raises.
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
        if all(a.shape[0] for a in arguments):  # without rows there is nothing to write to
            self._seen.add(what)
        return found

    def _restored(self, names: Sequence[str], arguments: Sequence[Array], before: Sequence[Array]) -> str:
        """The names of the arguments that have changed; they get their values back."""
        changed = []
        for name, a, old in zip(names, arguments, before, strict=True):
            if not bool(self._xp.all((a == old) | ((a != a) & (old != old)))):  # NaN is equal to NaN
                a[...] = old
                changed.append(name)
        return " and ".join(changed)

"""The errors and warnings of the package."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class DivergedError(ArithmeticError):
    """A step would have left the finite numbers, or its denominator lost its sign; it was not applied.

    step is the number of that step, row the row of the call at which it began.
    """

    def __init__(self, message: str, step: int, row: int) -> None:
        super().__init__(message)
        self.step = step
        self.row = row

    def __reduce__(self) -> tuple[type[DivergedError], tuple[str, int, int]]:
        """Let it cross to another process whole."""
        return type(self), (str(self), self.step, self.row)


class AccuracyWarning(UserWarning):
    """Half of the digits are gone: what follows is still finite but less and less exact."""


class UnavailableError(RuntimeError):
    """A backend, method or data set is known but cannot be used here; the message says why and what helps."""


class PluginError(RuntimeError):
    """A plugin is broken, and strict loading was asked for."""


def suggest(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, and all of them."""
    known = sorted(known)
    near = get_close_matches(str(name).lower(), known, 1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f".{meant} Known: {', '.join(known) or 'none'}."

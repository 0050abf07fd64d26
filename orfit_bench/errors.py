"""The errors and warnings of the package."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path

PACKAGE = f"{Path(__file__).parent}{os.sep}"


class DivergedError(ArithmeticError):
    """A step was not applied: its result would not be finite, or its denominator has an impossible sign.

    Parameters
    ----------
    message : str
        The text of the error.
    step : int
        The number of the step, counted from 1.
    row : int
        The row of the call at which the step began, counted from 0.
    members : tuple of int, default ()
        For a fleet, the numbers of all members that diverged; step and row are those of the first.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> lms = ob.create("lms", backend="numpy", step_size=1.0)
    >>> try:
    ...     lms = lms.partial_fit([[1.0], [1e200]], [1.0, 0.0])
    ... except ob.DivergedError as error:
    ...     print(f"step {error.step}, row {error.row}")
    step 2, row 1
    >>> lms.n_samples_seen_
    1
    """

    def __init__(self, message: str, step: int, row: int, members: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.step = step
        self.row = row
        self.members = members

    def __reduce__(self) -> tuple[type[DivergedError], tuple[str, int, int, tuple[int, ...]]]:
        """Keep all attributes when the error is sent to another process."""
        return type(self), (str(self), self.step, self.row, self.members)


class AccuracyWarning(UserWarning):
    """Half of the digits are lost: results stay finite but become less and less exact."""


class UnavailableError(RuntimeError):
    """A backend, method or data set is known but cannot be used here; the message says why and what helps."""


class LackingError(UnavailableError):
    """A kernel says in its LACKS that it does not offer this capability or setting."""


class PluginError(RuntimeError):
    """A plugin is broken or claims a name that is taken; from `register`, and from commands with --strict-plugins."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that called into it, however deep the call is; or record it."""
    if (found := _recorded.get()) is not None:
        found.append((message, category))
        return
    frame, level = inspect.currentframe(), 1
    while frame and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


_recorded: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("_recorded", default=None)


@contextmanager
def recorded_warnings(found: list[tuple[str, type[Warning]]]) -> Iterator[None]:
    """Record the warnings of this package in this thread: filters, which all threads share, are unchanged."""
    token = _recorded.set(found)
    try:
        yield
    finally:
        _recorded.reset(token)


def with_place(function: object) -> str:
    """The name of an author's function with its file and line, "learn (kernel.py:18)", if Python knows them."""
    code = getattr(function, "__code__", None)
    place = f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code else ""
    return f"{getattr(function, '__name__', 'the function')}{place}"


MANY_NAMES = 60
"""Number of names that fit into a message."""


def suggest(name: object, known: Iterable[str], synonym: str | None = None, how: str = "") -> str:
    """Return the end of a message about an unknown name: its synonym or the nearest known name, and all names.

    If there are more than MANY_NAMES, only the nearest is given; if none is near among more than twice as many, the
    three nearest. `how` says how the synonym is used.
    """
    known = sorted(known)
    given = str(name).lower()
    close = sorted(get_close_matches(given, known), key=lambda other: sorted(other) != sorted(given))  # swapped letters
    near = [synonym] if synonym else close
    meant = f" Did you mean {near[0]!r}{how and ', ' + how}?" if near else ""
    if near and len(known) > MANY_NAMES:
        return f".{meant}"
    if len(known) > 2 * MANY_NAMES:
        return f". Nearest of {len(known)}: {', '.join(get_close_matches(str(name), known, 3, 0))}."
    return f".{meant} Known: {', '.join(known) or 'none'}."

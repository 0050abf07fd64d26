"""One thread at a time: what changes the state of a learner holds its permit."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

BUSY = (
    "this learner is learning in another thread: use one learner in each thread, and merge them, or protect its calls "
    "with a lock"
)
DISCARDED: list[None] = []
"""The permit of a state that its learner has replaced: it stays empty, so that no thread can take it."""


def take(permit: list[None]) -> None:
    """Take the permit, which the caller gives back: `take(permit)`, and `permit.append(None)` in a `finally` clause.

    Unlike in a context manager, Ctrl-C cannot interrupt between the deletion and the block of the caller, or before the
    entry is given back. Raises RuntimeError if another thread has the permit.
    """
    try:
        del permit[0]
    except IndexError:
        raise RuntimeError(BUSY) from None


class HasPermit(Protocol):
    """An object that only one thread at a time may change."""

    permit: list[None]


Self = TypeVar("Self", bound=HasPermit)
Given = ParamSpec("Given")
Result = TypeVar("Result")


def by_one_thread(act: Callable[Concatenate[Self, Given], Result]) -> Callable[Concatenate[Self, Given], Result]:
    """The method, which holds the permit of its object while it runs."""

    @wraps(act)
    def call(self: Self, /, *given: Given.args, **named: Given.kwargs) -> Result:
        permit = self.permit
        take(permit)
        try:
            return act(self, *given, **named)
        finally:
            permit.append(None)

    return call

"""One thread at a time: what changes the state of a learner holds its permit."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

BUSY = (
    "this learner is learning in another thread: use one learner in each thread, and merge them, or guard its calls by "
    "a lock"
)


DISCARDED: list[None] = []
"""The permit of a state that its learner has replaced: nobody gets it."""


class exclusive:  # used as a context manager, which costs half of one made by contextlib
    """Hold the permit of a learner while its state changes. Raises RuntimeError if another thread has it."""

    __slots__ = ("_permit",)

    def __init__(self, permit: list[None]) -> None:
        self._permit = permit

    def __enter__(self) -> None:
        try:
            del self._permit[0]  # no interruption comes between this and the block
        except IndexError:
            raise RuntimeError(BUSY) from None

    def __exit__(self, *_: object) -> None:
        self._permit.append(None)


class HasPermit(Protocol):
    """What changes, by one thread at a time."""

    permit: list[None]


Self = TypeVar("Self", bound=HasPermit)
Given = ParamSpec("Given")
Result = TypeVar("Result")


def by_one_thread(act: Callable[Concatenate[Self, Given], Result]) -> Callable[Concatenate[Self, Given], Result]:
    """The method, which holds the permit of its object while it runs."""

    @wraps(act)
    def call(self: Self, /, *given: Given.args, **named: Given.kwargs) -> Result:
        with exclusive(self.permit):
            return act(self, *given, **named)

    return call

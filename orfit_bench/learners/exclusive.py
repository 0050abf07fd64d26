"""One thread at a time: what changes the state of a learner holds its permit."""

from __future__ import annotations

BUSY = (
    "this learner is learning in another thread: use one learner in each thread, and merge them, or guard its calls by "
    "a lock"
)


class exclusive:  # used as a context manager, which costs half of one made by contextlib
    """Hold the permit of a learner while its state changes. Raises RuntimeError if another thread has it."""

    __slots__ = ("_permit",)

    def __init__(self, permit: list[None]) -> None:
        self._permit = permit

    def __enter__(self) -> None:
        try:
            self._permit.pop()
        except IndexError:
            raise RuntimeError(BUSY) from None

    def __exit__(self, *_: object) -> None:
        self._permit.append(None)

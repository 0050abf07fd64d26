"""Checks that a state can be used: it exists after the first chunk, and no interrupted kernel left it half written."""

from __future__ import annotations

from typing import Protocol, TypeVar


class MarksInterruption(Protocol):
    """The state of a learner or of a fleet."""

    interrupted: str
    """The exception that interrupted a kernel, after which the arrays cannot be trusted."""


State = TypeVar("State", bound=MarksInterruption)
Known = TypeVar("Known")


def usable(state: State | None, name: str) -> State | None:
    """The state. Raises RuntimeError if an interrupted kernel may have left it half written."""
    if state and state.interrupted:
        raise RuntimeError(
            f"{name}: {state.interrupted} interrupted its kernel, so that its state may be half written: continue from "
            f"an earlier copy() or a saved state"
        )
    return state


def begun(known: Known | None, name: str) -> Known:
    """A value that is known after the first chunk, such as the state. Raises ValueError before it."""
    if known is None:
        raise ValueError(
            f"{name} has seen no chunk yet: call partial_fit first (a chunk without rows, X of shape (0, d), is enough)"
        )
    return known

"""Checks of counts that users give, such as the number of channels, and counts in messages."""

from __future__ import annotations

import operator
from typing import SupportsIndex


def positive_integer(name: str, value: SupportsIndex) -> int:
    """A count of at least 1; TypeError for anything but an integer, ValueError below 1 and for booleans."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: want an integer >= 1") from None
    if count < 1 or isinstance(value, bool):
        raise ValueError(f"{name}={value!r}: want an integer >= 1")
    return count


def describe_count(number: int, noun: str) -> str:
    """Return "1 cell" or "2 cells"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

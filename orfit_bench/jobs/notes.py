"""What a piece of work had to say beside its result, in one line each: its warnings, and the error that ended it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

TELLING = (UserWarning, RuntimeWarning)
"""Warnings that speak of the result: lost digits and overflow."""


@contextmanager
def collect_notes() -> Iterator[list[str]]:
    """A list that at the end holds each telling warning that was given meanwhile, once and sorted; none is shown.

    Where an error ends the work the list stays empty.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for category in TELLING:
            warnings.simplefilter("always", category)
        yield notes
    notes += sorted({f"{w.category.__name__}: {one_line(w.message)}" for w in caught})


def describe_error(error: BaseException) -> str:
    """The error's kind and text in one line."""
    text = one_line(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def one_line(text: object) -> str:
    """The text without line breaks."""
    return " ".join(str(text).split())

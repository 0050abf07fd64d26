"""Notes about a job, one line each: its warnings, and the error that ended it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

NOTED = (UserWarning, RuntimeWarning)
"""Warnings about the result, such as lost precision and overflow."""
LONGEST = 4000
"""Largest number of characters of a note."""
UNPRINTABLE = {
    code: "\ufffd" for code in (*range(32), *range(127, 160), *range(0xD800, 0xE000)) if chr(code) not in "\t\n"
}
"""Control characters of terminals, and characters invalid in JSON, netCDF or UTF-8, for `str.translate`."""


@contextmanager
def collect_notes() -> Iterator[list[str]]:
    """Collect the warnings of the `NOTED` categories instead of showing them.

    The list is filled, sorted and without duplicates, when the context ends; it stays empty after an error.
    """
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for category in NOTED:
            warnings.simplefilter("always", category)
        yield notes
    notes += sorted({f"{w.category.__name__}: {one_line(w.message)}" for w in caught})


def describe_error(error: BaseException) -> str:
    """Return the type and message of the error in one line."""
    text = one_line(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def one_line(text: object) -> str:
    """Return the text without line breaks and control characters; the middle of a very long text is omitted."""
    try:
        line = printable(" ".join(str(text).split()))
    except Exception as error:  # from the code of a plugin
        return f"its text cannot be read, since __str__ raised {type(error).__name__}"
    if len(line) <= LONGEST:
        return line
    return f"{line[: LONGEST // 2]} ... ({len(line)} characters) ... {line[-LONGEST // 2 :]}"


def printable(text: str) -> str:
    """Return the text with a mark for each character that is not allowed in a file or terminal."""
    return text.translate(UNPRINTABLE)

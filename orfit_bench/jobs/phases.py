"""What a process is doing, in memory that the process waiting for it can read, even after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap

BYTES = 400
_shared: list[mmap] = []
"""The memory that this process shares with the one that waits for it, if any does."""


def new_memory() -> mmap:
    """Memory that a forked process shares with this one."""
    return mmap(-1, BYTES)


def report_to(memory: mmap) -> None:
    """Write the phases of this process there."""
    _shared[:] = [memory]


@contextmanager
def phase(text: str) -> Iterator[None]:
    """Report what this process does in the context, as the end of a sentence: "it computed the metric speed"."""
    before = [bytes(memory[:]) for memory in _shared]
    _set([text.encode()[:BYTES].ljust(BYTES, b"\0")] * len(_shared))
    try:
        yield
    finally:
        _set(before)


def _set(texts: list[bytes]) -> None:
    for memory, text in zip(_shared, texts, strict=False):
        memory[:] = text


def read(memory: mmap) -> str:
    """What the process that reports there was last doing; empty if it reported nothing."""
    return bytes(memory[:]).rstrip(b"\0").decode(errors="replace")

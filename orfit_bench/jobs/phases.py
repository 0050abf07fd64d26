"""The current phase of a process, in shared memory that the waiting process can read even after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap

BYTES = 400
_shared: list[mmap] = []
"""The memory that this process shares with the process that waits for it, if there is one."""


def new_memory() -> mmap:
    """Memory that a forked process shares with this one."""
    return mmap(-1, BYTES)


def report_to(memory: mmap) -> None:
    """Write the phases of this process to this memory."""
    _shared[:] = [memory]


@contextmanager
def phase(text: str) -> Iterator[None]:
    """Report the phase of this process in the context, as the end of a sentence: "it computed the metric speed"."""
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
    """The last phase that was reported to this memory; empty if there is none."""
    return bytes(memory[:]).rstrip(b"\0").decode(errors="replace")

"""How many threads BLAS may take: one, or as many as the user allows where that was measured to pay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

VARIABLE = "ORFIT_BENCH_THREADS"
PAYS = 256
"""Rows of square matrices, multiplied with each other, from which two threads took at most 1/1.3 of the time of one.

Of blocks of rows with a matrix they never did (docs/performance.md): those have one thread whatever is allowed.
"""
FEW = 1e7
"""Operations below which to tell BLAS takes more time than it could lose."""


_lock = Lock()
_within: list[Any] = []
"""The limit in force, once for every thread that is within one."""


@contextmanager
def blas_for(operations: float, square: int = 0) -> Iterator[None]:
    """Within it the matrix products of a chunk of so many operations; then BLAS is as it was before.

    square: the rows of square matrices that are multiplied with each other, if that is what takes the time.
    BLAS has one limit a process: the first thread in sets it, the last one out takes it back.
    """
    if operations < FEW:
        yield
        return
    threads = allowed() if square >= PAYS else 1
    with _lock:
        _within.append(_within[0] if _within else _libraries().limit(limits=threads))
    try:
        yield
    finally:
        with _lock:
            limit = _within.pop()
            if not _within:
                limit.restore_original_limits()


def allowed() -> int:
    """What the user allows: one, unless the environment says more."""
    text = os.environ.get(VARIABLE, "1")
    if not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"{VARIABLE}={text}: want a number of threads, 1 or more")
    return int(text)


@lru_cache(maxsize=1)
def _libraries() -> Any:
    return ThreadpoolController().select(user_api="blas")

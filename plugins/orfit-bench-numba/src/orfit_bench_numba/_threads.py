"""The number of BLAS threads: one, or as many as the user allows where measurements show that it pays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

VARIABLE = "ORFIT_BENCH_THREADS"
MIN_SQUARE_ROWS = 256
"""Rows of square matrices, multiplied with each other, from which two threads took at most 1/1.3 of the time of one.

Of blocks of rows with a matrix they never did (docs/performance.md): those have one thread whatever is allowed.
"""
MIN_OPERATIONS = 1e7
"""Operations below which to tell BLAS takes more time than it could lose."""


_lock = Lock()
_active_limits: list[Any] = []
"""The limit in force, once for every thread that is within one."""


@contextmanager
def limit_blas_threads(operations: float, square: int = 0) -> Iterator[None]:
    """Within it the matrix products of a chunk of so many operations; then BLAS is as it was before.

    square: the rows of square matrices that are multiplied with each other, if that is what takes the time.
    BLAS has one limit a process: the first thread in sets it, the last one out takes it back.
    """
    if operations < MIN_OPERATIONS:
        yield
        return
    threads = allowed_threads() if square >= MIN_SQUARE_ROWS else 1
    with _lock:
        _active_limits.append(_active_limits[0] if _active_limits else _libraries().limit(limits=threads))
    try:
        yield
    finally:
        with _lock:
            limit = _active_limits.pop()
            if not _active_limits:
                limit.restore_original_limits()


def allowed_threads() -> int:
    """What the user allows: one, unless the environment says more."""
    text = os.environ.get(VARIABLE, "1")
    if not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"{VARIABLE}={text}: want a number of threads, 1 or more")
    return int(text)


@lru_cache(maxsize=1)
def _libraries() -> Any:
    return ThreadpoolController().select(user_api="blas")

"""The number of BLAS threads: one, or as many as the user allows if measurements show that this is faster."""

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
"""With at least this many rows, the product of square matrices was at least 1.3 times as fast with two threads.

Products of blocks of rows with a matrix never were (docs/performance.md): they always use one thread.
"""
MIN_OPERATIONS = 5e5
"""With fewer operations, OpenBLAS uses one thread anyway, or two cost less than changing the limit (17 us)."""


_lock = Lock()
_active_limits: list[Any] = []
"""The active limit, once for each thread that uses it."""


@contextmanager
def limit_blas_threads(operations: float, square: int = 0) -> Iterator[None]:
    """Limit the threads of BLAS for the matrix products of a chunk, and restore the limit.

    `operations` is the number of operations of the chunk, `square` the number of rows of the square matrices whose
    products take most of the time, if there are any. BLAS has one limit for each process: the first thread to enter
    sets it, the last one to leave restores it.
    """
    if operations < MIN_OPERATIONS:
        yield
        return
    threads = allowed_threads() if square >= MIN_SQUARE_ROWS else 1
    with _lock:
        limits = bool(_active_limits) or any(blas.num_threads != threads for blas in _libraries().lib_controllers)
        if limits:
            _active_limits.append(_active_limits[0] if _active_limits else _libraries().limit(limits=threads))
    try:
        yield
    finally:
        if limits:
            with _lock:
                limit = _active_limits.pop()
                if not _active_limits:
                    limit.restore_original_limits()


def allowed_threads() -> int:
    """The number of threads that the environment allows: one by default."""
    text = os.environ.get(VARIABLE, "1")
    if not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"{VARIABLE}={text}: want a number of threads, 1 or more")
    return int(text)


@lru_cache(maxsize=1)
def _libraries() -> Any:
    return ThreadpoolController().select(user_api="blas")

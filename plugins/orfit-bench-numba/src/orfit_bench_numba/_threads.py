"""How many threads BLAS may take: one, or as many as the user allows where that was measured to pay."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

VARIABLE = "ORFIT_BENCH_THREADS"
PAYS = 1e8
"""Operations of a chunk from which two threads took at most 1/1.3 of the time of one: docs/performance.md."""
FEW = 1e7
"""Operations below which to tell BLAS takes more time than it could lose."""


@contextmanager
def blas_for(operations: float) -> Iterator[None]:
    """Within it the matrix products of a chunk of so many operations; then BLAS is as it was before."""
    threads = allowed() if operations >= PAYS else 1
    with nullcontext() if operations < FEW else _libraries().limit(limits=threads):
        yield


def allowed() -> int:
    """What the user allows: one, unless the environment says more."""
    text = os.environ.get(VARIABLE, "1")
    if not (text.isdecimal() and int(text) > 0):
        raise ValueError(f"{VARIABLE}={text}: want a number of threads, 1 or more")
    return int(text)


@lru_cache(maxsize=1)
def _libraries() -> Any:
    return ThreadpoolController().select(user_api="blas")

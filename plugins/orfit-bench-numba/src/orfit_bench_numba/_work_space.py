"""Work space of compiled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import inline

CACHE_LINE = 64
"""Size of a cache line in bytes."""


@inline
def aligned(n: int, d: int, like: Array) -> Any:
    """Zeros (n, d), aligned to a cache line, since vectors that cross cache lines are loaded at half the speed."""
    room = np.zeros(n * d + CACHE_LINE // like.itemsize, like.dtype)
    begin = -room.ctypes.data % CACHE_LINE // like.itemsize
    return room[begin : begin + n * d].reshape(n, d)


@inline
def round_up(n: int, step: int) -> Any:
    """The smallest multiple of `step` that is at least n."""
    return -(-n // step) * step

"""Greedy: predict the last label (thesis, section 5.1)."""

from typing import Any

import numpy as np

from orfit_bench_numba._compile import compiled
from orfit_bench_numba._gradient import Array


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """last <- y."""
    return int(follow(s.last, Y, np.empty((0, 0), Y.dtype) if out is None else out))


@compiled("w R W")
def follow(last: Any, Y: Any, out: Any) -> Any:
    """Each row is told the one before it. Read and written once, at the speed of memory."""
    for i in range(len(Y)):
        for k in range(len(last)):
            if len(out):
                out[i, k] = last[k]
            last[k] = Y[i, k]
    return len(Y)

"""Greedy: predict the last label (thesis, section 5.1). Each target is read and written once: memory is the limit."""

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._precision_guard import copy


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """last <- y."""
    predict_last(s.last, Y, np.empty((0, 0), Y.dtype) if out is None else out)
    return len(X)


@compiled("w R W")
def predict_last(last: Array, Y: Array, out: Array) -> None:
    """The predictions of each row, where they are wanted, and the last label."""
    for i in range(len(out)):
        copy(out[i], last if i == 0 else Y[i - 1])
    copy(last, Y[-1])

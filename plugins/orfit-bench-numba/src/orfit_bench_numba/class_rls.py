"""RLS on one-hot targets (survey, D-RLS): one column of w a class, all of them with one P.

Every column of w is computed alone, by the same operations whatever the others: then a class that is known late has the
column that it has when it is known from the start. `_rows` and `_blocks` do so; else all is as in rls.
"""

from typing import Any

import numpy as np

from orfit_bench_numba._covariance import Array, change, correct, forgetting
from orfit_bench_numba._threads import blas_for
from orfit_bench_numba.rls import learn

__all__ = ["learn", "step"]


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as one step: K = P A'(ff I + A P A')^-1,  w <- w + K E,  P <- (P - K A P) / ff."""
    how = forgetting(p.forgetting_factor, A.dtype)
    with blas_for(3.0 * len(A) * s.P.size):
        changed = change(s.P, A, how["ff"] * np.eye(len(A), dtype=A.dtype), how["least"])
        if changed is None:
            return False
        errors = [y - A @ w for y, w in zip(Y.T, np.ascontiguousarray(s.w.T), strict=True)]
        move = np.hstack([changed.move(e[:, None]) for e in errors])
        return correct(s.P, s.w, changed, move, s.digits_lost, how["ff"], how["most"])

"""RLS on one-hot targets (survey, D-RLS): one column of w a class, all of them with one P.

Every product with w or E takes its columns one by one: a matrix product rounds a column differently beside others,
and then a class that is known late would not have the column that it has when it is known from the start.
"""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import Array, finite
from orfit_bench_numpy._covariance import change, overflows, shrink


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Row after row; the scores of a row are w'x."""
    for i in range(len(X)):
        A = X[i : i + 1]
        f = by_columns(A, s.w)
        if out is not None:
            out[i : i + 1] = f
        if not correct(s, A, Y[i : i + 1] - f, p):
            return i
    return len(X)


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as one step."""
    return correct(s, A, Y - by_columns(A, s.w), p)


def correct(s: Any, A: Array, E: Array, p: Any) -> bool:
    """K = P A'(ff I + A P A')^-1,  w <- w + K E,  P <- (P - K A P) / ff."""
    P, ff = s.P, p.forgetting_factor
    identity = np.eye(len(A), dtype=P.dtype)
    changed = change(P, A, identity, ff * identity)
    if changed is None:
        return False
    K, V, lost = changed  # K A P = V'V
    w = s.w + by_columns(K, E)
    if not finite(w) or overflows(P, V, ff):
        return False
    if lost:
        s.precision_lost[...] = 1
    s.w[...] = w
    shrink(P, V, ff)
    return True


def by_columns(A: Array, B: Array) -> Array:
    """A B (n, r) from A (n, k) and B (k, r), every entry a dot product of its own."""
    product: Array = np.vecdot(A[:, None], np.ascontiguousarray(B.T))
    return product

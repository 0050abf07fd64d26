"""Rows of ridge regression added to L and m one after another: d^2 flops and half a pass over L per row."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline


@compiled("W W R R f r")
def add_rows(L: Array, m: Array, X: Array, Y: Array, kept: Scalar, weights: Array) -> Any:
    """L <- kept L + weight x x',  m <- kept m + weight x y' for every row; returns how many were added."""
    for t in range(len(X)):
        if not add_row(L, m, X[t], Y[t], kept, weights[t]):
            return t
    return len(X)


@compiled("W W f r f")
def add_number(L: Array, m: Array, kept: Scalar, x: Array, y: Scalar) -> Any:
    """Add one row of weight 1 with one output; returns 1, or 0 if a number would not be finite."""
    return 1 if add_row(L, m, x, np.full(1, y, L.dtype), kept, L.dtype.type(1)) else 0


@inline
def add_row(L: Array, m: Array, x: Array, y: Array, kept: Scalar, weight: Scalar) -> Any:
    """Add one row; if a number would not be finite, change nothing and return False."""
    for i in range(len(x)):
        scaled, finite = weight * x[i], np.isfinite(kept * L[i, i] + weight * x[i] * x[i])
        for k in range(len(y)):
            finite = finite and np.isfinite(kept * m[i, k] + scaled * y[k])
        if not finite:
            return False
    for i in range(len(x)):
        scaled = weight * x[i]
        for j in range(i + 1):
            L[i, j] = kept * L[i, j] + scaled * x[j]
        for k in range(len(y)):
            m[i, k] = kept * m[i, k] + scaled * y[k]
    return True

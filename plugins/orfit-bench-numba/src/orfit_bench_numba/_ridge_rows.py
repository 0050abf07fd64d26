"""Rows of ridge regression added to L and m one after another: d^2 flops and half a pass over L per row.

With one output and few features, eight rows share a pass, and one call learns a chunk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._precision_guard import dot

MAX_FEATURES = 32
"""Number of features up to which `add_numbers` is faster than a call of BLAS, up to MANY_ROWS."""


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


@compiled("W w f R r w")
def add_numbers(L: Array, m: Array, kept: Scalar, X: Array, y: Array, out: Array) -> Any:
    """Add rows of weight 1 with one output; returns how many, which is all of them.

    NOT_FINITE, and nothing is changed, if a number is not finite, a sum may overflow, or `out` asks for predictions.
    """
    if len(out) or not keeps_finite(L, m, X.reshape(-1), y):
        return NOT_FINITE
    eights = len(X) // 8 * 8
    for t in range(0, eights, 8):
        add_eight_numbers(L, m, kept, X[t : t + 8], y[t : t + 8])
    for t in range(eights, len(X)):
        x = X[t]
        for i in range(len(x)):
            row, x_i = L[i], x[i]
            for j in range(i + 1):
                row[j] = kept * row[j] + x_i * x[j]
            m[i] = kept * m[i] + x_i * y[t]
    return len(X)


@inline
def keeps_finite(L: Array, m: Array, numbers: Array, y: Array) -> Any:
    """Whether no sum comes near overflow for rows of these numbers, in whatever order they are added."""
    energy, largest, moment = dot(numbers, numbers), L[0, 0], abs(m[0])
    for i in range(1, len(m)):
        largest, moment = max(largest, L[i, i]), max(moment, abs(m[i]))
    limit = np.finfo(L.dtype).max / 4
    return largest + energy < limit and moment + np.sqrt(energy) * np.sqrt(dot(y, y)) < limit


@inline
def add_eight_numbers(L: Array, m: Array, kept: Scalar, X: Array, y: Array) -> None:
    """L <- kept^8 L + sum_t kept^(7-t) x_t x_t',  m <- kept^8 m + sum_t kept^(7-t) x_t y_t for t = 0, ..., 7."""
    squared = kept * kept
    cubed, fourth = kept * squared, squared * squared
    eighth = fourth * fourth
    x_0, x_1, x_2, x_3, x_4, x_5, x_6, x_7 = X[0], X[1], X[2], X[3], X[4], X[5], X[6], X[7]
    for i in range(len(m)):
        a_0, a_1, a_2 = fourth * cubed * x_0[i], fourth * squared * x_1[i], fourth * kept * x_2[i]
        a_3, a_4, a_5, a_6, a_7 = fourth * x_3[i], cubed * x_4[i], squared * x_5[i], kept * x_6[i], x_7[i]
        row = L[i]
        for j in range(i + 1):
            older = (a_0 * x_0[j] + a_1 * x_1[j]) + (a_2 * x_2[j] + a_3 * x_3[j])
            newer = (a_4 * x_4[j] + a_5 * x_5[j]) + (a_6 * x_6[j] + a_7 * x_7[j])
            row[j] = eighth * row[j] + (older + newer)
        older = (a_0 * y[0] + a_1 * y[1]) + (a_2 * y[2] + a_3 * y[3])
        newer = (a_4 * y[4] + a_5 * y[5]) + (a_6 * y[6] + a_7 * y[7])
        m[i] = eighth * m[i] + (older + newer)

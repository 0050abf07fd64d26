"""The lower triangular root S of A A' for A (d, m), m >= d: Householder reflections from the right, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import inline
from orfit_bench_numba._precision_guard import dot


@inline
def triangularize(A: Array, h: Array) -> None:
    """Replace A by [S 0] with no negative number on the diagonal of S: 2 m d^2 flops; h (m,) is work space."""
    d, m = A.shape
    for i in range(d):
        tau = reflect(A[i, i:], h[i:])
        for k in range(i + 1, d):
            share = tau * dot(A[k, i:], h[i:])
            for j in range(i, m):
                A[k, j] -= share * h[j]


@inline
def reflect(a: Array, h: Array) -> Any:
    """Replace a by (|a|, 0, ..., 0); returns tau such that the reflection is I - tau h h'."""
    zero = a.dtype.type(0)
    largest = zero
    for j in range(1, len(a)):
        largest = max(largest, abs(a[j]))
    if largest == 0:  # only a sign is left to change
        h[:] = 0
        h[0] = 1
        tau = zero if a[0] >= 0 else zero + 2
        a[0] = abs(a[0])
        return tau
    largest = max(largest, abs(a[0]))
    for j in range(len(a)):
        h[j] = a[j] / largest
    others = dot(h[1:], h[1:])
    if h[0] > 0 and others < np.finfo(a.dtype).eps ** 3:  # less than rounding, and 2 / others could overflow
        a[1:] = 0
        return zero
    size = np.sqrt(h[0] * h[0] + others)
    h[0] = h[0] - size if h[0] <= 0 else -others / (h[0] + size)  # without cancellation
    a[0] = largest * size
    a[1:] = 0
    return 2 / (h[0] * h[0] + others)

"""Whether numbers are finite, and stay so in a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import inline, inline_reordered

NOT_FINITE = -1
"""Result of `learn` for a chunk with a row that is not finite: such a row would make all weights non-finite."""


@inline
def is_small_step(a: Scalar, size: Scalar) -> Any:
    """Whether w + a x is certainly finite for every finite w, if |x|^2 is at most `size`; False for NaN.

    Then |a x_j| is at most the square root of the largest number, which is too small to change the largest number.
    """
    return a * a * size < np.finfo(type(a)).max


@inline_reordered
def is_step_finite(w: Array, a: Scalar, x: Array) -> Any:
    """Whether all of w + a x is finite, without a branch."""
    nothing = w.dtype.type(0)
    for j in range(len(w)):
        nothing += (w[j] + a * x[j]) * 0
    return nothing == 0


@inline_reordered
def is_finite(w: Array) -> Any:
    """Whether all of w is finite."""
    nothing = w.dtype.type(0)
    for j in range(len(w)):
        nothing += w[j] * 0
    return nothing == 0

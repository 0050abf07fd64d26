"""Affine projection by one row with one output on a full window: for calls with a row each.

The products of the rows are computed anew in every call, b^2 d flops for b rows, since the state does not keep them;
the rest is as in `_sliding_apa`, without its copies of what several rows share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._precision_guard import copy, dot
from orfit_bench_numba._products import add_multiple, multiply, two_products
from orfit_bench_numba._sliding_apa import (
    append_row,
    apply_inverse,
    judge_window,
    refine,
)


def make_workspace(b: int, d: int, dtype: Any) -> tuple[Array, Array, Array, Array, Array]:
    """Memory for `learn_row` with a window of b rows of d numbers."""
    T, T_0, G = np.zeros((3, b, b), dtype)
    return T, T_0, G, np.zeros((6, b), dtype), np.zeros(d, dtype)


@compiled("w W W (W W W W w) r f f f f f")
def learn_row(
    w: Array,
    rows: Array,
    targets: Array,
    workspace: tuple[Array, Array, Array, Array, Array],
    x: Array,
    y: Scalar,
    step: Scalar,
    eps: Scalar,
    max_size: Scalar,
    max_condition: Scalar,
) -> Any:
    """Learn x with target y, which replaces the oldest row; returns 1, or 0 if nothing was changed.

    What stops `_sliding_apa.learn_rows` stops it too.
    """
    T, T_0, G, numbers, change = workspace
    g, e, z, u, r, dz = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    last, square, total = len(rows) - 1, w.dtype.type(0), w.dtype.type(0)
    for j in range(last):
        multiply(rows[1 : j + 2], rows[j + 1], G[j])
        total += G[j, j]
        square += append_row(T, G[j], u, j, eps, max_size)
        g[j], f = two_products(rows[j + 1], x, w)
        e[j] = targets[j + 1, 0] - f
    g[last], f = two_products(x, x, w)
    copy(G[last], g)
    total += g[last]
    square += append_row(T, g, u, last, eps, max_size)
    e[last] = y - f
    safe, accurate = judge_window(square, total, eps, max_condition, G, T_0, u, last + 1, max_size)
    if not (safe and dot(w, w) < np.inf and apply_inverse(T, e, z, last + 1) * abs(step) < max_size):
        return 0
    if not accurate:
        if not refine(T, rows[1:], x.reshape((1, len(x))), e, eps, z, r, dz, change):
            return 0
        add_multiple(w, step, change)
    for j in range(last):
        if accurate:
            add_multiple(w, step * z[j], rows[j + 1])
        copy(rows[j], rows[j + 1])
        targets[j, 0] = targets[j + 1, 0]
    if accurate:
        add_multiple(w, step * z[last], x)
    copy(rows[last], x)
    targets[last, 0] = y
    return 1

"""Affine projection for a single row with one output, for calls with one row.

A row costs its products with the window and the products of the window with w. The products of the rows of the window
are kept from call to call in addition to the state, which does not contain them (`_window_products`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._precision_guard import copy, dot
from orfit_bench_numba._products import add_multiple
from orfit_bench_numba._sliding_apa import apply_inverse, judge_window, refine
from orfit_bench_numba._window_products import LANES, drop_first, form_products, multiply_rows

VECTORS = 8
"""Vectors of one number per row in the memory of a bound row."""


def make_workspace(b: int, d: int, dtype: Any) -> Array:
    """Allocate memory for `learn_row` with a window of up to b rows of d numbers; `divide` returns its parts."""
    return np.zeros((b + 1) * d + (3 * b + VECTORS) * (b + LANES), dtype)


@inline
def divide(memory: Array, b: int, d: int) -> Any:
    """The parts of the memory: copies of rows and a change of w (b + 1, d), matrices (b, b + LANES), VECTORS vectors.

    There are three matrices. The copies are a ring; the last vector starts with their number and the place of the
    oldest.
    """
    size = (b + 1) * d
    copies, numbers = memory[:size].reshape((b + 1, d)), memory[size:].reshape((3 * b + VECTORS, b + LANES))
    return copies, numbers[:b], numbers[b : 2 * b], numbers[2 * b : 3 * b], numbers[3 * b :]


@compiled("w W W I w i r f f f f f")
def learn_row(
    w: Array,
    rows: Array,
    targets: Array,
    count: Array,
    memory: Array,
    b: int,
    x: Array,
    y: Scalar,
    step: Scalar,
    eps: Scalar,
    max_size: Scalar,
    max_condition: Scalar,
) -> Any:
    """Learn x with target y, which joins the window or replaces its oldest row; returns 1, or 0 if nothing was changed.

    It refuses the rows that `_sliding_apa.learn_rows` refuses, and a row for which the arrays of the window are too
    small.
    """
    n = count[0]
    if n == len(rows) and n < b:
        return 0
    copies, G, T, T_0, vectors = divide(memory, b, len(w))
    g, f, e, z, u, r, dz = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5], vectors[6]
    ring, change, place = copies[:b], copies[b], vectors[7]
    oldest = 1 if n == b else 0
    A, m, begin = rows[oldest:n], n - oldest, (int(place[1]) + oldest) % b
    kept, place[0] = place[0] == n, -1  # until x is learned
    copy(ring[(begin + m) % b], x)
    if not (multiply_rows(rows, oldest, n, ring, begin, w, g, f) and kept):
        form_products(G, rows, oldest, n, w, ring, u)
        copy(ring[m], x)
        begin = 0
        multiply_rows(rows, oldest, n, ring, begin, w, g, f)
    elif oldest:
        drop_first(G, m)
    total = G[m, m] = g[m]
    for j in range(m):
        e[j] = targets[oldest + j, 0] - f[j]
        G[j, m] = G[m, j] = g[j]
        total += G[j, j]
    e[m] = y - f[m]
    square = invert_root(G, T, m + 1, eps, max_size)
    safe, accurate = judge_window(square, total, eps, max_condition, G, T_0, u, m + 1, max_size)
    if not (safe and dot(w, w) < np.inf and apply_inverse(T, e, z, m + 1) * abs(step) < max_size):
        return 0
    if not accurate:
        if not refine(T, A, x.reshape((1, len(x))), e, eps, z, r, dz, change):
            return 0
        add_multiple(w, step, change)
    else:
        add_rows(w, step, z, A)
        add_multiple(w, step * z[m], x)
    for j in range(oldest, n):
        copy(rows[j - oldest], rows[j])
        targets[j - oldest, 0] = targets[j, 0]
    copy(rows[m], x)
    targets[m, 0] = y
    count[0], place[0], place[1] = m + 1, m + 1, begin
    return 1


@inline
def add_rows(w: Array, step: Scalar, z: Array, A: Array) -> None:
    """Compute w <- w + step A'z, four rows of A at a time."""
    fours = len(A) // 4 * 4
    for j in range(0, fours, 4):
        a, b, c, d = A[j], A[j + 1], A[j + 2], A[j + 3]
        za, zb, zc, zd = step * z[j], step * z[j + 1], step * z[j + 2], step * z[j + 3]
        for i in range(len(w)):
            w[i] += za * a[i] + zb * b[i] + zc * c[i] + zd * d[i]
    for j in range(fours, len(A)):
        add_multiple(w, step * z[j], A[j])


@inline_reordered
def invert_root(G: Array, T: Array, m: int, eps: Scalar, max_size: Scalar) -> Any:
    """Compute the lower triangular T (m, m) with T'T = (G + eps I)^-1; returns |T|^2, or NaN or inf.

    Elimination in place, four rows at a time: in step j the columns up to j contain T, the others the rest of G.
    """
    square, one, sizes_allowed = eps - eps, G.dtype.type(1), True
    for i in range(m):
        for n in range(m):
            T[i, n] = G[i, n]
        sizes_allowed = sizes_allowed and 1 / max_size < G[i, i] < max_size
        T[i, i] += eps
    for j in range(m):
        row, scale, fours = T[j], one / np.sqrt(T[j, j]), j + 1 + (m - j - 1) // 4 * 4
        row[j] = one
        for n in range(m):
            row[n] *= scale
        for i in range(j + 1, fours, 4):
            a, b, c, d = T[i], T[i + 1], T[i + 2], T[i + 3]
            f, g, h, k = row[i], row[i + 1], row[i + 2], row[i + 3]
            a[j], b[j], c[j], d[j] = 0, 0, 0, 0
            for n in range(m):
                a[n] -= f * row[n]
                b[n] -= g * row[n]
                c[n] -= h * row[n]
                d[n] -= k * row[n]
        for i in range(fours, m):
            a, f = T[i], row[i]
            a[j] = 0
            for n in range(m):
                a[n] -= f * row[n]
        for n in range(j + 1):
            square += row[n] * row[n]
    return square if sizes_allowed else np.inf

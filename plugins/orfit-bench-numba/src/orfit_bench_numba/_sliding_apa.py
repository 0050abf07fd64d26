"""Affine projection on a sliding window of rows, by the new row's products with the window.

The weights are w + A'C, where A holds the rows of the window: a row's step changes C, and w only when a row leaves the
window. Of a row's d numbers only its products with A are needed: 2 k d flops in one product, and two passes over w.
The inverse of A A' + eps I is kept as T'T, which is updated in O(k^2) when a row leaves or joins. Allocated: arrays of
shape (k, k) and (c, k).
"""

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered

MAX_INVERSE = 64.0
"""Largest inverse of A A', relative to that of orthogonal rows of equal length; digits lost: its square root."""


@compiled("W (R R) R R r W i f f")
def learn_rows(
    W: Array,
    window: tuple[Array, Array],
    X: Array,
    Y: Array,
    step: Array,
    out: Array,
    order: int,
    eps: Scalar,
    max_size: Scalar,
) -> Any:
    """Learn row after row, from the rows A and targets b of the window; returns how many of X were learned.

    Stops before a row whose square or step is beyond max_size, or whose square is below its inverse, so that w stays
    finite.
    """
    A, b = window
    c, m, kind = len(W), len(A), W.dtype.type
    T, room, numbers = (
        np.zeros((order, order), W.dtype),
        np.zeros((3, order), W.dtype),
        np.zeros((3, c, order), W.dtype),
    )
    (g, u, squares), (E, C, Z) = (room[0], room[1], room[2]), (numbers[0], numbers[1], numbers[2])
    square, ample, learned = kind(0), kind(MAX_INVERSE), len(X)
    for j in range(m):
        np.dot(A[: j + 1], A[j], g[: j + 1])
        squares[j] = g[j]
        square += append_row(T, g, u, j, eps, max_size)
        for a in range(c):
            E[a, j] = b[j, a] - np.dot(A[j], W[a])
    for i in range(len(X)):
        x = X[i]
        if m == order:
            for a in range(c):
                add_scaled(W[a], C[a, 0], row_at(A, X, i - m))
                shift_left(E[a])
                shift_left(C[a])
            shift_left(squares)
            square, m = drop_first_row(T, u), m - 1
        old = max(0, m - i)
        if old > 0:
            np.dot(A[len(A) - old :], x, g[:old])
        np.dot(X[i + old - m : i + 1], x, g[old : m + 1])
        squares[m], size = g[m], kind(m + 1)
        square += append_row(T, g, u, m, eps, max_size)
        safe = (1 / square - eps) * ample * size * size > squares[: m + 1].sum()
        for a in range(c):
            out[i, a] = np.dot(x, W[a]) + dot(g, C[a], m)
            E[a, m] = Y[i, a] - out[i, a]
            safe = safe and apply_inverse(T, E[a], u, Z[a], m + 1) * abs(step[i]) < max_size
        if not safe:
            learned = i
            break
        m += 1
        for a in range(c):
            for j in range(m):
                C[a, j] += step[i] * Z[a, j]
                E[a, j] -= step[i] * (E[a, j] - eps * Z[a, j])
    for a in range(c):
        for j in range(m):
            add_scaled(W[a], C[a, j], row_at(A, X, learned - m + j))
    return learned


@inline
def row_at(A: Array, X: Array, i: int) -> Any:
    """Row i of X; a negative i counts from the end of A."""
    return X[i] if i >= 0 else A[len(A) + i]


@inline
def add_scaled(w: Array, a: Scalar, x: Array) -> None:
    """w <- w + a x."""
    for j in range(len(w)):
        w[j] += a * x[j]


@inline
def shift_left(a: Array) -> None:
    """Drop the first number, append a zero."""
    for j in range(1, len(a)):
        a[j - 1] = a[j]
    a[-1] = 0


@inline
def append_row(T: Array, g: Array, u: Array, m: int, eps: Scalar, max_size: Scalar) -> Any:
    """Compute row m of T from the products g of a row with the window and itself; returns its square, or NaN or inf."""
    rest = g[m] + eps
    for j in range(m):
        u[j] = dot(T[j], g, j + 1)
        rest -= u[j] * u[j]
    T[m] = 0
    for j in range(m):
        for n in range(j + 1):
            T[m, n] -= u[j] * T[j, n]
    T[m, m] = 1
    for n in range(m + 1):
        T[m, n] /= np.sqrt(rest)
    return dot(T[m], T[m], m + 1) if 1 / max_size < g[m] < max_size else np.inf


@inline_reordered
def drop_first_row(T: Array, v: Array) -> Any:
    """T <- that of the window without its first row; returns its squared norm. v is work space.

    With T = [[t, 0], [-t b, S]] the remaining products are S^-1 (I + b b') S^-T, so that it is N^-1 S, N N' = I + b b'.
    """
    t, square, size = T[0, 0], T.dtype.type(0), T.dtype.type(1)
    v[:] = 0
    for i in range(1, len(T)):
        b = -T[i, 0] / t
        grown = size + b * b
        scale = np.sqrt(size / grown)
        for j in range(1, i + 1):
            old = T[i, j]
            new = scale * (old - b / size * v[j])
            v[j] += b * old
            T[i - 1, j - 1] = new
            square += new * new
        size = grown
    return square


@inline
def apply_inverse(T: Array, e: Array, u: Array, z: Array, m: int) -> Any:
    """z <- T'T e; returns the sum of the |z_j|, NaN if one is NaN."""
    size = z.dtype.type(0)
    z[:] = 0
    for i in range(m):
        part = dot(T[i], e, i + 1)
        for j in range(i + 1):
            z[j] += part * T[i, j]
    for j in range(m):
        size += abs(z[j])
    return size


@inline_reordered
def dot(a: Array, b: Array, n: int) -> Any:
    """a'b of the first n entries: few of them, or of a view that BLAS does not accept."""
    total = a.dtype.type(0)
    for j in range(n):
        total += a[j] * b[j]
    return total

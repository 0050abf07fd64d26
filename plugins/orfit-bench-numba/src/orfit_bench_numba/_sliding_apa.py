"""Affine projection on a sliding window of rows, by the products of the new row with the window.

The weights are w + A'C, where A contains the rows of the window: a step changes C, and changes w only when a row leaves
the window. Only the products of a row with A are needed: 2 k d flops in one product, and two passes over w. The inverse
of A A' + eps I is stored as T'T, which is updated in O(k^2) when a row leaves or joins. Allocated: arrays of shape
(k, k) and (c, k).

Products of rows have the square of the condition number of A. Beyond MAX_INVERSE a solution z is therefore refined by
the residual e - A (A'z), 4 k d flops a time ("corrected seminormal equations", Björck 1987), which restores the digits
lost as long as an error of T'T is reduced, up to a condition number of 10^6.
"""

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._precision_guard import copy
from orfit_bench_numba._products import add_multiple, multiply

MAX_INVERSE = 64.0
"""Largest inverse of A A', relative to that of orthogonal rows of equal length; its square root is lost in digits."""
MAX_CONDITION = 1e6
"""Windows with a larger condition number are solved by an SVD; that of dependent rows is 10^8."""
WINDOW_PERIOD = 256
"""Rows after which T is recomputed, since every update adds a rounding error."""
MAX_REFINEMENTS = 4
"""Refinements of a solution; each reduces its error by the product of the condition number of A A' and rounding."""


def condition_limit(dtype: Any) -> float:
    """The max_condition with which `learn_rows` computes in this dtype: float32 has too few digits to refine."""
    return 0.0 if dtype == np.float32 else MAX_CONDITION


@compiled("W (R R) R R r W i f f f")
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
    max_condition: Scalar,
) -> Any:
    """Learn row by row, from the rows A and targets b of the window; returns how many rows of X were learned.

    Stops before a row whose square or step exceeds max_size, or whose square is below 1 / max_size, so that w stays
    finite. Also stops before a row with which the condition number of A could exceed max_condition (0: MAX_INVERSE
    decides).
    """
    return slide(W, window, X, Y, step, out, order, eps, max_size, max_condition)


@inline
def slide(
    W: Array,
    window: tuple[Array, Array],
    X: Array,
    Y: Array,
    step: Array,
    out: Array,
    order: int,
    eps: Scalar,
    max_size: Scalar,
    max_condition: Scalar,
) -> Any:
    """See `learn_rows`."""
    A, b = window
    c, m = len(W), len(A)
    kind, shape = W.dtype, (order, order)
    matrices = np.zeros(shape, kind), np.zeros(shape, kind), np.zeros(shape, kind)
    owner = matrices, (np.zeros((5, order), kind), np.empty(W.shape, kind)), np.zeros((3, c, order), kind)
    (T, G, T_0), (room, changes), numbers = borrowed(owner)
    (g, u, squares), (E, C, Z) = (room[0], room[1], room[2]), (numbers[0], numbers[1], numbers[2])
    r, dz = room[3], room[4]
    square, learned = W.dtype.type(0), len(X)
    for j in range(m):
        multiply(A[: j + 1], A[j], g[: j + 1])
        squares[j] = g[j]
        copy(G[j], g)
        square += append_row(T, g, u, j, eps, max_size)
        for a in range(c):
            E[a, j] = b[j, a] - dot(A[j], W[a], len(W[a]))
    for i in range(len(X)):
        x = X[i]
        if m == order:
            for a in range(c):
                add_multiple(W[a], C[a, 0], row_at(A, X, i - m))
                shift_left(E[a])
                shift_left(C[a])
            shift_left(squares)
            for j in range(1, m):
                for n in range(1, j + 1):
                    G[j - 1, n - 1] = G[j, n]
            square, m = drop_first_row(T, u), m - 1
        old = max(0, m - i)
        if old > 0:
            multiply(A[len(A) - old :], x, g[:old])
        multiply(X[i + old - m : i + 1], x, g[old : m + 1])
        squares[m] = g[m]
        copy(G[m], g)
        square += append_row(T, g, u, m, eps, max_size)
        safe, accurate = judge_window(square, squares[: m + 1].sum(), eps, max_condition, G, T_0, u, m + 1, max_size)
        for a in range(c):
            out[i, a] = dot(x, W[a], len(x)) + dot(g, C[a], m)
            E[a, m] = Y[i, a] - out[i, a]
            safe = safe and apply_inverse(T, E[a], Z[a], m + 1) * abs(step[i]) < max_size
            if safe and not accurate:
                safe = refine(T, A[len(A) - old :], X[i + old - m : i + 1], E[a], eps, Z[a], r, dz, changes[a])
        if not safe:
            learned = i
            break
        m += 1
        for a in range(c):
            if not accurate:  # C would be much larger than the change of w
                add_multiple(W[a], step[i], changes[a])
            for j in range(m):
                if accurate:
                    C[a, j] += step[i] * Z[a, j]
                E[a, j] -= step[i] * (E[a, j] - eps * Z[a, j])
    for a in range(c):
        for j in range(m):
            add_multiple(W[a], C[a, j], row_at(A, X, learned - m + j))
    hold(owner)
    return learned


@inline
def judge_window(
    square: Scalar,
    total: Scalar,
    eps: Scalar,
    max_condition: Scalar,
    G: Array,
    T_0: Array,
    u: Array,
    m: int,
    max_size: Scalar,
) -> Any:
    """Whether the window of m rows can be solved with T, and whether the solution then needs no refinement.

    square is |T|^2, total the sum of the squares of the rows, G their products; T_0 and u are work space.
    """
    kind = G.dtype.type
    size, max_ratio = kind(m), max_condition * max_condition
    enough = kind(MAX_INVERSE) * size * size
    accurate = enough > square * (total + size * eps)
    independent = (1 / square - eps) * max(max_ratio, enough) > total  # 1 / square: a bound of the eigenvalues
    if max_ratio > 0 and eps > 0 and not independent:
        independent = max_ratio > total * squared_norm_of_factor(G, T_0, u, m, max_size)
    return independent and (accurate or max_ratio > 0), accurate


@inline
def row_at(A: Array, X: Array, i: int) -> Any:
    """Row i of X, or a row counted from the end of A if i is negative."""
    return X[i] if i >= 0 else A[len(A) + i]


@inline
def shift_left(a: Array) -> None:
    """Drop the first number and append a zero."""
    for j in range(1, len(a)):
        a[j - 1] = a[j]
    a[-1] = 0


@inline
def append_row(T: Array, g: Array, u: Array, m: int, eps: Scalar, max_size: Scalar) -> Any:
    """Compute row m of T from the products g of a row with the window and itself; returns its square, NaN or inf."""
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


@inline
def squared_norm_of_factor(G: Array, T: Array, u: Array, m: int, max_size: Scalar) -> Any:
    """The trace of the inverse of the products G of m rows; NaN or inf if they are dependent. T, u: work space."""
    square, zero = G.dtype.type(0), G.dtype.type(0)
    for j in range(m):
        square += append_row(T, G[j], u, j, zero, max_size)
    return square


@inline_reordered
def drop_first_row(T: Array, v: Array) -> Any:
    """Change T to that of the window without its first row; returns its squared norm. v is work space.

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
def refine(T: Array, A: Array, X: Array, e: Array, eps: Scalar, z: Array, r: Array, dz: Array, change: Array) -> Any:
    """Refine z = (B B' + eps I)^-1 e for the rows B of A and X; change <- B'z. Returns whether z converged.

    r and dz are work space.
    """
    m, last = len(A) + len(X), z.dtype.type(np.inf)
    change[:] = 0
    add_rows(change, A, X, z)
    for _ in range(MAX_REFINEMENTS):
        if len(A) > 0:
            multiply(A, change, r[: len(A)])
        multiply(X, change, r[len(A) : m])
        for j in range(m):
            r[j] = e[j] - r[j] - eps * z[j]
        moved, size = apply_inverse(T, r, dz, m), z.dtype.type(0)
        if not moved < last:
            return False
        add_rows(change, A, X, dz)
        for j in range(m):
            z[j] += dz[j]
            size += abs(z[j])
        if moved <= size * np.sqrt(np.finfo(z.dtype).eps):
            return True
        last = moved / 4
    return False


@inline
def add_rows(w: Array, A: Array, X: Array, z: Array) -> None:
    """Compute w <- w + B'z for the rows B of A and X."""
    for j in range(len(A)):
        add_multiple(w, z[j], A[j])
    for j in range(len(X)):
        add_multiple(w, z[len(A) + j], X[j])


@inline
def apply_inverse(T: Array, e: Array, z: Array, m: int) -> Any:
    """Compute z <- T'T e; returns the sum of the |z_j|, or NaN if one is NaN."""
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
    """The product a'b of the first n entries, for few entries or views that BLAS does not accept."""
    total = a.dtype.type(0)
    for j in range(n):
        total += a[j] * b[j]
    return total

"""Rank-one updates of a basis, C' <- C' + v r' for each row, delayed so that four updates share one pass over it.

Shapes: B (k, d), the basis without the delayed updates; row m of a block of four is y_m, learned with
r_m = y_m - C_m a_m, where C_m' = B + sum_{l<m} v_l r_l' is the basis before it and a_m (k,) are the coordinates that
the method found, C_m^+ y_m or zero. Nothing of length d is formed before the block ends:

    c_m = C_m'y_m = B y_m + sum_{l<m} v_l r_l'y_m,    r_l'y_m = y_l'y_m - a_l'C_l'y_m
    |r_m|^2 = y_m'y_m - a_m'c_m                       for a_m = C_m^+ y_m, where r_m is orthogonal to C_m
    R = (I + T)^-1 (Y - A B),    T_ml = v_l'a_m for l < m

A row costs 2 d k flops for the residual, 2 d k for the update and 2 d k for the product with a row of the next block,
in a quarter of a pass that reads and writes B. The pass processes strips of columns, which stay in the second-level
cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import inline, inline_reordered
from orfit_bench_numba._precision_guard import copy, dot
from orfit_bench_numba._products import multiply
from orfit_bench_numba._strip_products import subtract_combinations
from orfit_bench_numba._work_space import aligned, round_up

COLUMNS = 400
"""Largest width of a strip: a strip of B and of eight rows takes 186 kB for k = 50. Narrower strips take longer."""


class Delayed(NamedTuple):
    """The block of four rows that is being learned, see above.

    P (4, k) are the products B y_m, G (4, 4) the products y_l'y_m with l <= m. Rows (8, d) are those of this block and
    of the one before, whose updates are delayed until this block is begun. V, A and T are zero for rows that were not
    learned, whose products may overflow.
    """

    V: Array
    A: Array
    T: Array
    P: Array
    G: Array
    rows: Array


@inline
def allocate(B: Array) -> Any:
    """Allocate an empty `Delayed`, and zeros c, x, u, v (k,)."""
    (k, d), kind = B.shape, B.dtype
    square = np.zeros((2, 4, 4), kind)
    delayed = Delayed(
        np.zeros((4, k), kind), np.zeros((4, k), kind), square[0], np.zeros((4, k), kind), square[1], aligned(8, d, B)
    )
    return delayed, (np.zeros(k, kind), np.zeros(k, kind), np.zeros(k, kind), np.zeros(k, kind))


@inline
def multiply_basis(delayed: Delayed, m: int, c: Array) -> None:
    """Compute c <- C'y for row m, including the m updates before it."""
    copy(c, delayed.P[m])
    for i in range(m):
        a = delayed.G[i, m] - dot(delayed.A[i], c)  # r_i'y
        for j in range(len(c)):
            c[j] += a * delayed.V[i, j]


@inline
def find_coordinates(delayed: Delayed, m: int, inverse: Array, c: Array, a: Array) -> Any:
    """Compute a <- C^+ y for row m, with inverse = (C'C)^-1 and c = C'y; returns |r|, not finite if |y|^2 overflows.

    Before the square root is taken, the error of |r|^2 is eps |y|^2 plus the error of a times c.
    """
    multiply(inverse, c, a)
    energy = delayed.G[m, m]
    return np.sqrt(max(energy - dot(a, c), type(energy)(0)))  # the maximum of NaN and 0, in this order, is NaN


@inline
def delay(delayed: Delayed, m: int, a: Array, step: Scalar, v: Array) -> None:
    """Delay C' <- C' + step v r' with r = y - C a for row m."""
    for i in range(m):
        delayed.T[m, i] = dot(delayed.V[i], a)
    copy(delayed.A[m], a)
    for j in range(len(v)):
        delayed.V[m, j] = step * v[j]


@inline
def update_inverse_gram(inverse: Array, v: Array, u: Array, weight: float) -> None:
    """Replace (C'C)^-1 by (C'C + weight^2 v v')^-1 (Sherman-Morrison), for u = (C'C)^-1 v, which is overwritten."""
    scale = weight / np.sqrt(v.dtype.type(1) + weight * dot(v, u) * weight)
    for k in range(len(u)):
        u[k] *= scale
    for k in range(len(u)):
        for j in range(len(u)):
            inverse[k, j] -= u[k] * u[j]  # exactly symmetric, since asymmetry from rounding would grow


@inline
def error_growth(s: Scalar) -> Any:
    """Factor, at least 1, by which an error of the inverse can grow along a learned row, for s = step a'c.

    The error is multiplied by (1 - s)^2, or by 1 - 2 s if rounding makes |r|^2 negative and zero replaces it.
    """
    one: Any = type(s)(1)
    return max(one, s + s - one, (s - one) * (s - one))


@inline
def begin_block(B: Array, delayed: Delayed, X: Array, i: int, has_coordinates: bool) -> None:
    """Apply delayed updates, B <- B + V'R, and compute the products of rows i to i + 3 of X; i is a multiple of 4.

    The last row of X replaces rows beyond the end. has_coordinates: whether A can be nonzero.
    """
    V, A, T, P, G, rows = delayed
    half = i % 8
    Y, Z = rows[4 - half : 8 - half], rows[half : half + 4]
    for m in range(4):
        copy(Z[m], X[min(i + m, len(X) - 1)])
    P[:] = 0
    G[:] = 0
    d = B.shape[1]
    width = round_up(-(-d // -(-d // COLUMNS)), 8)  # as few strips of equal width as possible
    for begin in range(0, d, width):
        end = min(begin + width, d)
        y = Y[0, begin:end], Y[1, begin:end], Y[2, begin:end], Y[3, begin:end]
        z = Z[0, begin:end], Z[1, begin:end], Z[2, begin:end], Z[3, begin:end]
        if has_coordinates:
            subtract_combinations(y, A, B, begin, end)
            solve_triangle(y, T)
        add_gram(z, G)
        update_strip(B, begin, end, V, y, z, P)
    V[:] = 0
    A[:] = 0
    T[:] = 0


@inline
def finish(B: Array, delayed: Delayed, X: Array, learned: int, has_coordinates: bool) -> None:
    """Apply the updates delayed after the last learned row."""
    begin_block(B, delayed, X, round_up(learned, 4), has_coordinates)


@inline_reordered
def solve_triangle(y: Any, T: Array) -> None:
    """Compute Y <- (I + T)^-1 Y for a strip of columns, with T strictly lower triangular."""
    y_0, y_1, y_2, y_3 = y
    t_10, t_20, t_21, t_30, t_31, t_32 = T[1, 0], T[2, 0], T[2, 1], T[3, 0], T[3, 1], T[3, 2]
    for j in range(len(y_0)):
        r_0 = y_0[j]
        r_1 = y_1[j] - t_10 * r_0
        r_2 = y_2[j] - (t_20 * r_0 + t_21 * r_1)
        y_3[j] -= t_30 * r_0 + t_31 * r_1 + t_32 * r_2
        y_1[j] = r_1
        y_2[j] = r_2


@inline_reordered
def add_gram(z: Any, G: Array) -> None:
    """Compute the upper triangle of G <- G + Z Z' for a strip of columns."""
    z_0, z_1, z_2, z_3 = z
    zero = G.dtype.type(0)
    g_00, g_01, g_02, g_03, g_11, g_12, g_13 = zero, zero, zero, zero, zero, zero, zero
    g_22, g_23, g_33 = zero, zero, zero
    for j in range(len(z_0)):
        a, b, c, d = z_0[j], z_1[j], z_2[j], z_3[j]
        g_00 += a * a
        g_01 += a * b
        g_02 += a * c
        g_03 += a * d
        g_11 += b * b
        g_12 += b * c
        g_13 += b * d
        g_22 += c * c
        g_23 += c * d
        g_33 += d * d
    G[0, 0] += g_00
    G[0, 1] += g_01
    G[0, 2] += g_02
    G[0, 3] += g_03
    G[1, 1] += g_11
    G[1, 2] += g_12
    G[1, 3] += g_13
    G[2, 2] += g_22
    G[2, 3] += g_23
    G[3, 3] += g_33


@inline_reordered
def update_strip(B: Array, begin: int, end: int, V: Array, r: Any, z: Any, P: Array) -> None:
    """Compute B <- B + V'R and P <- P + Z B' for a strip of columns."""
    r_0, r_1, r_2, r_3 = r
    z_0, z_1, z_2, z_3 = z
    zero = B.dtype.type(0)
    for k in range(len(B)):
        row, v_0, v_1, v_2, v_3 = B[k, begin:end], V[0, k], V[1, k], V[2, k], V[3, k]
        p_0, p_1, p_2, p_3 = zero, zero, zero, zero
        for j in range(len(row)):
            new = row[j] + v_0 * r_0[j] + v_1 * r_1[j] + v_2 * r_2[j] + v_3 * r_3[j]
            row[j] = new
            p_0 += new * z_0[j]
            p_1 += new * z_1[j]
            p_2 += new * z_2[j]
            p_3 += new * z_3[j]
        P[0, k] += p_0
        P[1, k] += p_1
        P[2, k] += p_2
        P[3, k] += p_3

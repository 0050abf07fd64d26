"""Affine projection on a window with more rows than features, by the equations A'A + eps I of the features.

For rows A (m, d) whose columns are independent, A'(A A' + eps I)^+ = (A'A + eps I)^-1 A'. The products G = A'A are
formed in every call, m d^2 flops, and gain a row and lose one in 4 d^2; the inverse of G + eps I is T'T, by elimination
in d^3, and a solution takes 4 m d. Allocated: arrays of shape (d, d) and (d, m), and a copy of the rows.

As in `_sliding_apa`, G has the squared condition number of A. If that costs digits, a solution z is refined with the
residual A'(e - A z) - eps z.
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.regularized_inverse import UNEVEN
from orfit_bench_numba._apa_row import add_rows, invert_root
from orfit_bench_numba._arrays import Array, Indices, Scalar
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._precision_guard import copy, dot
from orfit_bench_numba._products import add_multiple, multiply, sum_diagonal
from orfit_bench_numba._sliding_apa import MAX_REFINEMENTS, apply_inverse, judge_window


@compiled("W W W I R R r W i f f f")
def learn_rows(
    W: Array,
    rows: Array,
    targets: Array,
    count: Indices,
    X: Array,
    Y: Array,
    step: Array,
    out: Array,
    order: int,
    eps: Scalar,
    max_size: Scalar,
    max_condition: Scalar,
) -> Any:
    """Learn rows, which join the window, with the weights W (c, d); returns how many rows of X were learned.

    Learns no rows if fewer than d rows of the window remain when a row joins, or if its arrays are too small. Stops in
    the same cases as `_sliding_apa.learn_rows`, with the columns of A in place of its rows. With eps, also stops at
    rows of very different sizes: the reference, which divides rows by their sizes, keeps fewer digits of these.
    """
    (c, d), n, kind = W.shape, count[0], W.dtype
    k = min(n, order - 1)
    if k < d or min(order, n + len(X)) > len(rows):
        return 0
    kept = np.empty((k + len(X), d), kind), np.empty((c, k + len(X)), kind)
    columns = np.empty((d, k), kind)
    owner = kept, columns, np.zeros((3, d, d), kind), np.empty((c + 2, d), kind), np.empty((3, k + len(X)), kind)
    (R, B), Q, (G, T, T_0), numbers, (r, f, sizes) = borrowed(owner)
    Z, u, v = numbers[:c], numbers[c], numbers[c + 1]
    for j in range(k):
        append_row(R, B, j, rows[n - k + j], targets[n - k + j])
        sizes[j] = largest(R[j])
    form_products(G, R[:k], Q)
    peak, learned = kind.type(0), len(X)
    for i in range(len(X)):
        first, last = max(0, k + i + 1 - order), k + i + 1
        append_row(R, B, k + i, X[i], Y[i])
        A, x = R[first:last], R[k + i]
        add_square(G, kind.type(1), x)
        peak = max(peak, sum_diagonal(G))  # G has rounding errors relative to it
        if first > 0:
            add_square(G, kind.type(-1), R[first - 1])
        square = invert_root(G, T, d, eps, max_size)
        safe, accurate = judge_window(square, peak, eps, max_condition, G, T_0, u, d, max_size)
        sizes[k + i] = largest(x)
        safe = safe and (eps == 0 or not sizes[first:last].max() > UNEVEN * sizes[first:last].min())
        for a in range(c):
            w, z = W[a], Z[a]
            out[i, a] = dot(x, w)
            safe = safe and solve(T, A, B[a, first:last], w, eps, accurate, z, r, f, u, v) * abs(step[i]) < max_size
        if not safe:
            learned = i
            break
        for a in range(c):
            add_multiple(W[a], step[i], Z[a])
    if learned:
        count[0] = min(order, n + learned)
        write_back(rows, targets, count[0], R, B, k + learned)
    hold(owner)
    return learned


@inline
def append_row(R: Array, B: Array, j: int, x: Array, y: Array) -> None:
    """Write x to row j of R, and y to column j of B (c, .)."""
    copy(R[j], x)
    for a in range(len(y)):
        B[a, j] = y[a]


@inline
def largest(x: Array) -> Any:
    """The largest |x_j|."""
    size = x.dtype.type(0)
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    return size


@inline
def write_back(rows: Array, targets: Array, m: int, R: Array, B: Array, end: int) -> None:
    """Write the last m rows of R up to `end`, and their targets, to the window."""
    for j in range(m):
        copy(rows[j], R[end - m + j])
        for a in range(len(B)):
            targets[j, a] = B[a, end - m + j]


@inline
def add_square(G: Array, sign: Scalar, x: Array) -> None:
    """Compute G <- G + sign x x'."""
    for j in range(len(x)):
        add_multiple(G[j], sign * x[j], x)


@inline
def form_products(G: Array, A: Array, Q: Array) -> None:
    """Compute G <- A'A and Q <- A'."""
    for i in range(len(A)):
        for j in range(len(Q)):
            Q[j, i] = A[i, j]
    for j in range(len(Q)):
        multiply(Q[: j + 1], Q[j], G[j])
        for i in range(j):
            G[i, j] = G[j, i]


@inline
def solve(
    T: Array,
    A: Array,
    b: Array,
    w: Array,
    eps: Scalar,
    accurate: bool,
    z: Array,
    r: Array,
    f: Array,
    u: Array,
    v: Array,
) -> Any:
    """Compute z <- (A'A + eps I)^-1 A'(b - A w); returns the sum of the |z_j|, NaN or inf if z did not converge.

    T'T is approximately the inverse, and accurate enough for a single step if `accurate`. r and f (m,), u and v (d,)
    are work space: r is b - A (w + z), and u is added next, initially w.
    """
    m, d, last, size, zero = len(A), len(w), z.dtype.type(np.inf), z.dtype.type(0), z.dtype.type(0)
    copy(r, b)
    copy(u, w)
    for j in range(d):
        z[j] = 0
    for _ in range(1 + MAX_REFINEMENTS):
        multiply(A, u, f[:m])
        for j in range(m):
            r[j] -= f[j]
        for j in range(d):
            v[j] = -eps * z[j]
        add_rows(v, z.dtype.type(1), r, A)
        moved = apply_inverse(T, v, u, d)
        if not moved < last:
            break
        size = zero
        for j in range(d):
            z[j] += u[j]
            size += abs(z[j])
        if accurate or moved <= size * np.sqrt(np.finfo(z.dtype).eps):
            return size
        last = moved / 4
    return z.dtype.type(np.inf)

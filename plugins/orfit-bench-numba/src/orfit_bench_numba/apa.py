"""Affine projection (survey, APA; with all rows APA-dagger).

In a block of rows every step is a combination of the rows Z of window and block: w = w_0 + Z'C. So with the products
G = Z Z' neither w nor Z is touched again before the block ends, and a step takes k^2 operations on numbers that lie
near, k rows in the window, beside k^3/3 for the inverse of its part of G where the window slides. A row of G costs
2 (k + b) d flops in matrix products, b rows a block. Squares lose digits, so a window whose rows nearly depend on each
other is fitted by the SVD, alone. w and the window are written; allocated: arrays of (k + b)^2 numbers.
"""

from typing import Any

import numpy as np

from orfit_bench_numba._compile import compiled, inlined, summed
from orfit_bench_numba._directions import Array

BLOCK = 32
"""Rows of a block: with fewer its calls, with more its products with each other cost more than they save."""
AMPLE = 64.0
"""How many times the inverse of G may be that of orthogonal rows of the same length; its square root in digits lost."""


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Each row: w <- w + step A'(A A' + eps I)^+ (b - A w), A the last rows, this one included."""
    done, rows = 0, BLOCK
    told = np.empty(Y.shape, Y.dtype) if out is None else out
    while done < len(X):
        part = slice(done, done + rows)
        learned = block(s, X[part], Y[part], p.step_size[part], p, told[part])
        rows = min(BLOCK, 2 * learned) or 1
        if not learned:
            A = X[done : done + 1]
            told[done] = A[0] @ s.w
            if not update(s, A, Y[done : done + 1] - told[done], p.at(done)):
                return done
            learned = 1
        done += learned
    return done


def block(s: Any, X: Array, Y: Array, step: Array, p: Any, told: Array) -> int:
    """Learn the first rows of X; returns how many: none where the window's rows are too near to each other."""
    n, d = int(s.count[0]), X.shape[1]
    k = min(n, p.projection_order - 1)
    if p.projection_order > d:  # more rows than d in a window depend on each other
        X, Y = X[: max(0, d - k)], Y[: max(0, d - k)]
    b, told = len(X), told[: len(X)]
    A, G = s.rows[n - k : n], np.empty((k + b, k + b), X.dtype)
    if not b:
        return 0
    G[:k, :k], G[k:, :k], G[k:, k:] = A @ A.T, X @ A.T, X @ X.T
    E, C = np.zeros((k + b, Y.shape[1]), X.dtype), np.zeros((k + b, Y.shape[1]), X.dtype)
    E[:k] = s.targets[n - k : n] - A @ s.w
    np.dot(X, s.w, out=told)
    edge = 2.0 ** (np.finfo(X.dtype).maxexp // 4)
    learned = int(follow(G, E, C, told, Y, step, min(p.projection_order, k + b), k, p.eps, edge))
    w = s.w + A.T @ C[:k] + X[:learned].T @ C[k : k + learned]
    if not np.isfinite(w).all():
        return 0
    s.w[...] = w
    slide(s, X[:learned], Y[:learned])
    return learned


def slide(s: Any, X: Array, Y: Array) -> None:
    """The rows join the window, which the oldest leave where it is full."""
    n, room = int(s.count[0]), len(s.rows)
    X, Y = X[-room:], Y[-room:]
    keep = min(n, room - len(X))
    for window, new in ((s.rows, X), (s.targets, Y)):
        if keep < n:
            window[:keep] = window[n - keep : n]
        window[keep : keep + len(new)] = new
    s.count[0] = keep + len(X)


@compiled("R W W W R r i i f f")
def follow(G: Any, E: Any, C: Any, told: Any, Y: Any, step: Any, order: Any, k: Any, eps: Any, edge: Any) -> Any:
    """The combinations C, and predictions told from those of the weights before the block; returns the rows learned.

    E: the errors of the rows in the window. T'T is the inverse of the window's part of G + eps I. Ends before a row
    whose square or target is beyond `edge`, or the square below its inverse.
    """
    m, c = C.shape
    zero, one, ample = G.dtype.type(0), G.dtype.type(1), G.dtype.type(AMPLE)
    T, square, trace, first = np.zeros((m, m), G.dtype), zero, zero, -1
    u, z = np.empty(m, G.dtype), np.empty(m, G.dtype)
    for t in range(k, m):
        low = max(0, t + 1 - order)
        begin = t if low == first else low
        if low != first:
            first, square, trace = low, zero, zero
        for i in range(begin, t + 1):
            square += border(T, G, u, low, i, eps) if one / edge < G[i, i] < edge else np.inf
            trace += G[i, i]
        size = one * (t + 1 - low)
        if not (one / square - eps) * ample * size * size >= trace:
            return t - k
        for a in range(c):
            if not abs(Y[t - k, a]) < edge:
                return t - k
        for a in range(c):
            told[t - k, a] += dot(G[t], C[:, a], 0, t)
            E[t, a] = Y[t - k, a] - told[t - k, a]
            for i in range(low, t + 1):
                u[i] = dot(T[i], E[:, a], low, i + 1)
            z[low : t + 1] = zero
            for i in range(low, t + 1):
                for j in range(low, i + 1):
                    z[j] += u[i] * T[i, j]
            for i in range(low, t + 1):
                z[i] *= step[t - k]
                C[i, a] += z[i]
            for i in range(low, t + 1):
                E[i, a] -= dot(G[i], z, low, i + 1)
                for j in range(low, i):
                    E[j, a] -= G[i, j] * z[i]
    return m - k


@inlined
def border(T: Any, G: Any, u: Any, low: Any, i: Any, eps: Any) -> Any:
    """Row i of the inverse Cholesky factor of G + eps I from the rows before it; returns its square, NaN where none."""
    rest = G[i, i] + eps
    T[i, low:i] = 0
    for j in range(low, i):
        u[j] = dot(T[j], G[i], low, j + 1)
        rest -= u[j] * u[j]
        for n in range(low, j + 1):
            T[i, n] -= u[j] * T[j, n]
    T[i, i] = G.dtype.type(1) / np.sqrt(rest)
    square = T[i, i] * T[i, i]
    for n in range(low, i):
        T[i, n] *= T[i, i]
        square += T[i, n] * T[i, n]
    return square


@summed
def dot(a: Any, b: Any, begin: Any, end: Any) -> Any:
    """Of the entries from begin to end."""
    total = a.dtype.type(0)
    for j in range(begin, end):
        total += a[j] * b[j]
    return total


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """The same for q gradients at once, by the SVD of the window."""
    q, n = len(J), int(s.count[0])
    b_new = E + J @ s.w
    keep = min(n, len(s.rows) - q)
    A, b = np.concatenate([s.rows[n - keep : n], J]), np.concatenate([s.targets[n - keep : n], b_new])
    w = s.w + p.step_size[0] * (damped_inverse(A, p.eps) @ (b - A @ s.w))
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    slide(s, J, b_new)
    return True


def damped_inverse(A: Array, eps: float) -> Array:
    """A'(A A' + eps I)^+ (p, k); singular values up to sqrt(machine eps) of the largest count as zero."""
    size = max(np.abs(A).max(), 1)  # so that neither a singular value nor its square overflows
    V, sigma, Wt = np.linalg.svd(A / size, full_matrices=False)
    kept = sigma > np.finfo(A.dtype).eps ** 0.5 * sigma[0]
    gain = np.divide(1, sigma + eps / size / size / sigma, out=np.zeros_like(sigma), where=kept)
    inverse: Array = (Wt.T * gain) @ (V.T / size)
    return inverse

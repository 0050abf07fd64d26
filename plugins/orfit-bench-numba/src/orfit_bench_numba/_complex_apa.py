"""Affine projection on complex rows: the equations A A^H + eps I of the window, by their Cholesky factor.

Products of rows square the condition number of the window, so rows are learned here only as long as no pivot of the
factor is small; the reference learns the others. This is decided for A A^H alone, since the cut-off of the reference
does not depend on eps. With k rows in the window a row costs 4 k d + 2 k^3 / 3 complex operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled_complex, inline_reordered
from orfit_bench_numba._complex_rows import add_conjugate, product
from orfit_bench_numpy import apa as reference

MAX_ROWS = 64
"""Rows of a window up to which the factor is cheap compared with the products with the rows."""
MIN_PIVOT = 1e-3
"""Smallest squared pivot, relative to the diagonal: three digits are lost."""


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn rows in order; returns how many were learned."""
    done, order = 0, min(p.projection_order, len(s.rows))
    if order > min(MAX_ROWS, X.shape[1]):
        return reference.learn(s, X, Y, p, out)
    found = np.empty(Y.shape, Y.dtype) if out is None else out
    largest = float(np.finfo(X.dtype).max) ** 0.2
    while done < len(X):
        W, count = np.ascontiguousarray(s.w.T), int(s.count[0])
        window = s.rows[:order], s.targets[:order]
        rest = X[done:], Y[done:], p.step_size[done:]
        learned = int(learn_rows(W, *window, *rest, found[done:], count, p.eps, MIN_PIVOT, largest))
        s.w[...], s.count[0] = W.T, min(count + learned, order)
        done += learned
        if done < len(X):  # nearly dependent rows, or numbers whose squares might overflow
            here = slice(done, done + 1)
            if not reference.learn(s, X[here], Y[here], p.at(done), found[here]):
                return done
            done += 1
    return done


@compiled_complex("W W W R R s W i x x x")
def learn_rows(
    W: Array,
    A: Array,
    B: Array,
    X: Array,
    Y: Array,
    step: Array,
    out: Array,
    m: int,
    eps: Scalar,
    min_pivot: Scalar,
    largest: Scalar,
) -> Any:
    """Learn rows with the weights W (c, d) and the first m rows of the window A (k, d), B (k, c).

    Returns how many were learned; the next row must be learned by the reference, and is not in the window.
    """
    k, d = A.shape
    G, L, z = np.zeros((k, k), W.dtype), np.zeros((k, k), W.dtype), np.empty(k, W.dtype)
    zero = eps - eps
    for i in range(m):
        for j in range(i + 1):
            G[i, j] = inner(A[i], A[j])
    for t in range(len(X)):
        x, drop = X[t], 1 if m == k else 0
        n = m - drop  # rows that stay
        energy = inner(x, x).real
        size = np.sqrt(energy) + largest_part(W)
        for a in range(len(W)):
            size += abs(Y[t, a])
        if not (1 / largest < energy and size < largest and abs(step[t]) <= 2):
            return t
        for i in range(n):
            z[i] = inner(x, A[i + drop])
        if not factor(G, z, L, n, drop, energy, zero, min_pivot):
            return t
        if eps > 0:
            factor(G, z, L, n, drop, energy, eps, min_pivot)
        for i in range(n):
            for j in range(i + 1):
                G[i, j] = G[i + drop, j + drop]
            for j in range(d if drop else 0):
                A[i, j] = A[i + 1, j]
            for a in range(len(W) if drop else 0):
                B[i, a] = B[i + 1, a]
        for j in range(n):
            G[n, j] = z[j]
        G[n, n] = energy
        for j in range(d):
            A[n, j] = x[j]
        for a in range(len(W)):
            B[n, a] = Y[t, a]
        m = n + 1
        for a in range(len(W)):
            out[t, a] = product(x, W[a])
            for i in range(m):  # z <- L^-1 (b - A w)
                z[i] = B[i, a] - product(A[i], W[a])
                for j in range(i):
                    z[i] -= L[i, j] * z[j]
                z[i] /= L[i, i]
            for i in range(m - 1, -1, -1):  # z <- L^-H z
                for j in range(i + 1, m):
                    z[i] -= L[j, i].conjugate() * z[j]
                z[i] /= L[i, i]
            for i in range(m):
                add_conjugate(W[a], step[t] * z[i], A[i])
    return len(X)


@inline_reordered
def factor(G: Array, z: Array, L: Array, n: int, drop: int, energy: Scalar, eps: Scalar, min_pivot: Scalar) -> Any:
    """Factor L L^H = products of the n remaining rows and the new one, plus eps on the diagonal; False if imprecise."""
    for i in range(n + 1):
        diagonal = (G[i + drop, i + drop].real if i < n else energy) + eps
        pivot = diagonal
        for j in range(i):
            total = G[i + drop, j + drop] if i < n else z[j]
            for q in range(j):
                total -= L[i, q] * L[j, q].conjugate()
            L[i, j] = total / L[j, j]
            pivot -= L[i, j].real * L[i, j].real + L[i, j].imag * L[i, j].imag
        if not pivot > min_pivot * diagonal:
            return False
        L[i, i] = np.sqrt(pivot)
    return True


@inline_reordered
def inner(a: Array, b: Array) -> Any:
    """The product a b^H."""
    real = imag = type(a[0].real)(0)
    for j in range(len(a)):
        real += a[j].real * b[j].real + a[j].imag * b[j].imag
        imag += a[j].imag * b[j].real - a[j].real * b[j].imag
    return complex(real, imag)


@inline_reordered
def largest_part(W: Array) -> Any:
    """The largest real or imaginary part of W."""
    found = type(W[0, 0].real)(0)
    for a in range(W.shape[0]):
        for j in range(W.shape[1]):
            found = max(found, abs(W[a, j].real), abs(W[a, j].imag))
    return found

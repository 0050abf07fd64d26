"""Singular value decomposition of [diag(d) z], of shape (n, n + 1), in O(n^2), for incremental PCA with one new row.

Its left singular vectors and squared singular values are the eigenvectors and eigenvalues of diag(d)^2 + z z'. The
eigenvalues l are the roots of f(l) = 1 + sum z_j^2 / (d_j^2 - l), one between each two d^2 and one above all (Golub
1973). A root is computed as its distance from the nearest d^2, so that no difference d_j^2 - l cancels. The vectors are
those of the z for which the computed roots are exact. They are orthonormal to rounding, however close the d are to each
other (Gu and Eisenstat 1994).

Double precision is used for both dtypes, since n is small and single precision would need more care.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._compile import inline, inline_reordered

EPS = float(np.finfo(float).eps)
"""Smallest distance of the d, relative to the largest of d and z; a smaller |z_j| leaves d_j unchanged."""
MAX_STEPS = 100
"""Largest number of iterations for a root; about five are needed."""


@inline
def decompose(d: Array, z: Array, V: Array, values: Array, work: Array, moving: Indices) -> None:
    """Compute the singular values, descending, and the left singular vectors, the rows of V (n, n), for n descending d.

    d and z are overwritten; work (n + 2, n) and moving (n,) are work space. If two values are equal, the old one is
    first.
    """
    n, m, scale = len(d), 0, d[0]
    for j in range(n):
        scale = max(scale, abs(z[j]))
    for j in range(n):
        d[j] /= scale
        z[j] /= scale
        if abs(z[j]) > EPS:
            moving[m], work[n, m], work[n + 1, m] = j, d[j], z[j]
            m += 1
    a, b = work[n, :m], work[n + 1, :m]
    for j in range(m - 2, -1, -1):
        a[j] = max(a[j], a[j + 1] + EPS)
    for i in range(m):
        values[i] = find_root(a, b, i, work[i, :m])
    product = V[0, :m]  # work space, before V is written
    for j in range(m):
        product[j] = -work[j, j]
    for i in range(m):
        multiply_gap_ratios(product[:i], work[i, :i], a[:i], a[i])
        multiply_gap_ratios(product[i + 1 :], work[i, i + 1 : m], a[i + 1 :], a[i])
    for j in range(m):
        b[j] = np.copysign(np.sqrt(product[j]), b[j])
    i, j = m - 1, n - 1
    for place in range(n - 1, -1, -1):  # from the smallest, so that no root is overwritten too early
        while j >= 0 and abs(z[j]) > EPS:
            j -= 1
        for t in range(n):
            V[place, t] = 0
        if i < 0 or (j >= 0 and d[j] < values[i]):
            V[place, j], values[place] = 1, scale * d[j]
            j -= 1
        else:
            size = 1 / np.sqrt(divide_by_gaps(b, work[i, :m]))
            for t in range(m):
                V[place, moving[t]] = size * work[i, t]
            values[place] = scale * values[i]
            i -= 1


@inline
def multiply_gap_ratios(product: Array, gaps: Array, d: Array, other: float) -> None:
    """Compute product <- product gaps / (d^2 - other^2)."""
    for j in range(len(product)):
        product[j] *= gaps[j] / ((d[j] - other) * (d[j] + other))


@inline_reordered
def divide_by_gaps(b: Array, gaps: Array) -> Any:
    """Compute gaps <- b / gaps; returns the sum of their squares."""
    square = 0.0
    for j in range(len(gaps)):
        gaps[j] = b[j] / gaps[j]
        square += gaps[j] * gaps[j]
    return square


@inline
def find_root(d: Array, z: Array, i: int, gaps: Array) -> Any:
    """The square root of the i-th largest root l = o^2 + t, where o is a neighbouring d; gaps <- d^2 - l."""
    o, low, high = d[i], 0.0, np.dot(z, z)
    t = high
    if i > 0:
        high = (d[i - 1] - o) * (d[i - 1] + o)
        t = high / 2
    f, rise, size = evaluate_secular(d, z, o, t, gaps)
    if i > 0 and f < 0:
        o, low, high, t = d[i - 1], -t, 0.0, -t
    for turn in range(MAX_STEPS):
        if abs(f) <= 8 * EPS * size:
            break
        if f > 0:
            high = t
        else:
            low = t
        a = gaps[i]
        if i == 0:  # c + v / (a - x), with the value and slope of f at x = 0
            new = t + f * a / (f - rise * a)
        else:  # c + v / (a - x) + w / (b - x), likewise, but at first with the v and w of both poles
            b, v, w = gaps[i - 1], z[i] * z[i], z[i - 1] * z[i - 1]
            by_a, by_b = 1 / a, 1 / b
            if turn > 0 and o == d[i]:
                w = b * b * (rise - v * by_a * by_a)
            elif turn > 0:
                v = a * a * (rise - w * by_b * by_b)
            c = f - v * by_a - w * by_b
            p = c * (a + b) + v + w
            q = np.sqrt(abs(p * p - 4 * a * b * f * c))
            new = t + (2 * a * b * f / (p + q) if p > 0 else (p - q) / (2 * c))
        if not low < new < high:
            new = (low + high) / 2
        if new == t:
            break
        t = new
        f, rise, size = evaluate_secular(d, z, o, t, gaps)
    return np.sqrt(o * o + t)


@inline_reordered
def evaluate_secular(d: Array, z: Array, o: float, t: float, gaps: Array) -> Any:
    """f and f' at o^2 + t, and the sum of the sizes of the terms of f; gaps <- d^2 - o^2 - t."""
    f, rise, size = 1.0, 0.0, 1.0
    for j in range(len(d)):
        gap = (d[j] - o) * (d[j] + o) - t
        q = z[j] / gap
        gaps[j] = gap
        f += z[j] * q
        size += abs(z[j] * q)
        rise += q * q
    return f, rise, size

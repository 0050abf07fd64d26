"""The singular value decomposition of a diagonal matrix with one more column, in O(n^2).

[[diag sigma, a], [0, rho]] times its transpose is D^2 + z z' with D = diag(sigma, 0) and z = (a, rho). So the squares
of its singular values are the roots x of 1 + sum_j z_j^2 / (d_j^2 - x) = 0, one between any two neighbouring poles
d_j^2 and one above them. Each is found as its distance from the nearer pole, so that all d_j^2 - x are accurate to
rounding, however close. Its left singular vector is z_j / (d_j^2 - x): where roots lie close, those of z as given are
not orthogonal, but those of the z that has the computed roots as its exact ones are (Gu and Eisenstat, 1994).

About 8 n^2 divisions, which are the limit; LAPACK's dense decomposition takes 20 n^3 flops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench_numba._compile import inlined, summed

ROOM = 6
"""Rows of numbers that `decompose` works in."""


@inlined
def decompose(d: Any, z: Any, W: Any, gaps: Any, room: Any, places: Any) -> Any:
    """d <- the singular values, falling, and the first rows of W <- the left singular vectors, else zero.

    d (n,) is (sigma, 0), sigma in any order, and z (n,) is (a, rho), not zero. W and gaps are square, of n rows at
    least; they, room (ROOM, n) and places (4, n) are worked in. False where a value is not finite.
    """
    n, top = len(d), abs(z[0])
    for j in range(n):
        top = max(top, d[j], abs(z[j]))
    if not top < np.inf:
        return False
    p, x, delta, values, column, order = room[0], room[1], room[4], room[5], places[0], places[3]
    k, turns = separate(d, z, top, room, places)
    for i in range(k):
        values[i] = root(i, k, p, x, gaps[i], delta)
    orthogonal(k, p, x, gaps, delta)
    for i in range(k, n):
        values[i] = d[column[i]] / top
    sort(order, values, n)
    for q in range(len(W)):
        for j in range(len(W)):
            W[q, j] = 0
    for q in range(n):
        i = order[q]
        d[q] = values[i] * top
        if i >= k:
            W[q, column[i]] = 1
        else:
            for j in range(k):
                W[q, column[j]] = gaps[i, j]
    turn_back(W, turns, room, places)
    return d[0] < np.inf


@inlined
def separate(d: Any, z: Any, top: Any, room: Any, places: Any) -> Any:
    """Poles p, falling, with their x: d and z over `top` without those that make no difference; how many, and turns.

    A z_j that is rounding beside d_j leaves it what it was; of two d that differ by rounding, a turn makes one z zero.
    Beside d_j and not beside `top`: rows may be of very different sizes. `column` says where each is in d, first of
    the poles and then of the values that are settled.
    """
    n, k, turns = len(d), 0, 0
    eps, least = np.finfo(d.dtype).eps, math.sqrt(math.sqrt(np.finfo(d.dtype).tiny))  # whose square is safe, squared
    p, x, c, s = room[0], room[1], room[2], room[3]
    column, one, other, order = places[0], places[1], places[2], places[3]
    settled = n
    sort(order, d, n)
    for r in range(n):
        j = order[r]
        pole, part = d[j] / top, z[j] / top
        rounding = max(eps * pole, least)
        small = abs(part) <= rounding
        if small and pole == 0:
            part, small = rounding, False  # the last pole keeps a root, which is as small
        if small:
            settled -= 1
            column[settled] = j
        elif k > 0 and p[k - 1] - pole <= rounding:
            size = math.hypot(x[k - 1], part)
            c[turns], s[turns], one[turns], other[turns] = x[k - 1] / size, part / size, column[k - 1], j
            turns += 1
            x[k - 1] = size
            settled -= 1
            column[settled] = j
        else:
            p[k], x[k], column[k] = pole, part, j
            k += 1
    return k, turns


@inlined
def turn_back(W: Any, turns: Any, room: Any, places: Any) -> None:
    """The rows of W in the coordinates from before the turns."""
    c, s, one, other = room[2], room[3], places[1], places[2]
    for t in range(turns - 1, -1, -1):
        for q in range(len(W)):
            a, b = W[q, one[t]], W[q, other[t]]
            W[q, one[t]] = c[t] * a - s[t] * b
            W[q, other[t]] = s[t] * a + c[t] * b


@inlined
def sort(order: Any, values: Any, n: Any) -> None:
    """order <- where the n values are, falling, equal ones as they come; few are out of order."""
    for i in range(n):
        j = i
        while j > 0 and values[order[j - 1]] < values[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i


@inlined
def root(i: Any, k: Any, p: Any, x: Any, gap: Any, delta: Any) -> Any:
    """The singular value next above pole i of k; gap <- p_j^2 less its square. delta is worked in."""
    origin, eps = i, np.finfo(p.dtype).eps
    squares(delta, p, k, origin)
    width = delta[i - 1]
    if i == 0:
        width = p[0] * 0
        for j in range(k):
            width += 2 * x[j] * x[j]
    low, high, mu = 0 * width, width, width / 2
    below, above, _, _ = secular(delta, x, mu, i, k)
    w, near, upper = 1 + below + above, x[i] * x[i], x[i - 1] * x[i - 1] if i > 0 else 0 * width
    rest = w + (near - upper) / mu  # without the two nearest poles, with which alone it makes the first guess
    if w < 0 and i > 0:
        origin = i - 1
        squares(delta, p, k, origin)
        low, high, mu = -mu, low, -mu
        guess = quadratic(rest, near + upper - rest * width, -upper * width)
    elif w < 0:
        low, guess = mu, near / rest
    else:
        high, guess = mu, quadratic(rest, near + upper + rest * width, near * width)
    for _ in range(100):
        if not low < guess < high:
            guess = (low + high) / 2
        if not low < guess < high or guess == mu:
            break
        mu = guess
        below, above, dbelow, dabove = secular(delta, x, mu, i, k)
        w = 1 + below + above
        if abs(w) <= eps * (1 - below + above):
            break
        if w < 0:
            low = mu
        else:
            high = mu
        to, far = delta[i] - mu, delta[i - 1] - mu
        if i == 0:
            guess = mu + to * w / (w - to * dbelow)
        else:
            both = to * far * (dbelow + dabove)
            guess = mu + quadratic(w - to * dbelow - far * dabove, (to + far) * w - both, to * far * w)
    for j in range(k):
        gap[j] = delta[j] - mu
    return math.sqrt(p[origin] * p[origin] + mu)


@inlined
def squares(delta: Any, p: Any, k: Any, origin: Any) -> None:
    """delta <- p_j^2 - p_origin^2."""
    for j in range(k):
        delta[j] = (p[j] - p[origin]) * (p[j] + p[origin])


@summed
def secular(delta: Any, x: Any, mu: Any, i: Any, k: Any) -> Any:
    """The sums of x_j^2 / (delta_j - mu) over the poles from i on, and over those before, and their derivatives."""
    zero = delta.dtype.type(0)
    below, above, dbelow, dabove = zero, zero, zero, zero
    for j in range(i):
        part = x[j] / (delta[j] - mu)
        above += x[j] * part
        dabove += part * part
    for j in range(i, k):
        part = x[j] / (delta[j] - mu)
        below += x[j] * part
        dbelow += part * part
    return below, above, dbelow, dabove


@inlined
def quadratic(c: Any, a: Any, b: Any) -> Any:
    """The root of c y^2 - a y + b = 0 that is nearer to zero where a > 0, and else the other's neighbour."""
    size = math.sqrt(abs(a * a - 4 * b * c))
    return 2 * b / (a + size) if a > 0 else (a - size) / (2 * c)


@summed
def orthogonal(k: Any, p: Any, x: Any, gaps: Any, z: Any) -> None:
    """The rows of gaps, p_j^2 - lambda_i, become the unit eigenvectors of the z whose eigenvalues are the lambda_i."""
    for j in range(k):
        z[j] = -gaps[0, j]
    for i in range(1, k):
        for j in range(i):
            z[j] *= gaps[i, j] / ((p[j] - p[i]) * (p[j] + p[i]))
        for j in range(i, k):
            z[j] *= gaps[i, j] / ((p[j] - p[i - 1]) * (p[j] + p[i - 1]))
    for j in range(k):
        z[j] = math.copysign(math.sqrt(z[j]), x[j])
    for i in range(k):
        nearest, size = min(abs(gaps[i, i]), abs(gaps[i, max(i - 1, 0)])), p[0] * 0
        for j in range(k):
            gaps[i, j] = z[j] * (nearest / gaps[i, j])  # at most 1, so that no square overflows
            size += gaps[i, j] * gaps[i, j]
        size = math.sqrt(size)
        for j in range(k):
            gaps[i, j] /= size

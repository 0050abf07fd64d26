"""Rows of ORFit with a limited memory in given orthonormal coordinates, one after another.

The coordinates are those of a block of rows (`_truncated_basis`) or, for few features, the features themselves
(`_few_coordinates`). A row costs 8 m u flops in u coordinates, with `ipca` also 2 m^2 u and the decomposition of
`_arrowhead_svd`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.limited_memory import least_share, most_error
from orfit_bench_numba._arrays import Array, Indices, Scalar
from orfit_bench_numba._arrowhead_svd import decompose
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled, inline

IPCA, LARGEST, LATEST, RANDOM = range(4)
SUMMARIES = {"ipca": IPCA, "largest": LARGEST, "latest": LATEST, "random": RANDOM}


class Memory(NamedTuple):
    """The memory in u coordinates: a column of T and a value for each direction and one more, and the change Z of w."""

    T: Array  # (u, m + 1)
    sigma: Array  # (m + 1,)
    Z: Array  # (u, c)
    errors: Array  # (m + 1,), estimated, if directions are kept by age or at random


class Rows(NamedTuple):
    """The rows in coordinates, size H, their targets, and the directions drawn for them."""

    H: Array  # (k, u)
    size: Array
    Y: Array
    drawn: Array


@cache
def find_limits(dtype: Any) -> Array:
    """Four limits for comparing rows and directions.

    These are the share of a row that a residual must exceed, `least_share`, eps, and `most_error`.
    """
    eps = float(np.finfo(dtype).eps)
    return np.array([math.sqrt(eps), least_share(dtype), eps, most_error(dtype)], dtype)


@compiled("W (W w W w) (R r R r) (W W W) r i i f")
def learn_coordinates(
    out: Array,
    memory: Memory,
    rows: Rows,
    buffers: tuple[Array, Array, Array],
    limits: Array,
    n: int,
    summary: int,
    reach: Scalar,
) -> Any:
    """Learn rows in the coordinates of a block, where each row has one coordinate more than the row before it."""
    return learn_rows(out, memory, rows, buffers, limits, n, n + 1, summary, reach)


@inline
def learn_rows(
    out: Array,
    memory: Memory,
    rows: Rows,
    buffers: tuple[Array, Array, Array],
    limits: Array,
    n: int,
    first: int,
    summary: int,
    reach: Scalar,
) -> Any:
    """Learn row by row; returns the number of rows learned, of directions kept, and of rows that changed them.

    The memory has n directions. Row i uses its first `first + i` coordinates, if there are that many. out contains the
    predictions of the weights before the rows. reach bounds the weights: a row is refused before it is infinite. For
    limits see `find_limits`. The last result is whether a direction has lost half of its digits.
    """
    T, sigma, Z, errors = memory
    H, size, Y, drawn = rows
    cut, share, eps, most = limits
    ages = summary in (LATEST, RANDOM)
    new, W, room = buffers
    (n_coordinates, width), c = T.shape, Z.shape[1]
    owner = np.empty(width, np.int64), np.empty((width + 2, width)), np.empty((width, width)), np.empty((3, width))
    order, work, V, numbers = borrowed(owner)
    a, e, (d, z, values) = room[0, :width], room[1], (numbers[0], numbers[1], numbers[2])
    old, count, changes, learned, lost = T, n, 0, len(H), False
    for i in range(len(H)):
        u = min(first + i, n_coordinates)
        x, r, span = room[2, :u], room[3, :u], room[4, :u]
        for j in range(u):
            x[j] = H[i, j]
        for q in range(c if i > 0 else 0):
            move = size[i] * 0
            for j in range(u):
                move += x[j] * Z[j, q]
            out[i, q] += size[i] * move
        project_off(r, x, old[:u], count, a, span)
        for q in range(count):  # [U Sigma, x] in coordinates of [U, r]: diag(sigma) and the column U'x
            d[q], z[q] = sigma[q], size[i] * a[q]
        noise = estimate_noise(errors, a, count, eps, x) if ages else 0.0
        project_off(r, r, old[:u], count, a, span)
        length, norm = math.sqrt(np.dot(r, r)), math.sqrt(np.dot(x, x))
        if not length > cut * norm:
            continue
        for j in range(u):
            r[j] /= length
            old[j, count] = r[j]
        d[count], z[count] = 0, size[i] * np.dot(r, x)
        for q in range(c):  # (x'r)^-1 e (eq. 3.10)
            e[q] = (Y[i, q] - out[i, q]) / z[count]
            reach += abs(e[q])
        if not (reach < np.inf and z[count] < np.inf):
            learned = i
            break
        kept = min(count + 1, width - 1)
        if summary == IPCA:
            turn = V.reshape(-1)[: (count + 1) ** 2].reshape((count + 1, count + 1))
            decompose(d[: count + 1], z[: count + 1], turn, values, work, order)
            if not sigma.dtype.type(values[0]) < np.inf:
                learned = i
                break
            for q in range(count + 1):
                for j in range(count + 1):
                    W[q, j] = turn[q, j]
            d, values = values, d
            np.dot(old[:u], W.T, new[:u])
        else:
            d[count] = z[count]
            choose_directions(order, d, count + 1, kept, summary, drawn[i], share)
            errors[count] = min(1.0, math.sqrt(noise) / length)
            lost = lost or errors[count] > most
            for q in range(kept):
                z[q] = d[order[q]]
                for j in range(u):
                    new[j, q] = old[j, order[q]]
            for q in range(kept if ages else 0):  # which are in order
                errors[q] = errors[order[q]]
            d, z = z, d
        for q in range(kept):
            sigma[q] = d[q]
        for j in range(u):
            for q in range(c):
                Z[j, q] += r[j] * e[q]
        old, new = new, old
        count, changes = kept, changes + 1
    if changes % 2:  # old is the work space, and new is T
        for j in range(n_coordinates):
            for q in range(width):
                new[j, q] = old[j, q]
    hold(owner)
    return learned, count, changes, lost


@inline
def estimate_noise(errors: Array, a: Array, count: int, eps: Scalar, x: Array) -> Any:
    """The squared error of x - T a, from rounding and from the errors of the first `count` columns of T."""
    square = eps * eps * np.dot(x, x)
    for q in range(count):
        square += (errors[q] * a[q]) * (errors[q] * a[q])
    return square


@inline
def project_off(r: Array, x: Array, T: Array, count: int, a: Array, span: Array) -> None:
    """r <- x - T a, a = T'x, for the first `count` columns of T."""
    np.dot(x, T, a)
    for q in range(count, len(a)):
        a[q] = 0
    np.dot(T, a, span)
    for j in range(len(x)):
        r[j] = x[j] - span[j]


@inline
def choose_directions(
    order: Indices, values: Array, n: int, kept: int, summary: int, drawn: Scalar, share: Scalar
) -> None:
    """Write to order which of n directions to keep, the new one last: the largest, the latest, or all but one drawn."""
    if summary == LARGEST:
        sort_descending(order, values, n, share)
        return
    dropped = 0 if summary == LATEST else int(drawn)
    for q in range(kept):
        order[q] = q + 1 if kept < n and q >= dropped else q


@inline
def sort_descending(order: Indices, values: Array, n: int, share: Scalar) -> None:
    """Write to order the positions of the n values in descending order, stable; few are out of order.

    A value goes before values below `share` times it, which are smaller by more than rounding.
    """
    for i in range(n):
        j = i
        while j > 0 and values[order[j - 1]] < share * values[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i

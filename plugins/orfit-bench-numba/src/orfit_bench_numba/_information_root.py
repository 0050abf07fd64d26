"""RLS in the square-root form, row by row with Givens rotations: R upper triangular, R'R the information.

A row x is rotated into R from the first column to the last, which leaves b with R z = b for the change z of w.
Directional forgetting subtracts (1 - ff) L x x'L / (x'L x) from L = R'R: with u = R x / |R x| the rotations that turn
(sqrt(1 - ff) u, sqrt(ff)) into (0, 1) remove it from R without cancellation (Stewart, 1979; LINPACK's dchdd).

A row takes 3 d^2 flops (7 d^2 with directional forgetting). The result is written to a second R, so that a refused row
changes nothing. R and the weights by output W (c, d) are written.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import MAX_GROWING_ERROR, steps_until_forgotten, sum_of_weights
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._precision_guard import copy, dot


def learn_root(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn rows until one is refused; returns how many were learned."""
    W = np.ascontiguousarray(s.w.T)  # w itself if it has one column
    ff, directional = p.forgetting_factor, p.forgetting == "directional"
    predictions = np.empty((0, 0), X.dtype) if out is None else out
    degraded = np.empty(1, X.dtype) if directional else s.precision_lost.reshape(1)
    before = sum_of_weights(ff, p.t - 1) if ff < 1 else 0.0
    least = math.sqrt(abs(1 - ff) * p.ridge)
    faded = max(0, steps_until_forgotten(ff, X.dtype) - p.t) if ff < 1 else len(X)
    learned = int(learn_root_rows(s.root, W, X, Y, ff, least, before, faded, directional, predictions, degraded))
    if not np.may_share_memory(W, s.w):
        s.w[...] = W.T
    return learned


@compiled("W W R R f f f i b W w")
def learn_root_rows(
    root: Array,
    W: Array,
    X: Array,
    Y: Array,
    ff: Scalar,
    least: Scalar,
    remembered: Scalar,
    faded: int,
    directional: bool,
    out: Array,
    degraded: Array,
) -> Any:
    """Learn rows one by one; directions of rows with |x| below `least` are not forgotten.

    `remembered` is the sum of the weights of the steps before, and `faded` the row by which the prior is forgotten.
    """
    (n, d), outputs, one = X.shape, len(W), type(ff)(1)
    forgets, error = not directional and ff < one, type(ff)(0)
    half, most = np.sqrt(np.finfo(X.dtype).eps), type(ff)(MAX_GROWING_ERROR)
    R, B = root, np.zeros((d, d), X.dtype)
    u, v, x, e = np.empty(d, X.dtype), np.empty(d, X.dtype), np.empty(d, X.dtype), np.empty(outputs, X.dtype)
    b, norms = np.empty((outputs, d), X.dtype), np.empty(d, X.dtype)
    learned = n
    for t in range(n):
        for k in range(outputs):
            e[k] = dot(X[t], W[k])
            if len(out):
                out[t, k] = e[k]
            e[k] = Y[t, k] - e[k]
        kept, source = one if directional else np.sqrt(ff), R
        if directional and ff != one and scale(X[t], x) >= least and project(R, x, u):
            source = B
            for i in range(d):
                copy(B[i], R[i])
            if ff < one:
                remove_direction(B, u, v, ff)
            else:  # information is added along the row
                add_direction(B, u, v, np.sqrt(ff - one))
        copy(x, X[t])
        if not rotate_row(source, B, kept, x, e, b):
            learned = t
            break
        if forgets:
            remembered = ff * remembered + one
            error = remembered * rounding_of_rows(R, B, kept, X[t])
        if not error <= most:
            learned = t
            break
        solve_upper(B, b)
        for k in range(outputs):
            for j in range(d):
                b[k, j] += W[k, j]
        if not np.isfinite(b).all():
            learned = t
            break
        for k in range(outputs if forgets else 0):
            error = max(error, rounding_of_weights(R, W[k], b[k], X[t]))
        if forgets and t >= faded:
            if t == faded:
                compute_norms(norms, R)
            error = max(error, rounding_of_columns(norms, B, kept, X[t]))
        for k in range(outputs):
            copy(W[k], b[k])
        if error > half:
            degraded[0] = 1
        R, B = B, R
    if learned % 2:  # the last R is in the second array
        for i in range(d):
            for j in range(i, d):
                root[i, j] = R[i, j]
    return learned


@inline
def scale(x: Array, unit: Array) -> Any:
    """Compute unit = x / max |x_i|; returns |x|."""
    largest = type(x[0])(0)
    for i in range(len(x)):
        largest = max(largest, abs(x[i]))
    for i in range(len(x)):
        unit[i] = x[i] / largest if largest > 0 else x[i]
    return largest * np.sqrt(dot(unit, unit))


@inline
def project(R: Array, x: Array, u: Array) -> Any:
    """Compute u = R x / |R x|; False if R x is zero."""
    largest = type(x[0])(0)
    for i in range(len(x)):
        u[i] = dot(R[i, i:], x[i:])
        largest = max(largest, abs(u[i]))
    if not 0 < largest < np.inf:
        return False
    for i in range(len(u)):
        u[i] /= largest
    norm = np.sqrt(dot(u, u))
    for i in range(len(u)):
        u[i] /= norm
    return True


@inline_reordered
def remove_direction(R: Array, u: Array, v: Array, ff: Scalar) -> None:
    """Change R so that R'R becomes R'(I - (1 - ff) u u')R."""
    d, a, share = len(u), np.sqrt(ff), np.sqrt(type(ff)(1) - ff)
    v[:] = 0
    for m in range(d):
        i = d - 1 - m
        size = np.sqrt(a * a + share * u[i] * share * u[i])
        c, s = a / size, share * u[i] / size
        a = size
        for j in range(i, d):
            moved = c * v[j] + s * R[i, j]
            R[i, j] = c * R[i, j] - s * v[j]
            v[j] = moved


@inline_reordered
def add_direction(R: Array, u: Array, v: Array, share: Scalar) -> None:
    """Change R so that R'R becomes R'(I + share^2 u u')R."""
    d, one = len(u), type(share)(1)
    v[:] = 0
    for i in range(d):
        for j in range(i, d):
            v[j] += share * u[i] * R[i, j]
    for i in range(d):
        size = np.hypot(R[i, i], v[i])
        if size > 0:
            rotate(R[i], R[i], v, i, R[i, i] / size, v[i] / size, one)


@inline
def rotate_row(R: Array, B: Array, kept: Scalar, x: Array, e: Array, b: Array) -> Any:
    """Rotate the row x with the errors e into kept R, which gives B with the right sides b; False if singular."""
    for i in range(len(x)):
        size = np.hypot(kept * R[i, i], x[i])
        if not 0 < size < np.inf:
            return False
        c, s = kept * R[i, i] / size, x[i] / size
        rotate(R[i], B[i], x, i, c, s, kept)
        B[i, i] = size
        for k in range(len(e)):
            b[k, i] = s * e[k]
            e[k] = c * e[k]
    return True


@inline
def rounding_of_rows(R: Array, B: Array, kept: Scalar, x: Array) -> Any:
    """(eps sum |x_i| / R_ii)^2 / s for the kept R, where s = 1 + x'P x is computed from B, the R after the row."""
    size, root = type(kept)(0), type(kept)(1)  # root^2 = s, the quotient of the determinants of B'B and R'R
    for i in range(len(x)):
        deviation = type(kept)(1) / (kept * R[i, i])
        size += abs(x[i]) * deviation
        root *= B[i, i] * deviation
    error = np.finfo(type(kept)).eps * size / root
    return error * error


@inline
def rounding_of_weights(R: Array, before: Array, after: Array, x: Array) -> Any:
    """The rounding error of an error y - x'w, relative to the terms of the fit x'w after the row, or to R w before it.

    R w has the size of the targets; it is computed only if the error is large compared with the fit.
    """
    terms, size, eps = type(x[0])(0), type(x[0])(0), np.finfo(x.dtype).eps
    for i in range(len(x)):
        terms += abs(x[i] * before[i])
        size += abs(x[i] * after[i])
    lost = eps * terms
    if lost == 0 or lost == np.inf:
        return lost
    if lost > np.sqrt(eps) * size:
        for i in range(len(x)):
            size = max(size, abs(dot(R[i, i:], before[i:])))
    return lost / size if size > 0 else type(x[0])(np.inf)


@inline
def compute_norms(norms: Array, R: Array) -> None:
    """The norm of each column of R; squares that overflow are computed again without."""
    norms[:] = 0
    for i in range(len(R)):
        for j in range(i, len(R)):
            norms[j] += R[i, j] * R[i, j]
    for j in range(len(R)):
        norms[j] = np.sqrt(norms[j])
        if norms[j] == np.inf:
            norms[j] = 0
            for i in range(j + 1):
                norms[j] = np.hypot(norms[j], R[i, j])


@inline
def rounding_of_columns(norms: Array, B: Array, kept: Scalar, x: Array) -> Any:
    """The largest squared rounding error of a column of B, the R after the row x, relative to B_ii.

    The norms of the columns of R become those of B.
    """
    worst, eps = type(kept)(0), np.finfo(x.dtype).eps
    for i in range(len(x)):
        norms[i] = np.hypot(kept * norms[i], x[i])
        worst = max(worst, eps * norms[i] / B[i, i])
    return worst * worst


@inline_reordered
def rotate(r: Array, turned: Array, x: Array, begin: int, c: Scalar, s: Scalar, kept: Scalar) -> None:
    """Compute turned = c kept r + s x and x <- c x - s kept r, from column `begin`."""
    c_r, s_r = c * kept, s * kept
    for j in range(begin, len(x)):
        new = c_r * r[j] + s * x[j]
        x[j] = c * x[j] - s_r * r[j]
        turned[j] = new


@inline
def solve_upper(R: Array, b: Array) -> None:
    """Compute b <- R^-1 b for each row of b."""
    d = len(R)
    for k in range(len(b)):
        for m in range(d):
            i = d - 1 - m
            b[k, i] = (b[k, i] - dot(R[i, i + 1 :], b[k, i + 1 :])) / R[i, i]

"""Rows with one output learned one by one along their residuals off a basis: `_projection` for few rows or features.

The residual r = x - U'U x is computed by a pass over the basis U (n, p), four of its rows at a time. A second pass is
omitted if the first leaves more than half of x, so that rounding along U is at most doubled. A pass costs 4 n p flops,
prediction and step 4 p.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Indices, Scalar
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._finite import NOT_FINITE, is_step_finite
from orfit_bench_numba._products import four_rows_times, row_times


@compiled("W w I b b r b r f")
def learn_row(
    basis: Array,
    w: Array,
    count: Indices,
    can_grow: bool,
    fits: bool,
    step: Array,
    bounded: bool,
    x: Array,
    y: Scalar,
) -> Any:
    """Learn a row like `learn_rows`; returns 1, or 0 if it is refused, or NOT_FINITE if x or y is not finite.

    With can_grow, a row that needs more room in the basis is refused.
    """
    new = np.empty_like(w)
    r = borrowed(new)
    f, size = predict_and_measure(w, x)
    learned = NOT_FINITE
    if size < np.inf and np.isfinite(y):
        full = can_grow and count[0] == len(basis)
        learned = learn_direction(basis, w, r, count, full, fits, step[0], bounded, x, size, y - f)
    hold(new)
    return learned


@compiled("W w I b r b R r w")
def learn_rows(
    basis: Array, w: Array, count: Indices, fits: bool, step: Array, bounded: bool, X: Array, y: Array, out: Array
) -> Any:
    """For each row: w <- w + z q with q = r/|r|, and U <- [U q] while there is room; returns how many were learned.

    z is e / |r| if rows are fitted, otherwise step e |r|. bounded: refuse a row if its product with any unit vector
    could overflow. All numbers must be finite.
    """
    new = np.empty_like(w)
    r = borrowed(new)
    learned = 0
    for i in range(len(X)):
        x = X[i]
        f, size = predict_and_measure(w, x)
        if len(out):
            out[i] = f
        here = step[min(i, len(step) - 1)]
        if learn_direction(basis, w, r, count, False, fits, here, bounded, x, size, y[i] - f) != 1:
            break
        learned += 1
    hold(new)
    return learned


@inline
def learn_direction(
    U: Array,
    w: Array,
    r: Array,
    count: Indices,
    full: bool,
    fits: bool,
    step: Scalar,
    bounded: bool,
    x: Array,
    size: Scalar,
    e: Scalar,
) -> Any:
    """Learn x, whose largest entry is size, with the error e; r is work space. Returns 1, or 0 if it is refused."""
    n = count[0]
    length = find_direction(r, x, size, U, n)
    if length == 0:
        return 1
    product = size * length  # x'q
    z = e / product if fits else step * (product * e)
    bound = size * math.sqrt(len(x)) if bounded else product
    if full or not bound < np.inf or not is_step_finite(w, z, r):
        return 0
    for j in range(len(w)):
        w[j] += z * r[j]
    if n < len(U):
        for j in range(len(w)):
            U[n, j] = r[j]
        count[0] = n + 1
    return 1


@inline
def find_direction(r: Array, x: Array, size: Scalar, U: Array, n: int) -> Any:
    """Write the direction of v - U'U v, for v = x / size and n rows of U, to r; returns the length of the residual.

    The length is 0 if x depends on these rows, that is, if the residual is at most sqrt(eps) |v|.
    """
    nothing = r.dtype.type(0)
    if size == 0:
        return nothing
    for j in range(len(x)):
        r[j] = x[j] / size  # so that no square over- or underflows
    square = sum_of_squares(r)
    project_off(r, U, n)
    left = sum_of_squares(r)
    if 4 * left < square:
        project_off(r, U, n)
        left = sum_of_squares(r)
    if not left > np.finfo(r.dtype).eps * square:
        return nothing
    length = math.sqrt(left)
    for j in range(len(r)):
        r[j] /= length
    return length


@inline
def project_off(r: Array, U: Array, n: int) -> None:
    """Compute r <- r - U'U r for n rows of U."""
    fours = n // 4 * 4
    for i in range(0, fours, 4):
        a, b, c, d = four_rows_times(U, i, r)
        for j in range(len(r)):
            r[j] -= (a * U[i, j] + b * U[i + 1, j]) + (c * U[i + 2, j] + d * U[i + 3, j])
    for i in range(fours, n):
        a = row_times(U, i, r)
        for j in range(len(r)):
            r[j] -= a * U[i, j]


@inline_reordered
def predict_and_measure(w: Array, x: Array) -> Any:
    """The prediction x'w, and the largest |x_j|, or NaN if one is not finite."""
    zero = w.dtype.type(0)
    f, size, nothing = zero, zero, zero
    for j in range(len(w)):
        f += w[j] * x[j]
        nothing += x[j] * zero
        size = max(size, abs(x[j]))
    return f, size + nothing


@inline_reordered
def sum_of_squares(r: Array) -> Any:
    """The sum of squares r'r."""
    total = r.dtype.type(0)
    for j in range(len(r)):
        total += r[j] * r[j]
    return total

"""Gradient steps, w <- w + step e x (LMS), optionally divided by eps + x'x (NLMS).

An entry costs two flops for the prediction, two for x'x and two for the step. A plain step and the prediction of the
next row share one pass, which reads both rows and w and writes w; NLMS takes two passes. The limit is the speed at
which rows are read from the cache. Whether the weights are finite is checked once, after the chunk; if they are not,
the chunk is learned again with a check in every step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import State
from orfit_bench_numba._arrays import Array, BoundRow, BoundRows, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._finite import NOT_FINITE, is_finite, is_small_step, is_step_finite
from orfit_bench_numba._gradient_outputs import learn_several_outputs
from orfit_bench_numba._normalized_step import (
    add_scaled,
    gain_and_power,
    is_divisor,
    is_exact,
    keeps_digits,
    stays_finite_scaled,
)
from orfit_bench_numba._products import add_multiple


def learn_by_gradient(s: State, X: Array, Y: Array, step: Array, eps: float | None, out: Array | None) -> int:
    """Learn rows by steps divided by eps + x'x, or not divided if eps is None; returns how many were learned."""
    eps, normalized = eps or 0.0, eps is not None
    if Y.shape[1] > 1:
        return learn_several_outputs(s.w, X, Y, step, eps, normalized, out)
    w = s.w.reshape(-1)
    if len(X) == 1:
        if out is not None:
            np.dot(X, s.w, out)
        return int(learn_row(w, step, eps, normalized, X[0], Y[0, 0]))
    predictions = np.empty(0, X.dtype) if out is None else out.reshape(-1)
    return int(learn_rows_single_output(w, step, eps, normalized, X, Y.reshape(-1), predictions))


def bind_row(s: State, step: Array, eps: float | None) -> BoundRow:
    """A function that learns one row with one output at the step size in `step` (1,): see `Kernel.bind_row`."""
    entry = learn_row.entry_point(s.w.dtype)
    return partial(entry, s.w.reshape(-1), step, float(eps or 0.0), eps is not None)


def bind_rows(s: State, step: Array, eps: float | None) -> BoundRows:
    """A function that learns rows with one output at the step size in `step` (1,): see `Kernel.bind_rows`."""
    entry, w = learn_rows_single_output.entry_point(s.w.dtype), s.w.reshape(-1)
    return partial(entry, w, step, float(eps or 0.0), eps is not None)


@compiled("w r f b r f")
def learn_row(w: Array, step: Array, eps: Scalar, normalized: bool, x: Array, y: Scalar) -> Any:
    """Learn one row; returns 1. If w would not be finite (0) or x is not finite (NOT_FINITE), nothing changes."""
    f, square = dot_products(w, x)
    return apply_row(w, step[0], eps, normalized, x, y - f, square)


@inline
def apply_row(w: Array, step: Scalar, eps: Scalar, normalized: bool, x: Array, e: Scalar, square: Scalar) -> Any:
    """Learn one row with the error e and the square x'x; same results as `learn_row`."""
    energy = eps + square if normalized else w.dtype.type(1)
    gain, tiny = e * (step / energy), least_normal(e)
    if normalized and not (is_divisor(energy, step / energy, tiny) and is_exact(gain, e, tiny)):
        gain, power = gain_and_power(x, e, step, eps)
        if not stays_finite_scaled(w, gain, x, power):
            return 0 if is_finite(x) else NOT_FINITE
        add_scaled(w, gain, x, power)
        return 1
    if not (is_small_step(gain, square) or is_step_finite(w, gain, x)):
        return 0 if is_finite(x) else NOT_FINITE
    add_multiple(w, gain, x)
    return 1


@inline
def least_normal(e: Scalar) -> Any:
    """The number, in the type of e, above which a sum of squares or a quotient did not underflow."""
    info = np.finfo(type(e))
    return info.tiny / info.eps


@inline_reordered
def dot_products(w: Array, x: Array) -> Any:
    """The products w'x and x'x."""
    f, square = w.dtype.type(0), w.dtype.type(0)
    for j in range(len(w)):
        f += w[j] * x[j]
        square += x[j] * x[j]
    return f, square


@compiled("w r f b R r w")
def learn_rows_single_output(
    w: Array, step: Array, eps: Scalar, normalized: bool, X: Array, y: Array, out: Array
) -> Any:
    """Learn row by row, with an entry of `step` per row or one for all rows; returns how many were learned.

    NOT_FINITE if X or y is not finite; then nothing has changed.
    """
    before = w.copy()
    if normalized:
        learned = take_steps(w, step, eps, normalized, X, y, out, False)
    else:
        learned = take_plain_steps(w, step, X, y, out)
    if learned == len(X) and is_finite(w):
        return len(X)
    for j in range(len(w)):
        w[j] = before[j]
    for i in range(len(X)):
        if not is_finite(X[i]):
            return NOT_FINITE
    if not is_finite(y):
        return NOT_FINITE
    return take_steps(w, step, eps, normalized, X, y, out, True)


@inline_reordered
def take_plain_steps(w: Array, step: Array, X: Array, y: Array, out: Array) -> Any:
    """Learn row by row without checks and divisions; returns the number of rows.

    The pass that changes w also predicts the next row, so that w is read once per row and rows are read evenly. All
    loops are in one function: with separate functions, 16 features took 1.6 times as long.
    """
    n, f = len(X), w.dtype.type(0)
    for j in range(len(w) if n else 0):
        f += w[j] * X[0, j]
    for i in range(n):
        if len(out):
            out[i] = f
        move = (y[i] - f) * step[min(i, len(step) - 1)]
        following, f = min(i + 1, n - 1), w.dtype.type(0)
        for j in range(len(w)):
            changed = w[j] + move * X[i, j]
            w[j] = changed
            f += changed * X[following, j]
    return n


@inline
def take_steps(
    w: Array, step: Array, eps: Scalar, normalized: bool, X: Array, y: Array, out: Array, careful: bool
) -> Any:
    """Learn row by row; with `careful`, stop before w would not be finite. Returns the number of rows learned."""
    for i in range(len(X)):
        x, here = X[i], step[min(i, len(step) - 1)]
        f, square = dot_products(w, x)
        if len(out):
            out[i] = f
        e, energy = y[i] - f, eps + square if normalized else w.dtype.type(1)
        share, tiny = here / energy, least_normal(w[0])
        gain = e * share
        # an infinite gain makes w infinite; the chunk is then learned again with `careful`
        if careful or not (is_divisor(energy, share, tiny) and keeps_digits(gain, e, tiny)):
            if apply_row(w, here, eps, normalized, x, e, square) != 1:
                return i
        else:
            add_multiple(w, gain, x)
    return len(X)

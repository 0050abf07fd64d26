"""Gradient steps, w <- w + step e x (LMS), optionally divided by eps + x'x (NLMS).

Two flops an entry for the prediction, two for x'x and two for the step; x and w are read and w is written, in two
passes. The speed at which rows arrive from the cache is the limit. Whether the weights are finite is checked once,
after the chunk; if they are not, the chunk is learned again with a check of every step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered

NOT_FINITE = -1
"""What `learn` returns for a chunk with a row that is not finite: one such number makes all weights so."""


def learn_by_gradient(s: Any, X: Array, Y: Array, step: Array, eps: float | None, out: Array | None) -> int:
    """Learn rows by steps divided by eps + x'x, or not divided if eps is None; returns how many were learned."""
    eps, normalized = eps or 0.0, eps is not None
    if Y.shape[1] > 1:
        return learn_several_outputs(s.w, X, Y, step, eps, normalized, out)
    w = s.w.reshape(-1)
    if len(X) == 1:
        if out is not None:
            np.dot(X, s.w, out)
        return int(learn_row(w, step[0], eps, normalized, X[0], Y[0, 0]))
    predictions = np.empty(0, X.dtype) if out is None else out.reshape(-1)
    return int(learn_rows_single_output(w, step, eps, normalized, X, Y.reshape(-1), predictions))


def learn_several_outputs(
    w: Array, X: Array, Y: Array, step: Array, eps: float, normalized: bool, out: Array | None
) -> int:
    """The same for w (p, c) with c > 1."""
    info, predictions, before = np.finfo(X.dtype), np.empty((0, 0), X.dtype) if out is None else out, w.copy()
    how = (step, eps, info.tiny / info.eps, normalized, predictions)
    if learn_rows(w, X, Y, *how, False) == len(X):
        return len(X)
    w[...] = before
    if not np.isfinite(X).all():
        return NOT_FINITE
    return int(learn_rows(w, X, Y, *how, True))


def bind_row(s: Any, step: float, eps: float | None) -> Callable[[Array, float], int]:
    """A function that learns one row with one output at this step size: see `Kernel.bind_row`."""
    entry = learn_row.entry_point(s.w.dtype)
    return partial(entry, s.w.reshape(-1), float(step), float(eps or 0.0), eps is not None)


def bind_rows(s: Any, step: float, eps: float | None) -> Callable[[Array, Array, Array], int]:
    """A function that learns rows with one output at this step size: see `Kernel.bind_rows`."""
    entry, w = learn_rows_single_output.entry_point(s.w.dtype), s.w.reshape(-1)
    return partial(entry, w, np.full(1, step, w.dtype), float(eps or 0.0), eps is not None)


@compiled("w f f b r f")
def learn_row(w: Array, step: Scalar, eps: Scalar, normalized: bool, x: Array, y: Scalar) -> Any:
    """Learn one row: returns 1, 0 if w would not be finite, or NOT_FINITE if x is not; then nothing changes."""
    f, square = dot_products(w, x)
    return apply_row(w, step, eps, normalized, x, y - f, square)


@inline
def apply_row(w: Array, step: Scalar, eps: Scalar, normalized: bool, x: Array, e: Scalar, square: Scalar) -> Any:
    """Learn one row with the error e and square x'x; returns as `learn_row`."""
    energy, size, one = w.dtype.type(1), w.dtype.type(1), w.dtype.type(1)
    if normalized:
        info = np.finfo(type(e))
        energy, size = normalizer(x, square, eps, info.tiny / info.eps)
    e = e / size * (step / energy)
    if size != one:
        scaled = np.empty(len(w), w.dtype)
        divide_into(scaled, x, size)
        x = scaled
    if not is_step_finite(w, e, x):
        return 0 if is_finite(x) else NOT_FINITE
    add_multiple(w, e, x)
    return 1


@inline_reordered
def dot_products(w: Array, x: Array) -> Any:
    """w'x and x'x."""
    f, square = w.dtype.type(0), w.dtype.type(0)
    for j in range(len(w)):
        f += w[j] * x[j]
        square += x[j] * x[j]
    return f, square


@compiled("w r f b R r w")
def learn_rows_single_output(
    w: Array, step: Array, eps: Scalar, normalized: bool, X: Array, y: Array, out: Array
) -> Any:
    """Learn row by row, with an entry of `step` for each or one for all; returns how many were learned.

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
    """Learn row by row without a check and a division; returns the number of rows.

    All loops are in one function: with a function for each, 16 features took 1.6 times as long.
    """
    for i in range(len(X)):
        f = w.dtype.type(0)
        for j in range(len(w)):
            f += w[j] * X[i, j]
        if len(out):
            out[i] = f
        move = (y[i] - f) * step[min(i, len(step) - 1)]
        for j in range(len(w)):
            w[j] += move * X[i, j]
    return len(X)


@inline
def take_steps(
    w: Array, step: Array, eps: Scalar, normalized: bool, X: Array, y: Array, out: Array, careful: bool
) -> Any:
    """Learn row by row; with `careful`, stop before w would not be finite. Returns the number of rows learned."""
    for i in range(len(X)):
        x, here, one = X[i], step[min(i, len(step) - 1)], w.dtype.type(1)
        f, square = dot_products(w, x)
        if len(out):
            out[i] = f
        e, energy, size = y[i] - f, one, one
        if normalized:
            info = np.finfo(type(e))
            energy, size = normalizer(x, square, eps, info.tiny / info.eps)
        if careful or size != one:
            if apply_row(w, here, eps, normalized, x, e, square) != 1:
                return i
        else:
            add_multiple(w, e * (here / energy), x)
    return len(X)


@inline
def add_multiple(w: Array, a: Scalar, x: Array) -> None:
    """w <- w + a x."""
    for j in range(len(w)):
        w[j] += a * x[j]


@compiled("W R R r f f b W b")
def learn_rows(
    w: Array, X: Array, Y: Array, step: Array, eps: Scalar, tiny: Scalar, normalized: bool, out: Array, careful: bool
) -> Any:
    """Learn row by row; returns how many were learned. With `careful`, stops before w would not be finite.

    Without it, returns NOT_FINITE if w is not finite at the end.
    """
    return take_steps_of_outputs(w, X, Y, step, eps, tiny, normalized, out, careful)


@inline
def take_steps_of_outputs(
    w: Array, X: Array, Y: Array, step: Array, eps: Scalar, tiny: Scalar, normalized: bool, out: Array, careful: bool
) -> Any:
    """See `learn_rows`."""
    n, p = X.shape
    c = w.shape[1]
    e, scaled = np.empty(c, w.dtype), np.empty(p, w.dtype)
    for i in range(n):
        x, gain, size = X[i], step[i], w.dtype.type(1)
        np.dot(x, w, e)
        for k in range(c if len(out) else 0):
            out[i, k] = e[k]
        if normalized:
            energy, size = normalizer(x, np.dot(x, x), eps, tiny)
            gain /= energy
            if size != 1:
                divide_into(scaled, x, size)
                x = scaled
        for k in range(c):
            e[k] = (Y[i, k] - e[k]) / size * gain
        if careful:
            for k in range(c):
                if not stays_finite(w[:, k], w.dtype.type(1), x, e[k]):
                    return i
        for j in range(p):
            for k in range(c):
                w[j, k] += x[j] * e[k]
    return n if careful or is_finite(w.reshape(-1)) else NOT_FINITE


@inline_reordered
def is_step_finite(w: Array, a: Scalar, x: Array) -> Any:
    """Whether all of w + a x is finite, without a branch."""
    nothing = w.dtype.type(0)
    for j in range(len(w)):
        nothing += (w[j] + a * x[j]) * 0
    return nothing == 0


@inline_reordered
def is_finite(w: Array) -> Any:
    """Whether all of w is finite."""
    nothing = w.dtype.type(0)
    for j in range(len(w)):
        nothing += w[j] * 0
    return nothing == 0


@inline
def normalizer(x: Array, square: Scalar, eps: Scalar, tiny: Scalar) -> Any:
    """(eps + x'x) / size^2 and size: 1, or max |x_j| if the square overflows or underflows.

    Infinite for a row of zeros, which changes nothing.
    """
    one = x.dtype.type(1)
    energy = eps + square
    if tiny < energy < np.inf:
        return energy, one
    size = x.dtype.type(0)
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    if size == 0:
        return one / size, one
    energy = eps / size / size
    for j in range(len(x)):
        energy += (x[j] / size) * (x[j] / size)
    return energy, size


@inline
def divide_into(scaled: Array, x: Array, size: Scalar) -> None:
    """scaled <- x / size."""
    for j in range(len(x)):
        scaled[j] = x[j] / size


@inline
def stays_finite(w: Array, keep: Scalar, x: Array, a: Scalar) -> Any:
    """Whether all of keep w + a x is finite."""
    finite = True
    for j in range(len(w)):
        finite &= np.isfinite(keep * w[j] + a * x[j])
    return finite


@compiled("W R R f")
def step_gradient(w: Array, J: Array, E: Array, step: Scalar) -> Any:
    """w <- w + step J'E; if that is not finite, return False and change nothing."""
    return apply_move(w, np.dot(J.T, E), step)


@compiled("W R R f f f")
def step_pseudo_inverse(w: Array, J: Array, E: Array, step: Scalar, eps: Scalar, cut: Scalar) -> Any:
    """w <- w + step J'(J J' + eps I)^+ E by the SVD of J; singular values up to `cut` of the largest count as zero."""
    size = np.abs(J).max()  # after division, no square of a singular value overflows
    if size == 0:
        return True
    V, sigma, Wt = np.linalg.svd(J / size, False)
    z = np.dot(V.T, E / size)
    for k in range(len(sigma)):
        gain = J.dtype.type(0)
        if sigma[k] > cut * sigma[0]:
            gain = 1 / (sigma[k] + eps / size / size / sigma[k])
        for j in range(z.shape[1]):
            z[k, j] *= gain
    return apply_move(w, np.dot(Wt.T, z), step)


@inline
def apply_move(w: Array, move: Array, step: Scalar) -> Any:
    """w <- w + step move; if that is not finite, return False and change nothing."""
    for i in range(len(w)):
        for k in range(w.shape[1]):
            if not np.isfinite(w[i, k] + step * move[i, k]):
                return False
    for i in range(len(w)):
        for k in range(w.shape[1]):
            w[i, k] += step * move[i, k]
    return True

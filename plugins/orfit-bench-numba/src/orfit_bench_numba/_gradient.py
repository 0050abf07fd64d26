"""Gradient steps, w <- w + step e x (LMS), optionally divided by eps + x'x (NLMS).

Two flops an entry for the prediction and two for the step; x and w are read and w is written. With one output a row
takes one pass: the step along it also computes w'x and x'x of the next row. The speed at which rows arrive from the
cache is the limit.
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
    """Learn rows by steps divided by eps + x'x, or not divided if eps is None; returns how many were learned.

    Whether the weights are finite is checked once, after the chunk; if they are not, the chunk is learned again with a
    check of every step.
    """
    info = np.finfo(X.dtype)
    if len(X) == 1 and Y.shape[1] == 1:
        if out is not None:
            np.dot(X, s.w, out)
        return int(learn_row(s.w.reshape(-1), step[0], eps or 0.0, eps is not None, X[0], Y[0, 0]))
    w, predictions, learn = s.w, np.empty((0, 0), X.dtype) if out is None else out, learn_rows
    if Y.shape[1] == 1:
        w, Y, predictions, learn = w.reshape(-1), Y.reshape(-1), predictions.reshape(-1), learn_rows_single_output
    how = (step, eps or 0.0, info.tiny / info.eps, eps is not None, predictions)
    before = w.copy()
    if len(X) > 1:
        if learn(w, X, Y, *how, False) == len(X):
            return len(X)
        w[...] = before
    learned = int(learn(w, X, Y, *how, True))
    if learned < len(X) and not np.isfinite(X).all():
        w[...] = before
        return NOT_FINITE
    return learned


def bind_row(s: Any, step: float, eps: float | None) -> Callable[[Array, float], int]:
    """A function that learns one row with one output at this step size: see `Kernel.bind_row`."""
    entry = learn_row.entry_point(s.w.dtype)
    return partial(entry, s.w.reshape(-1), float(step), float(eps or 0.0), eps is not None)


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
    for j in range(len(w)):
        w[j] += e * x[j]
    return 1


@inline_reordered
def dot_products(w: Array, x: Array) -> Any:
    """w'x and x'x."""
    f, square = w.dtype.type(0), w.dtype.type(0)
    for j in range(len(w)):
        f += w[j] * x[j]
        square += x[j] * x[j]
    return f, square


@compiled("w R r r f f b w b")
def learn_rows_single_output(
    w: Array, X: Array, y: Array, step: Array, eps: Scalar, tiny: Scalar, normalized: bool, out: Array, careful: bool
) -> Any:
    """As `learn_rows`, for one output."""
    n, p = X.shape
    scaled = np.zeros(p, w.dtype)
    f, square = step_and_predict(w, w.dtype.type(0), scaled, X[0])
    for i in range(n):
        x, e, gain = X[i], y[i] - f, step[i]
        if len(out):
            out[i] = f
        if normalized:
            energy, size = normalizer(x, square, eps, tiny)
            e, gain = e / size, gain / energy
            if size != 1:
                divide_into(scaled, x, size)
                x = scaled
        if careful and not stays_finite(w, w.dtype.type(1), x, e * gain):
            return i
        f, square = step_and_predict(w, e * gain, x, X[min(i + 1, n - 1)])
    return n if careful or is_finite(w) else NOT_FINITE


@compiled("W R R r f f b W b")
def learn_rows(
    w: Array, X: Array, Y: Array, step: Array, eps: Scalar, tiny: Scalar, normalized: bool, out: Array, careful: bool
) -> Any:
    """Learn row by row; returns how many were learned. With `careful`, stops before w would not be finite.

    Without it, returns NOT_FINITE if w is not finite at the end.
    """
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
def step_and_predict(w: Array, a: Scalar, x: Array, then: Array) -> Any:
    """w <- w + a x; returns w'x and x'x of the next row, `then`."""
    f, square = w.dtype.type(0), w.dtype.type(0)
    for j in range(len(w)):
        w[j] += a * x[j]
        f += w[j] * then[j]
        square += then[j] * then[j]
    return f, square


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
        z[k] *= gain
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

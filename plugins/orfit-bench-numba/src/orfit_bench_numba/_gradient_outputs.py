"""Gradient steps with several outputs, and what divides the steps of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._finite import NOT_FINITE, is_finite, stays_finite


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

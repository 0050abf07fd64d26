"""Gradient steps with several outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._finite import NOT_FINITE, is_finite, is_step_finite
from orfit_bench_numba._normalized_step import is_divisor, is_exact, step_outputs_by_exponents


def learn_several_outputs(
    w: Array, X: Array, Y: Array, step: Array, eps: float, normalized: bool, out: Array | None
) -> int:
    """Learn rows by gradient steps for w (p, c) with c > 1; returns how many were learned."""
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

    Without `careful`, returns NOT_FINITE if w is not finite at the end.
    """
    return take_steps_of_outputs(w, X, Y, step, eps, tiny, normalized, out, careful)


@inline
def take_steps_of_outputs(
    w: Array, X: Array, Y: Array, step: Array, eps: Scalar, tiny: Scalar, normalized: bool, out: Array, careful: bool
) -> Any:
    """See `learn_rows`."""
    n, c = len(X), w.shape[1]
    e = np.empty(c, w.dtype)
    for i in range(n):
        x = X[i]
        np.dot(x, w, e)
        for k in range(c if len(out) else 0):
            out[i, k] = e[k]
        for k in range(c):
            e[k] = Y[i, k] - e[k]
        if not step_outputs(w, x, e, step[i], eps, tiny, normalized, careful):
            return i
    return n if careful or is_finite(w.reshape(-1)) else NOT_FINITE


@inline
def step_outputs(
    w: Array, x: Array, e: Array, step: Scalar, eps: Scalar, tiny: Scalar, normalized: bool, careful: bool
) -> Any:
    """Take one step for the errors e (c,), which are overwritten; if it is refused, change nothing and return False.

    With `careful`, or if quotients over- or underflow, a step is refused if w would not be finite.
    """
    share, exact = step, True
    if normalized:
        energy = eps + np.dot(x, x)
        share /= energy
        exact = is_divisor(energy, share, tiny)
        for k in range(len(e)):
            exact &= is_exact(e[k] * share, e[k], tiny)
    if not exact:
        return step_outputs_by_exponents(w, x, e, step, eps)
    for k in range(len(e)):
        e[k] *= share
    for k in range(len(e) if careful else 0):
        if not is_step_finite(w[:, k], e[k], x):
            return False
    for j in range(len(x)):
        for k in range(len(e)):
            w[j, k] += x[j] * e[k]
    return True

"""Gradient steps for the gradients J (q, p) and errors E (q, r) of a block of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._gradient_outputs import step_outputs


@compiled("W R R f")
def step_gradient(w: Array, J: Array, E: Array, step: Scalar) -> Any:
    """w <- w + step J'E; if that is not finite, return False and change nothing."""
    return apply_move(w, np.dot(J.T, E), step)


@compiled("W R R f f f")
def step_row(w: Array, J: Array, E: Array, step: Scalar, eps: Scalar, tiny: Scalar) -> Any:
    """w <- w + step e x / (eps + x'x) for one row; if that is not finite, return False and change nothing."""
    return step_outputs(w, J[0], E[0].copy(), step, eps, tiny, True, True)


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

"""Gradient projection, layer by layer (survey, (GP)): step off the span of the layer's past inputs.

A layer with n inputs, m outputs and k directions costs 8 k n + 2 n m flops a row for the projected step, since Delta_l
is the layer's input a times a row, and 8 k n for the new direction. Writes the weights and the bases.
"""

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.layers import layer_fields, layer_matrices, project_off, propagated_errors
from orfit_bench.kernels.linalg import RENEWAL_PERIOD
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._truncated_basis import reorthonormalize


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """Theta_l <- Theta_l + step (I - U_l'U_l) Delta_l, Delta_l = a e' the layer's part of J'E."""
    w, step = s.w.copy(), p.step_size[0]
    parts = layer_matrices(w, p.shapes), layer_matrices(J.T @ E, p.shapes), layer_fields(s, "basis", p), p.inputs
    for Theta, Delta, basis, a in zip(*parts, strict=True):
        rest, e = project_off(basis[: count_rows(basis)], a.T), propagated_errors(a[0], Delta)
        Theta += rest @ (step * e)
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    return True


def store(s: Any, J: Any, p: Any) -> None:
    """Add the input a = p.inputs[l] of every layer after the step to its basis U_l."""
    limited = hasattr(s, "singular_values_1")
    values = layer_fields(s, "singular_values", p) if limited else [None] * len(p.inputs)
    for basis, sigma, a in zip(layer_fields(s, "basis", p), values, p.inputs, strict=True):
        if not np.isfinite(np.abs(a).max() * a.shape[1] ** 0.5):
            continue  # then the next step is not finite either, or the previous layer is constant there
        U, Q = basis[: count_rows(basis)], np.empty_like(a)
        R = np.array([[new_direction(U, a[0], Q[0])]])
        if not R.any():
            Q, R = Q[:0], R[:0]
        if sigma is None:
            basis[len(U) : len(U) + len(Q)] = Q
        else:
            keep_leading(basis, sigma, U, Q, U @ a.T, R, p.t)


@compiled("W")
def count_rows(basis: Array) -> Any:
    """The number of rows before the first one of zeros."""
    for i in range(len(basis)):
        if not np.any(basis[i]):
            return i
    return len(basis)


@compiled("W r w")
def new_direction(U: Array, a: Array, q: Array) -> Any:
    """The unit q with a - U'U a = r q, projected twice; returns r, and 0 where a depends on the rows of U."""
    size, zero = np.abs(a).max(), U.dtype.type(0)
    if not size > 0:
        return zero
    for j in range(len(a)):
        q[j] = a[j] / size  # so that no square over- or underflows
    norm = math.sqrt(np.dot(q, q))
    if len(U):
        for _ in range(2):
            q -= np.dot(U.T, np.dot(U, q))
    residual = math.sqrt(np.dot(q, q))
    if not residual > math.sqrt(np.finfo(U.dtype).eps) * norm:
        return zero
    q /= residual
    return np.dot(q, a)


def keep_leading(basis: Array, sigma: Array, U: Array, Q: Array, C: Array, R: Array, t: int) -> None:
    """U, Sigma <- the first `rank` singular vectors and values of [Sigma U; a], a = C'U + R'Q."""
    n, k = len(U), len(U) + len(Q)
    M = np.vstack([np.column_stack([np.diag(sigma[:n]), C]), np.column_stack([np.zeros((len(Q), n)), R])])
    V, values, _ = np.linalg.svd(M.astype(basis.dtype), full_matrices=False)
    m = min(k, len(basis))
    basis[:m], sigma[:m] = V[:, :m].T @ np.vstack([U, Q]), values[:m]
    if t % RENEWAL_PERIOD == 0:
        reorthonormalize(basis[:m])

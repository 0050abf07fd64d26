"""Parts of a step of a Kalman filter with a moving state: the prediction of P, and the correction by a row.

g and h are the diagonals of a transition and a process noise that are not matrices. N is the predicted covariance if
one of them is a matrix; otherwise it is diag(g) P diag(g) + diag(h) and is not formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._covariance_row import multiply_symmetric
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._products import multiply
from orfit_bench_numba._symmetric import allocate_tile, mirror_lower, multiply_both_sides


@inline
def entry(values: Array, t: int) -> Any:
    """The entry for row t, or the only entry."""
    return values[t if len(values) > 1 else 0]


@inline
def predict_mean(A: Array, W: Array, F: Array, g: Array) -> None:
    """Compute A <- W F', the predicted means by output; F of size 0 means diag(g)."""
    for k in range(len(W)):
        if len(F):
            multiply(F, W[k], A[k])
        else:
            for j in range(len(g)):
                A[k, j] = W[k, j] * g[j]


@inline
def add_control(A: Array, U: Array) -> None:
    """Compute A <- A + U."""
    for k in range(len(A)):
        for j in range(A.shape[1]):
            A[k, j] += U[k, j]


@inline
def multiply_predicted(
    u: Array, diagonal: Array, P: Array, N: Array, x: Array, g: Array, h: Array, v: Array, by_matrix: bool
) -> Any:
    """Compute u <- M x and the diagonal of the predicted covariance M; returns the trace, and if M is finite.

    M is N, or diag(g) P diag(g) + diag(h). v is work space.
    """
    trace, widest = P.dtype.type(0), P.dtype.type(0)
    for j in range(len(x)):
        v[j] = x[j] if by_matrix else g[j] * x[j]
    multiply_symmetric(N if by_matrix else P, v, u)
    for j in range(len(x)):
        if by_matrix:
            diagonal[j] = N[j, j]
        else:
            u[j] = g[j] * u[j] + h[j] * x[j]
            diagonal[j] = P[j, j] * (g[j] * g[j]) + h[j]
        trace += abs(diagonal[j])
        widest = max(widest, abs(diagonal[j]))
    finite = widest < np.inf and not np.isnan(trace) and (not by_matrix or is_finite(N.reshape(-1)))
    return trace, finite


@inline
def include_terms(diagonal: Array, F: Array, P: Array, v: Array) -> Any:
    """Raise the diagonal of F P F' to the variances of the terms F_ik P_kl of its sums; returns its trace.

    v is work space.
    """
    trace = P.dtype.type(0)
    for k in range(len(F)):
        v[k] = abs(P[k, k])
    for i in range(len(F)):
        diagonal[i] = max(diagonal[i], dot_of_squares(F[i], v))
        trace += abs(diagonal[i])
    return trace


@inline_reordered
def dot_of_squares(f: Array, v: Array) -> Any:
    """The sum over k of f_k^2 v_k."""
    total = f.dtype.type(0)
    for k in range(len(f)):
        total += f[k] * f[k] * v[k]
    return total


@inline
def correct_covariance(P: Array, N: Array, v: Array, g: Array, h: Array, by_matrix: bool) -> None:
    """Compute P <- M - v v' for the predicted covariance M of `multiply_predicted`."""
    for i in range(len(v)):
        v_i, g_i = v[i], g[i]
        if by_matrix:
            for j in range(len(v)):
                P[i, j] = N[i, j] - v_i * v[j]
        else:
            for j in range(len(v)):
                P[i, j] = P[i, j] * (g_i * g[j]) - v_i * v[j]
            P[i, i] += h[i]


@inline
def record_prediction(
    m: Array, record: Array, A: Array, P: Array, N: Array, g: Array, h: Array, by_matrix: bool
) -> None:
    """Copy the predicted means A' and the covariance M of `multiply_predicted`."""
    for i in range(len(g)):
        for k in range(len(A)):
            m[i, k] = A[k, i]
        for j in range(len(g)):
            record[i, j] = N[i, j] if by_matrix else P[i, j] * (g[i] * g[j])
        if not by_matrix:
            record[i, i] += h[i]


@inline
def record_correction(m: Array, record: Array, W: Array, P: Array) -> None:
    """Copy the means W' and the covariance P."""
    for i in range(len(P)):
        for k in range(len(W)):
            m[i, k] = W[k, i]
        for j in range(len(P)):
            record[i, j] = P[i, j]


@compiled("W R R R")
def predict_covariance(N: Array, P: Array, F: Array, Q: Array) -> None:
    """Compute N <- F P F' + Q; F of size 0 means the identity, and Q of size 0 means zero."""
    one, zero, tile = np.ones(len(P), P.dtype), np.zeros(len(P), P.dtype), allocate_tile(len(P), P)
    predict_into(N, P, one, zero, F, Q, tile)


@inline
def predict_into(N: Array, P: Array, g: Array, h: Array, F: Array, Q: Array, tile: Array) -> None:
    """Compute N <- F P F' + Q; F of size 0 means diag(g), and Q of size 0 means diag(h)."""
    if len(F):
        multiply_both_sides(F, P, N, tile)
    for i in range(len(P)):
        if len(F) == 0:
            for j in range(i + 1):
                N[i, j] = P[i, j] * (g[i] * g[j])
        if len(Q):
            for j in range(i + 1):
                N[i, j] += Q[i, j]
        else:
            N[i, i] += h[i]
    mirror_lower(N)


@inline_reordered
def process_noise_along(Q: Array, h: Array, x: Array) -> Any:
    """The variance x'Q x; Q of size 0 means diag(h)."""
    total = x.dtype.type(0)
    for i in range(len(x)):
        along = h[i] * x[i]
        for j in range(len(Q)):
            along += Q[i, j] * x[j]
        total += along * x[i]
    return total


@inline
def fill_diagonal(g: Array, values: Array, used: bool, other: Scalar) -> None:
    """Fill g with values (one, or one per entry of g) if they are used and given, otherwise with `other`."""
    for j in range(len(g)):
        g[j] = entry(values, j) if used and len(values) else other

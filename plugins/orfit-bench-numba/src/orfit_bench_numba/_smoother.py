"""The backward pass of the Rauch-Tung-Striebel smoother: 11 d^3 flops per step, near the rate of matrix products.

F P takes 2 d^3, the gain L 2 d^3, I - L F 2 d^3, three Cholesky factors 1/3 d^3 each, two products with them, and one
triangle of the squares of these, 1 d^3 each. Writes m and P; allocates five arrays of shape (d, d) once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from orfit_bench.kernels.fleets import diagonals
from orfit_bench.kernels.guards import rounding_bound
from orfit_bench.kernels.linalg import root_of
from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._cholesky import factor, solve_lower, solve_upper
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._small_smoother import smooth_small, weighted_sum_of_squares
from orfit_bench_numba._symmetric import copy_lower_to_upper, mirror_lower

MAX_SMALL = 48
"""Largest size of a state for which a compiled loop over the steps is faster than calls for each step."""


def rts_smooth(
    F: Sequence[Array],
    m_pred: Array,
    P_pred: Array,
    m: Array,
    P: Array,
    Q: Sequence[Array | None] | None = None,
    scale: Array | None = None,
) -> float:
    """Compute m[j-1] += L (m[j] - m_pred[j]), and P likewise, from the last step j backwards.

    In the survey, theta_(j-1|n) = theta_(j-1|j-1) + L (theta_(j|n) - theta_(j|j-1)) with
    L = Sigma_(j-1|j-1) A_j' Sigma_(j|j-1)^-1. Here L = H D with D = diag(unit). P becomes a sum of squares, as in the
    reference. `Q`, `scale` and the result are also as in the reference.
    """
    rests, eps = find_rests(F, P_pred, P), float(np.finfo(P.dtype).eps)
    if scale is None:
        scale = diagonals(P_pred)[~rests][np.cumsum(~rests) - 1]
    largest = np.zeros(1, P.dtype)
    H, C, G, E, rest = (np.empty(P.shape[1:], P.dtype) for _ in range(5))
    unit, x = np.empty(P.shape[1], P.dtype), np.random.default_rng(0).standard_normal((P.shape[1],)).astype(P.dtype)
    small = P.shape[1] <= MAX_SMALL
    least = 10 * rounding_bound(P[0]) if len(P) else 0.0
    transitions, noises = (stack(of, P) if small else P[:0] for of in (F, Q or []))
    arrays, j, rested = (
        (transitions, noises, m_pred, P_pred, np.ascontiguousarray(scale)),
        len(F),
        rests.astype(P.dtype),
    )
    with limit_blas_threads(6.0 * P.size * P.shape[1], P.shape[1]):
        while (j := j - 1) > 0:
            if small:
                j = int(smooth_small(m, P, *arrays, rested, j, least, largest))
                if not j:
                    break
            if rests[j]:  # the same state, so the same mean and covariance
                m[j - 1], P[j - 1] = m[j] - (m_pred[j] - m[j - 1]), P[j]  # except for the control
                continue
            np.dot(F[j], P[j - 1], out=G)
            scale_to_unit(C, unit, P_pred[j], np.ascontiguousarray(F[j]), scale[j - 1].copy())
            largest[0] = max(largest[0], solve_gain(G, C, unit, P_pred[j], x))
            H[...] = G.T
            m[j - 1] += H @ (unit[:, None] * (m[j] - m_pred[j]))
            scale_sum(C, P[j], P[:0, 0] if Q is None or Q[j] is None else np.ascontiguousarray(Q[j]), unit)
            np.dot(np.multiply(H, unit, out=E), F[j], out=rest)
            np.negative(rest, out=rest)
            rest.flat[:: len(rest) + 1] += 1  # I - L F
            sum_of_squares(P[j - 1], multiply_by_root(rest, P[j - 1], E), multiply_by_root(H, C, E))
    return eps * float(largest[0])


def stack(matrices: Sequence[Array | None], P: Array) -> Array:
    """The matrices of the moves (n, d, d), where None means zero; the first is not needed.

    The result has shape (1, d, d) if all except the first are the same object, and (0, d, d) if they are None.
    """
    first = matrices[1] if len(matrices) > 1 else None
    if all(A is first for A in matrices[1:]):
        return P[:0] if first is None else first[None]
    return np.stack([np.zeros_like(P[0]) if A is None else A for A in matrices])


def find_rests(F: Sequence[Array], P_pred: Array, P: Array) -> NDArray[np.bool_]:
    """For each step, whether the state did not move before it and nothing was added to its covariance."""
    rests = np.zeros(len(F), bool)
    before, after = diagonals(P)[:-1], diagonals(P_pred)[1:]
    equal = np.flatnonzero(before[:, 0] == after[:, 0])  # few steps if the state moves
    equal = equal[(before[equal] == after[equal]).all(axis=1)]
    for j in (equal + 1).tolist():
        rests[j] = np.array_equal(P_pred[j], P[j - 1]) and np.array_equal(F[j], np.eye(len(F[j])))
    return rests


@compiled("W w R R r")
def scale_to_unit(C: Array, unit: Array, P: Array, F: Array, scale: Array) -> None:
    """Compute C <- D P D with D = diag(unit), where unit is 1 / deviation, or 0 for zero.

    The deviation is the larger of that of P and that of F diag(scale) F', the terms from which P was computed; if their
    difference is small, their rounding must not count as variance.
    """
    for i in range(len(P)):
        most = max(P[i, i], weighted_sum_of_squares(F[i], scale))
        unit[i] = 1 / np.sqrt(most) if most > 0 else most * 0
    for i in range(len(P)):
        for j in range(len(P)):
            C[i, j] = P[i, j] * unit[j] * unit[i]


def solve_gain(G: Array, C: Array, unit: Array, P: Array, x: Array) -> float:
    """Compute G <- C^-1 D G with C = D P D, or C^+ D G if the variance of a direction is only rounding.

    Returns an estimate of the largest eigenvalue of C^-1. Overwrites C; for x see `least_eigenvalue`.
    """
    G *= unit[:, None]
    smallest = least_eigenvalue(C, x, 10 * rounding_bound(P)) if factor(C) else 0.0
    if smallest > 10 * rounding_bound(P):
        solve_lower(C, G)
        solve_upper(C, G)
        return 1 / smallest
    values, W = np.linalg.eigh(unit[:, None] * P * unit)
    unknown = values > rounding_bound(P)
    G[...] = W[:, unknown] @ (W[:, unknown].T @ G / values[unknown][:, None])
    return float(1 / values[unknown].min(initial=1))


@compiled("W R R r")
def scale_sum(C: Array, P: Array, Q: Array, unit: Array) -> None:
    """Compute C <- D (P + Q) D; Q of size 0 means zero."""
    for i in range(len(P)):
        for j in range(i + 1):
            C[i, j] = (P[i, j] + Q[i, j] if len(Q) else P[i, j]) * unit[j] * unit[i]
    mirror_lower(C)


def least_eigenvalue(C: Array, x: Array, least: float) -> float:
    """Estimate the smallest eigenvalue of the matrix A with the Cholesky factor C, for a normally distributed x.

    1 / |A^-1 x| takes a tenth of the time of LAPACK's estimate, and in one of a thousand cases is a thousand times too
    large. It is therefore used only if it is far above `least`.
    """
    potrs, pocon = get_lapack_funcs(("potrs", "pocon"), (C,))
    about = 1 / float(np.linalg.norm(potrs(C.T, x, lower=0)[0]))
    return about if about > 1e4 * least else float(pocon(C.T, 1)[0])  # at most two or three times too large


def multiply_by_root(A: Array, P: Array, work: Array) -> Array:
    """The product A S with S S' = P; overwrites A and the work space (d, d)."""
    work[...] = P
    (trmm,) = get_blas_funcs(("trmm",), (P,))
    if not factor(work):
        return A @ root_of(P)
    trmm(1, work.T, A.T, lower=0, overwrite_b=1)  # a C-order array is its transpose for BLAS
    return A


def sum_of_squares(P: Array, A: Array, B: Array) -> None:
    """Compute P <- A A' + B B'."""
    (syrk,) = get_blas_funcs(("syrk",), (P,))
    syrk(1, A.T, c=P.T, trans=1, lower=0, overwrite_c=1)
    syrk(1, B.T, beta=1, c=P.T, trans=1, lower=0, overwrite_c=1)
    copy_lower_to_upper(P)

"""The backward pass of the smoother for small states, as one compiled loop over the steps.

For U = diag(unit): C = U P_pred U = L L', B = C^-1 U F P, and the gain is G = B'U. With D = P + Q, P of the next step,
the smoothed covariance is (I - G F) P (I - G F)' + G D G', computed as a sum of squares of products with roots of P
and D.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._cholesky import factor_inline
from orfit_bench_numba._compile import compiled, inline, inline_reordered
from orfit_bench_numba._moving_state import entry
from orfit_bench_numba._products import multiply
from orfit_bench_numba._symmetric import mirror_lower, multiply_by_symmetric


@compiled("M M C C C C R r i f w")
def smooth_small(
    m: Array,
    P: Array,
    F: Array,
    Q: Array,
    m_pred: Array,
    P_pred: Array,
    scale: Array,
    rests: Array,
    j: int,
    least: Scalar,
    largest: Array,
) -> Any:
    """Smooth backwards from step j, like `rts_smooth`; returns 0, or the step at which it stopped.

    It stops if P_pred is nearly singular, or if P or D is not positive definite. `largest` (1,) becomes the largest
    trace of C^-1.
    """
    d = P.shape[1]
    B, H, unit = np.empty((d, d), P.dtype), np.empty((d, d), P.dtype), np.empty(d, P.dtype)
    C, D, change = np.empty((d, d), P.dtype), np.empty((d, d), P.dtype), np.empty((m.shape[2], d), P.dtype)
    inverse, S, column = np.empty((d, d), P.dtype), np.empty((d, 2 * d), P.dtype), np.empty(d, P.dtype)
    one = P.dtype.type(1)
    while j > 0:
        if rests[j] > 0:
            carry_back(m, P, m_pred, j)
            j -= 1
            continue
        F_j, Q_j = entry(F, j), entry(Q, j)
        for i in range(d):
            most = max(P_pred[j, i, i], weighted_sum_of_squares(F_j[i], scale[j - 1]))
            unit[i] = 1 / np.sqrt(most) if most > 0 else most * 0
        multiply_by_symmetric(F_j, P[j - 1], B)
        for i in range(d):
            for k in range(d):
                C[i, k] = P_pred[j, i, k] * unit[i] * unit[k]
                B[i, k] *= unit[i]
        for i in range(d):
            for k in range(d):
                D[i, k] = (P[j, i, k] + Q_j[i, k]) if len(Q) else P[j, i, k]
                H[i, k] = P[j - 1, i, k]
        for A in (C, D, H):
            if not factor_inline(A):
                return j
        for i in range(d):
            C[i, i] = one / C[i, i]
            D[i, :i] = 0
            H[i, :i] = 0
        trace = trace_of_inverse(C, inverse)
        if not trace * least < 1:
            return j
        largest[0] = max(largest[0], trace)
        solve_factored(C, B, column)
        for i in range(d):
            for k in range(d):
                C[k, i] = B[i, k] * unit[i]  # the gain
            for k in range(m.shape[2]):
                change[k, i] = m[j, i, k] - m_pred[j, i, k]
        for k in range(m.shape[2]):
            multiply(C, change[k], unit)
            for i in range(d):
                m[j - 1, i, k] += unit[i]
        for i in range(d):
            B[i] = 0
            B[i, i] = 1
            subtract_rows(B, i, C[i], F_j, 0, d)
        for i in range(d):
            multiply(H, B[i], S[i, :d])
            multiply(D, C[i], S[i, d:])
        for i in range(d):
            multiply(S[: i + 1], S[i], P[j - 1, i])
        mirror_lower(P[j - 1])
        j -= 1
    return 0


@inline
def carry_back(m: Array, P: Array, m_pred: Array, j: int) -> None:
    """Smooth a state that did not move before step j: same covariance, and same mean except for the control."""
    for i in range(P.shape[1]):
        for k in range(m.shape[2]):
            m[j - 1, i, k] = m[j, i, k] - (m_pred[j, i, k] - m[j - 1, i, k])
        for k in range(P.shape[1]):
            P[j - 1, i, k] = P[j, i, k]


@inline
def trace_of_inverse(C: Array, H: Array) -> Any:
    """The trace of (L L')^-1, at least 1 over the smallest eigenvalue; C has L, but 1 / L_ii; H is work space."""
    total = C.dtype.type(0)
    for i in range(len(C)):
        H[i] = 0
        subtract_rows(H, i, C[i], H, 0, i)
        H[i, i] = 1
        for j in range(i + 1):
            H[i, j] *= C[i, i]
            total += H[i, j] * H[i, j]
    return total


@inline
def solve_factored(C: Array, B: Array, column: Array) -> None:
    """Compute B <- (L L')^-1 B; C has L, but 1 / L_ii on the diagonal; column (d,) is work space."""
    d = len(C)
    for i in range(d):
        subtract_rows(B, i, C[i], B, 0, i)
        for j in range(d):
            B[i, j] *= C[i, i]
    for i in range(d - 1, -1, -1):
        for k in range(i + 1, d):
            column[k] = C[k, i]
        subtract_rows(B, i, column, B, i + 1, d)
        for j in range(d):
            B[i, j] *= C[i, i]


@inline_reordered
def subtract_rows(B: Array, i: int, c: Array, A: Array, begin: int, end: int) -> None:
    """Subtract the sum of c[k] A[k] for k from `begin` to `end` from B[i], four at a time."""
    fours = begin + (end - begin) // 4 * 4
    for k in range(begin, fours, 4):
        c0, c1, c2, c3 = c[k], c[k + 1], c[k + 2], c[k + 3]
        for j in range(B.shape[1]):
            B[i, j] -= c0 * A[k, j] + c1 * A[k + 1, j] + c2 * A[k + 2, j] + c3 * A[k + 3, j]
    for k in range(fours, end):
        for j in range(B.shape[1]):
            B[i, j] -= c[k] * A[k, j]


@inline_reordered
def weighted_sum_of_squares(f: Array, scale: Array) -> Any:
    """The sum over j of f_j^2 |scale_j|."""
    total = f.dtype.type(0)
    for j in range(len(f)):
        total += f[j] * f[j] * abs(scale[j])
    return total

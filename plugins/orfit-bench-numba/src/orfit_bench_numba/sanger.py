"""Sanger's rule in the form of the Krasulina paper (after eq. 12)."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from orfit_bench_numba._compile import compiled
from orfit_bench_numba._moves import move, product, residual, room, widen
from orfit_bench_numba._subspace import RENEWAL, Array, by_block, learning, limits, lying, orthonormalise


def rule(s: Any, A: Array, p: Any) -> bool:
    """C <- C - step/N (C X - Y) X' with X = C^+ Y = R^-1 Q'Y for C = Q R."""
    C = s.basis
    Q, R = np.linalg.qr(C)
    if not np.diagonal(R).all():
        return False
    X = solve_triangular(R, (A @ Q).T, check_finite=False)  # (k, N)
    C = C - p.step_size[0] / len(A) * ((C @ X - A.T) @ X.T)
    if not np.isfinite(C).all():
        return False
    s.basis[...] = C
    return True


def rows(s: Any, X: Array, p: Any, i: int) -> int:
    """Row after row, on the Q and the R of C = Q R."""
    (B, R), end = frame(s.basis), i
    several, one = limits(B, 1e1)
    top = float(np.finfo(B.dtype).max) ** 0.5
    while np.diagonal(R).all() and np.abs(R).max() < top:
        F = np.ascontiguousarray(solve_triangular(R, np.eye(len(R), dtype=R.dtype), check_finite=False))
        n = along(B, X[end : end + RENEWAL], p.step_size[end:], F, several, one)
        if not n:
            break
        end += n
        s.basis[...] = B.T @ R
        if end == len(X):
            break
        R = orthonormalise(B, several) @ R
    return end - i


def frame(C: Array) -> tuple[Array, Array]:
    """Q' and R of C = Q R."""
    B = lying(C)
    try:
        return B, orthonormalise(B, 1e1 * len(B))
    except np.linalg.LinAlgError:
        Q, R = np.linalg.qr(C)
        return lying(Q), R


@compiled("W R r W f f")
def along(B: Any, X: Any, step: Any, F: Any, several: Any, one: Any) -> Any:
    """Q <- Q + step (y - Q Q^+ y) v' with v = F'F Q^+ y for one row after another, until |Q|^2 would exceed its limit.

    For C = Q R and F = R^-1 that is C <- C + step (y - C x) x' with x = C^+ y = F Q^+ y, and R stays.
    """
    (V, R, P), (c, x, u, v) = room(B)
    one_, two = B.dtype.type(1), B.dtype.type(2)
    inverse, size, risk, learned = np.eye(len(B), dtype=B.dtype), B.dtype.type(len(B)), one_, len(X)
    for i in range(len(X)):
        m, y, g = i % 4, X[i], step[i]
        if m == 0:
            move(B, V, R, P, X, i)
        product(V, R, P, m, y, c)
        gain = g * residual(B, V, R, m, inverse, y, c, x)
        np.dot(F, x, u)
        np.dot(u, F, v)
        size += gain * np.dot(v, v) * gain
        risk *= max(one_, two * g * np.dot(u, u) - one_)
        if not size * risk <= (several if i else one):
            learned, R[m] = i, 0
            break
        np.dot(inverse, v, u)
        widen(inverse, v, u, gain)
        for j in range(len(c)):
            V[m, j] = g * v[j]
    move(B, V, R, P, X, learned)
    return learned


learn = learning(rule, rows)
step = by_block(rule)

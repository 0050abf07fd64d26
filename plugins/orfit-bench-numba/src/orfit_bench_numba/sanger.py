"""Sanger's rule in the form of the Krasulina paper (after eq. 12).

Row after row on C = Q R with an R that stays: C <- C + step r x' is Q <- Q + step r v' with v = R^-T x, where
x = C^+ y = R^-1 Q^+ y and r = y - Q Q^+ y. Q begins orthonormal, and Q'Q gains step^2 |r|^2 v v', of which its inverse
is kept; when it has become too large, Q is made orthonormal and R takes in what it was. So x loses no more than C's
own condition, whose square an inverse of C'C would cost. As in krasulina, an error of the inverse may grow, here by
1 - 2 step |x|^2. A row too large goes the rule's way.

Reads X and the steps, writes C; allocates Q', k^2 and 4 d numbers a call. The price of a row: see _moves.py.
"""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from orfit_bench_numba._compile import compiled
from orfit_bench_numba._moves import move, product, residual, room, widen
from orfit_bench_numba._subspace import RENEWAL, Array, by_block, learning, limits, lying, orthonormalise

LOSS = 1e1


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
    """Row after row, Q being made orthonormal now and then."""
    (B, R), end = factors(s.basis), i
    several, single = limits(B, LOSS)
    top = float(np.finfo(B.dtype).max) ** 0.5  # Q is far below it, so that C = Q R stays finite
    while np.diagonal(R).all() and np.abs(R).max() < top:
        F = np.ascontiguousarray(solve_triangular(R, np.eye(len(R), dtype=R.dtype), check_finite=False))
        n = along(B, F, X[end : end + RENEWAL], p.step_size[end:], several, single)
        if not n:
            break
        end += n
        s.basis[...] = B.T @ R
        if end == len(X):
            break
        R = orthonormalise(B, several) @ R
    return end - i


def factors(C: Array) -> tuple[Array, Array]:
    """Q' and R of C = Q R."""
    B = lying(C)
    try:
        return B, orthonormalise(B, LOSS * len(B))
    except np.linalg.LinAlgError:
        Q, R = np.linalg.qr(C)
        return lying(Q), R


@compiled("W W R r f f")
def along(B: Any, F: Any, X: Any, step: Any, several: Any, single: Any) -> Any:
    """Q <- Q + step (y - Q Q^+ y) v' for one row after another, until too many digits might be lost; F = R^-1."""
    (V, R, P), (c, x, u, v) = room(B)
    one, size, learned = B.dtype.type(1), B.dtype.type(len(B)), len(X)
    inverse, growth = np.eye(len(B), dtype=B.dtype), one
    for i in range(len(X)):
        m, y, g = i % 4, X[i], step[i]
        if m == 0:
            move(B, V, R, P, X, i)
        product(V, R, P, m, y, c)
        gain = g * residual(B, V, R, m, inverse, y, c, x)
        np.dot(F, x, u)
        np.dot(u, F, v)
        size += gain * np.dot(v, v) * gain
        growth *= max(one, (g + g) * np.dot(u, u) - one)
        if not size * growth <= (several if i else single):
            learned, R[m] = i, 0  # r may be infinite, which is more than its v = 0 can undo
            break
        np.dot(inverse, v, u)
        widen(inverse, v, u, gain)
        for j in range(len(c)):
            V[m, j] = g * v[j]
    move(B, V, R, P, X, learned)
    return learned


learn = learning(rule, rows)
step = by_block(rule)

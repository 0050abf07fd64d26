"""Krasulina's rule for k-PCA (Krasulina paper, eq. 9)."""

from typing import Any

import numpy as np

from orfit_bench_numba._compile import compiled
from orfit_bench_numba._moves import move, product, residual, room, widen
from orfit_bench_numba._subspace import Array, by_block, learning, orthonormal, orthonormal_at_last


def rule(s: Any, A: Array, p: Any) -> bool:
    """C <- QR(C - step/N (C X - Y) X') with X = C'Y, along the projected gradient, eq. (8)."""
    X = A @ s.basis  # (N, k), the X' of the paper
    C = orthonormal(s.basis - p.step_size[0] / len(A) * ((X @ s.basis.T - A).T @ X))
    if C is None:
        return False
    s.basis[...] = C
    return True


@compiled("W R r f f")
def along(B: Any, X: Any, step: Any, several: Any, one: Any) -> Any:
    """C <- C + step (y - C C^+ y) y'C for one row after another, until |C|^2 would be too large."""
    (V, R, P), (c, x, _, _) = room(B)
    one_, two = B.dtype.type(1), B.dtype.type(2)
    inverse, size, risk, learned = np.eye(len(B), dtype=B.dtype), B.dtype.type(len(B)), one_, len(X)
    for i in range(len(X)):
        m, y, g = i % 4, X[i], step[i]
        if m == 0:
            move(B, V, R, P, X, i)
        product(V, R, P, m, y, c)
        gain = g * residual(B, V, R, m, inverse, y, c, x)
        size += gain * np.dot(c, c) * gain
        risk *= max(one_, two * g * np.dot(c, x) - one_)
        if not size * risk <= (several if i else one):
            learned, R[m] = i, 0
            break
        widen(inverse, c, x, gain)
        for j in range(len(c)):
            V[m, j] = g * c[j]
    move(B, V, R, P, X, learned)
    return learned


learn = learning(rule, orthonormal_at_last(along, 1e2))
step = by_block(rule)

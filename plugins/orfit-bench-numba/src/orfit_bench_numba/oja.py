"""Oja's rule for k-PCA (Krasulina paper, after eq. 9)."""

from typing import Any

import numpy as np

from orfit_bench_numba._compile import compiled
from orfit_bench_numba._moves import move, product, room
from orfit_bench_numba._subspace import Array, by_block, learning, orthonormal, orthonormal_at_last


def rule(s: Any, A: Array, p: Any) -> bool:
    """C <- QR(C + step/N Y Y'C), along the unprojected gradient of the variance, eq. (7)."""
    C = orthonormal(s.basis + p.step_size[0] / len(A) * (A.T @ (A @ s.basis)))
    if C is None:
        return False
    s.basis[...] = C
    return True


@compiled("W R r f f")
def along(B: Any, X: Any, step: Any, several: Any, one: Any) -> Any:
    """C <- C + step y y'C for one row after another, until |C|^2 would be too large."""
    (V, R, P), (c, _, _, _) = room(B)
    size, two, learned = B.dtype.type(len(B)), B.dtype.type(2), len(X)
    for i in range(len(X)):
        m, y, g = i % 4, X[i], step[i]
        if m == 0:
            move(B, V, R, P, X, i)
        product(V, R, P, m, y, c)
        size += g * (two + g * np.dot(y, y)) * np.dot(c, c)
        if not size <= (several if i else one):
            learned = i
            break
        R[m] = y
        for j in range(len(c)):
            V[m, j] = g * c[j]
    move(B, V, R, P, X, learned)
    return learned


learn = learning(rule, orthonormal_at_last(along, 1e4))
step = by_block(rule)

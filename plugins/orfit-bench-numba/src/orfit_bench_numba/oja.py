"""Oja's rule for k-PCA (Krasulina paper, after eq. 9).

Row after row C <- C + step y y'C, and Q of C = Q R now and then, which is the Q of all steps so far: C'C gains
step (2 + step |y|^2) c c' with c = C'y, so that |C|^2 tells how far C is from orthonormal. A row too large for that
goes the rule's way.

Reads X and the steps, writes C; allocates C' and 4 d numbers a call. 4 d k flops and a half pass over C' a row.
"""

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
def along(B: Any, X: Any, step: Any, several: Any, single: Any) -> Any:
    """C <- C + step y y'C for one row after another, until |C|^2 would be too large."""
    (V, R, P), (c, _, _, _) = room(B)
    size, two, learned = B.dtype.type(len(B)), B.dtype.type(2), len(X)
    for i in range(len(X)):
        m, y, g = i % 4, X[i], step[i]
        if m == 0:
            move(B, V, R, P, X, i)
        product(V, R, P, m, y, c)
        size += g * (two + g * np.dot(y, y)) * np.dot(c, c)
        if not size <= (several if i else single):
            learned = i
            break
        R[m] = y
        for j in range(len(c)):
            V[m, j] = g * c[j]
    move(B, V, R, P, X, learned)
    return learned


learn = learning(rule, orthonormal_at_last(along, 1e4))  # its digits are lost with the root: C alone grows, no inverse
step = by_block(rule)

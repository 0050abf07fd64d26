"""Krasulina's rule for k-PCA (Krasulina paper, eq. 9).

Row after row C <- C + step r y'C with r = y - C C^+ y, and Q of C = Q R now and then. That is the rule's C, though it
orthonormalises after every step: with C = Q R the steps are Q <- QR(Q + step r y'Q), times R. C'C gains
step^2 |r|^2 c c' with c = C'y, of which its inverse is kept, and |C|^2 tells how far C is from orthonormal. An error E
of the inverse leaves some of C in r, and becomes E (1 - 2 step c'x), x = C^+ y: it may grow where C does not.
A row too large goes the rule's way.

Reads X and the steps, writes C; allocates C', k^2 and 4 d numbers a call. The price of a row: see _moves.py.
"""

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
def along(B: Any, X: Any, step: Any, several: Any, single: Any) -> Any:
    """C <- C + step (y - C C^+ y) y'C for one row after another, until too many digits might be lost."""
    (V, R, P), (c, x, _, _) = room(B)
    one, size, learned = B.dtype.type(1), B.dtype.type(len(B)), len(X)
    inverse, growth = np.eye(len(B), dtype=B.dtype), one
    for i in range(len(X)):
        m, y, g = i % 4, X[i], step[i]
        if m == 0:
            move(B, V, R, P, X, i)
        product(V, R, P, m, y, c)
        gain = g * residual(B, V, R, m, inverse, y, c, x)
        size += gain * np.dot(c, c) * gain
        growth *= max(one, (g + g) * np.dot(c, x) - one)
        if not size * growth <= (several if i else single):
            learned, R[m] = i, 0  # r may be infinite, which is more than its v = 0 can undo
            break
        widen(inverse, c, x, gain)
        for j in range(len(c)):
            V[m, j] = g * c[j]
    move(B, V, R, P, X, learned)
    return learned


learn = learning(rule, orthonormal_at_last(along, 1e2))
step = by_block(rule)

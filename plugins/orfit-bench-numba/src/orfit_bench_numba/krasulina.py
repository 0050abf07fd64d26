"""Krasulina's rule for k-PCA (Krasulina paper, eq. 9).

Rows are learned by C <- C + step r y'C with r = y - C C^+ y, and C is replaced by Q of C = Q R only from time to time.
The result equals that of the rule, which orthonormalizes after every step: with C = Q R the steps are Q <- QR(Q +
step r y'Q), times R. C'C gains step^2 |r|^2 c c' with c = C'y, and its inverse is updated. The sum of step^2 |y|^2
|c|^2 bounds how far C is from orthonormal; eps times this sum bounds the error that |r|^2, which is rounded to eps
|y|^2, leaves in C'C. An error E of the inverse leaves a part of C in r: along the row it becomes E (1 - s)^2 with s =
step c'x, x = C^+ y, or E (1 - 2 s) where |r|^2 is zero, and may grow where C does not. A row too large for that is
learned by the rule of the reference.

Reads X and the steps, writes C; allocates C', k^2 and 8 d numbers a call. Cost of a row: see `_delayed_rank1`.
"""

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._delayed_rank1 import (
    allocate,
    begin_block,
    delay,
    error_growth,
    find_coordinates,
    finish,
    multiply_basis,
    update_inverse_gram,
)
from orfit_bench_numba._orthonormal_row import bind_krasulina
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._subspace import make_bind_sample, make_delayed_rows, make_learn
from orfit_bench_numpy.krasulina import rule, step

__all__ = ["bind_sample", "learn", "step"]

COMPLEX = True
"""Complex rows are learned by the rule of the reference."""


@compiled("W R r f f")
def learn_until_unsafe(B: Array, X: Array, step: Array, several: float, single: float) -> Any:
    """Learn row by row with C <- C + step (y - C C^+ y) y'C, until too many digits might be lost."""
    owner = allocate(B)
    delayed, (c, x, _, _) = borrowed(owner)
    one, size, learned = B.dtype.type(1), B.dtype.type(len(B)), len(X)
    inverse, growth = np.eye(len(B), dtype=B.dtype), one
    for i in range(len(X)):
        m, g = i % 4, step[i]
        if m == 0:
            begin_block(B, delayed, X, i, True)
        multiply_basis(delayed, m, c)
        gain = g * find_coordinates(delayed, m, inverse, c, x)
        size += g * dot(c, c) * g * delayed.G[m, m]
        growth *= error_growth(g * dot(c, x))
        if not size * growth <= (several if i else single):
            learned = i
            break
        delay(delayed, m, x, g, c)
        update_inverse_gram(inverse, c, x, gain)
    finish(B, delayed, X, learned, True)
    hold(owner)
    return learned


learn = make_learn(rule, make_delayed_rows(learn_until_unsafe, 1e2), bind_krasulina)
bind_sample = make_bind_sample(bind_krasulina)

"""Oja's rule for k-PCA (Krasulina paper, after eq. 9).

Rows are learned by C <- C + step y y'C, and C is replaced by Q of C = Q R only from time to time, which gives the Q of
all steps so far. A step adds step (2 + step |y|^2) c c' with c = C'y to C'C, so |C|^2 measures how far C is from
orthonormal. Rows that are too large for this are learned by the rule of the reference.

Reads X and the steps, writes C; allocates C' and 8 d numbers per call. A row takes 4 d k flops and half a pass over C'.
"""

from typing import Any

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._delayed_rank1 import allocate, begin_block, delay, finish, multiply_basis
from orfit_bench_numba._oja_fleets import fleet_learn
from orfit_bench_numba._orthonormal_row import bind_oja
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._subspace import make_bind_sample, make_delayed_rows, make_learn
from orfit_bench_numpy.oja import rule, step, step_members

__all__ = ["bind_sample", "fleet_learn", "learn", "step", "step_members"]

COMPLEX = True
"""Complex rows are learned by the rule of the reference."""


@compiled("W R r f f")
def learn_until_unsafe(B: Array, X: Array, step: Array, several: float, single: float) -> Any:
    """Learn row by row with C <- C + step y y'C, until |C|^2 would be too large."""
    owner = allocate(B)
    delayed, (c, zeros, _, _) = borrowed(owner)
    size, two, learned = B.dtype.type(len(B)), B.dtype.type(2), len(X)
    for i in range(len(X)):
        m, g = i % 4, step[i]
        if m == 0:
            begin_block(B, delayed, X, i, False)
        multiply_basis(delayed, m, c)
        size += g * (two + g * delayed.G[m, m]) * dot(c, c)
        if not size <= (several if i else single):
            learned = i
            break
        delay(delayed, m, zeros, g, c)
    finish(B, delayed, X, learned, False)
    hold(owner)
    return learned


# only the square root of the growth is lost: there is no inverse
learn = make_learn(rule, make_delayed_rows(learn_until_unsafe, 1e4), bind_oja)
bind_sample = make_bind_sample(bind_oja)

"""Oja's rule for k-PCA (Krasulina paper, after eq. 9).

Rows are learned by C <- C + step y y'C, and C is replaced by the Q of C = Q R only now and then, which gives the Q of
all steps so far. C'C gains step (2 + step |y|^2) c c' with c = C'y, so |C|^2 measures how far C is from orthonormal. A
row too large for that is learned by the rule of the reference.

Reads X and the steps, writes C; allocates C' and 8 d numbers a call. A row takes 4 d k flops and half a pass over C'.
"""

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._delayed_rank1 import allocate, apply_delayed, multiply_basis
from orfit_bench_numba._oja_fleets import make_oja_fleet_learn
from orfit_bench_numba._orthonormal_row import bind_oja
from orfit_bench_numba._precision_guard import copy
from orfit_bench_numba._subspace import make_bind_sample, make_delayed_rows, make_learn
from orfit_bench_numpy.oja import rule, step

__all__ = ["bind_sample", "fleet_learn", "learn", "step"]

COMPLEX = True
"""Complex rows are learned by the rule of the reference."""


@compiled("W R r f f")
def learn_until_unsafe(B: Array, X: Array, step: Array, several: float, single: float) -> Any:
    """C <- C + step y y'C for row after row, until |C|^2 would be too large."""
    delayed, (c, _, _, _) = allocate(B)
    V, R, P, _ = delayed
    size, two, learned = B.dtype.type(len(B)), B.dtype.type(2), len(X)
    for i in range(len(X)):
        m, y, g = i % 4, X[i], step[i]
        if m == 0:
            apply_delayed(B, delayed, X, i)
        multiply_basis(V, R, P, m, y, c)
        size += g * (two + g * np.dot(y, y)) * np.dot(c, c)
        if not size <= (several if i else single):
            learned = i
            break
        copy(R[m], y)
        for j in range(len(c)):
            V[m, j] = g * c[j]
    apply_delayed(B, delayed, X, learned)
    return learned


# only the square root of the growth is lost: there is no inverse
learn = make_learn(rule, make_delayed_rows(learn_until_unsafe, 1e4), bind_oja)
bind_sample = make_bind_sample(bind_oja)


fleet_learn = make_oja_fleet_learn(learn)

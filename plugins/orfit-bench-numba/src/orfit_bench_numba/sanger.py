"""Sanger's rule in the form of the Krasulina paper (after eq. 12).

Rows are learned on C = Q R with a constant R: C <- C + step r x' is Q <- Q + step r v' with v = R^-T x, where
x = C^+ y = R^-1 Q^+ y and r = y - Q Q^+ y. Q starts orthonormal; a step adds step^2 |r|^2 v v' to Q'Q, whose inverse is
updated. When Q'Q might have become too large, Q is orthonormalized and R is multiplied by the factor. Thus x loses
digits only with the condition number of C; with an inverse of C'C it would lose them with its square. As in krasulina,
an error of the inverse can grow, here by (1 - s)^2 or 1 - 2 s with s = step |x|^2. Rows that are too large for this are
learned by the rule of the reference.

Reads X and the steps, writes C; allocates Q', k^2 and 8 d numbers per call. For the cost of a row see `_delayed_rank1`.
A call with one row computes x from the Cholesky factor of C'C if that is as accurate, with d k^2 more flops.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba import BACKEND
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
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._products import multiply
from orfit_bench_numba._single_row import learn_sanger
from orfit_bench_numba._subspace import (
    RENEWAL_PERIOD,
    growth_limits,
    make_bind_sample,
    make_learn,
    orthonormalize,
    transposed_copy,
)
from orfit_bench_numpy.sanger import rule, step

__all__ = ["bind_sample", "learn", "step"]

COMPLEX = True
"""Complex rows are learned by the rule of the reference."""

MAX_GROWTH = 1e1


def learn_rows(s: State, X: Array, p: Params, i: int) -> int:
    """Learn row by row; orthonormalize Q from time to time."""
    (B, R), end = qr_factors(s.basis), i
    several, single = growth_limits(B, MAX_GROWTH)
    top = float(np.finfo(B.dtype).max) ** 0.5  # Q is far below it, so that C = Q R stays finite
    while np.diagonal(R).all() and np.abs(R).max() < top:
        F = np.ascontiguousarray(solve_triangular(R, np.eye(len(R), dtype=R.dtype), check_finite=False))
        n = learn_until_unsafe(B, F, X[end : end + RENEWAL_PERIOD], p.step_size[end:], several, single)
        if not n:
            break
        end += n
        s.basis[...] = B.T @ R
        if end == len(X):
            break
        R = orthonormalize(B, several) @ R
    return end - i


def qr_factors(C: Array) -> tuple[Array, Array]:
    """The factors Q' and R of C = Q R."""
    B = transposed_copy(C)
    try:
        return B, orthonormalize(B, MAX_GROWTH * len(B))
    except np.linalg.LinAlgError:
        Q, R = np.linalg.qr(C)
        return transposed_copy(Q), R


@compiled("W W R r f f")
def learn_until_unsafe(B: Array, F: Array, X: Array, step: Array, several: float, single: float) -> Any:
    """Learn row by row with Q <- Q + step (y - Q Q^+ y) v', until too many digits might be lost; F = R^-1."""
    owner = allocate(B)
    delayed, (c, x, u, v) = borrowed(owner)
    one, size, learned = B.dtype.type(1), B.dtype.type(len(B)), len(X)
    inverse, growth = np.eye(len(B), dtype=B.dtype), one
    for i in range(len(X)):
        m, g = i % 4, step[i]
        if m == 0:
            begin_block(B, delayed, X, i, True)
        multiply_basis(delayed, m, c)
        gain = g * find_coordinates(delayed, m, inverse, c, x)
        multiply(F, x, u)
        np.dot(u, F, v)
        size += g * dot(v, v) * g * delayed.G[m, m]
        growth *= error_growth(g * dot(u, u))
        if not size * growth <= (several if i else single):
            learned = i
            break
        delay(delayed, m, x, g, v)
        multiply(inverse, v, u)
        update_inverse_gram(inverse, v, u, gain)
    finish(B, delayed, X, learned, True)
    hold(owner)
    return learned


def bind(s: State, p: Params) -> Callable[[Array], bool]:
    """A function that learns one row by the Cholesky factor of C'C, unless C is too ill-conditioned."""
    (d, k), kind = s.basis.shape, s.basis.dtype
    rows = -(-k // 4) * 4
    room = BACKEND.asarray(np.zeros((rows, d), kind)), BACKEND.asarray(np.zeros((rows, rows), kind))
    return partial(learn_sanger.entry_point(s.basis.dtype), s.basis, *room, p.step_size)


learn = make_learn(rule, learn_rows, bind)
bind_sample = make_bind_sample(bind)

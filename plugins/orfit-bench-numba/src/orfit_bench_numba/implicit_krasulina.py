"""The implicit form of Krasulina's rule (Krasulina paper, eq. 12 and 13, Algorithm 1 with its sign corrected).

A row moves C along r x', where r is orthogonal to C: a multiple of x x' is added to C'C, and its inverse is updated.
Errors of the inverse decay: an error E becomes E (1 - gain |x|^2)^2 along the row, and gain |x|^2 < 1. A row with a
number that might overflow, or nearly in the span of C, is learned by the rule of the reference.

Reads X and the steps, writes C and the inverse; allocates C', k^2 and 8 d numbers per call. For the cost of a row see
`_delayed_rank1`, plus 8 k^2 flops. A call with one row copies nothing, see `_single_row`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.kernels.linalg import inverse_gram
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._delayed_rank1 import (
    allocate,
    begin_block,
    delay,
    find_coordinates,
    finish,
    multiply_basis,
    update_inverse_gram,
)
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._products import multiply
from orfit_bench_numba._single_row import learn_implicit
from orfit_bench_numba._subspace import make_bind_sample, make_learn, transposed_copy
from orfit_bench_numpy.implicit_krasulina import INVERSE_PERIOD, rule, step

__all__ = ["bind_sample", "learn", "step"]

COMPLEX = True
"""Complex rows are learned by the rule of the reference."""


def learn_rows(s: State, X: Array, p: Params, i: int) -> int:
    """Learn row by row; recompute the inverse every INVERSE_PERIOD steps."""
    B, inverse, end = transposed_copy(s.basis), s.inverse, i
    while end < len(X):
        age = (p.t + end - 1) % INVERSE_PERIOD
        new = inverse.copy() if age else inverse_gram(B.T)
        if new is None:
            break
        part = X[end : end + INVERSE_PERIOD - age]
        n = learn_until_unsafe(B, part, p.step_size[end:], new)
        inverse, end = new if n else inverse, end + n
        if n < len(part):
            break
    if end > i:
        s.basis[...], s.inverse[...] = B.T, inverse
    return end - i


@compiled("W R r W")
def learn_until_unsafe(B: Array, X: Array, step: Array, inverse: Array) -> Any:
    """Learn row by row with eq. (13), until a number might overflow or |r|^2 is rounded; returns how many."""
    owner = allocate(B)
    delayed, (c, x, u, _) = borrowed(owner)
    size, one, learned = np.dot(B.reshape(B.size), B.reshape(B.size)), B.dtype.type(1), len(X)
    least = np.sqrt(np.finfo(B.dtype).eps)
    for i in range(len(X)):
        m, g = i % 4, step[i]
        if m == 0:
            begin_block(B, delayed, X, i, True)
        multiply_basis(delayed, m, c)
        rho = find_coordinates(delayed, m, inverse, c, x)
        energy = g * dot(x, x)
        gain = g / (one + energy)
        weight = gain * rho
        multiply(inverse, x, u)
        size += weight * dot(x, x) * weight
        if rho * rho < least * delayed.G[m, m]:  # the difference |y|^2 - c'x has lost half of its digits
            learned = i
            break
        if not (energy < np.inf and size < np.inf and 0 <= weight * dot(x, u) * weight < np.inf):
            learned = i
            break
        delay(delayed, m, x, gain, x)
        update_inverse_gram(inverse, x, u, weight)
    finish(B, delayed, X, learned, True)
    hold(owner)
    return learned


def bind(s: State, p: Params) -> Callable[[Array], bool]:
    """A function that learns one row, but not the first, which computes the inverse."""
    return partial(learn_implicit.entry_point(s.basis.dtype), s.basis, s.inverse, p.step_size)


learn = make_learn(rule, learn_rows, bind)
bind_sample = make_bind_sample(bind)

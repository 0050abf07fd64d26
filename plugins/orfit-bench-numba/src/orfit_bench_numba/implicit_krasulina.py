"""The implicit form of Krasulina's rule (Krasulina paper, eq. 12 and 13, Algorithm 1 with its sign corrected).

A row moves C along r x', where r is orthogonal to C: C'C gains a multiple of x x', and its inverse is updated. Errors
of the inverse decay: an error E becomes E (1 - 2 gain |x|^2), and gain |x|^2 < 1. A row with a number that might
overflow is learned by `apply_rule`.

Reads X and the steps, writes C and the inverse; allocates C', k^2 and 4 d numbers a call. Cost of a row: see
`_delayed_rank1`, plus 8 k^2 flops.
"""

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.linalg import inverse_gram
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._delayed_rank1 import (
    allocate,
    apply_delayed,
    compute_residual,
    multiply_basis,
    update_inverse_gram,
)
from orfit_bench_numba._subspace import make_learn, make_step, transposed_copy

RENEWAL_PERIOD = 1000
"""The inverse is recomputed from C at the first step and every so many steps after it."""


def apply_rule(s: Any, A: Array, p: Any) -> bool:
    """One row by eq. (13), several by eq. (12); `inverse` is (C'C)^-1, so that C^+ = inverse C'."""
    inverse = inverse_gram(s.basis) if p.t % RENEWAL_PERIOD == 1 else s.inverse
    if inverse is None:
        return False
    C, inverse = (step_row if len(A) == 1 else step_block)(s.basis, inverse, A, p.step_size[0])
    if inverse is None or not (np.isfinite(C).all() and np.isfinite(inverse).all()):
        return False
    s.basis[...], s.inverse[...] = C, inverse
    return True


def step_row(C: Array, inverse: Array, A: Array, step: Any) -> tuple[Array, Array | None]:
    """C <- C + gain r x' with x = C^+ y, r = y - C x, gain = step / (1 + step |x|^2).

    r is orthogonal to C, so that C'C gains v v' with v = gain |r| x: Sherman-Morrison.
    """
    y = A[0]
    x = inverse @ (y @ C)
    r = y - C @ x
    energy = step * (x @ x)
    if not math.isfinite(energy):  # then the gain would be 0, and the row silently skipped
        return C, None
    gain = step / (1 + energy)
    v = gain * np.linalg.norm(r) * x
    u = inverse @ v
    return C + gain * np.outer(r, x), inverse - np.outer(u, u) / (1 + v @ u)


def step_block(C: Array, inverse: Array, A: Array, step: Any) -> tuple[Array, Array | None]:
    """C <- (Y X'/N + C/step) (X X'/N + I/step)^-1 = C + (Y - C X) X' (X X' + N/step I)^-1, by the SVD of X."""
    X = A @ C @ inverse  # (N, k), the X' of the paper
    if not np.isfinite(X).all():
        return C, None
    U, sigma, Vt = np.linalg.svd(X, full_matrices=False)
    gain = np.divide(1, sigma + len(A) / step / sigma, out=np.zeros_like(sigma), where=sigma > 0)
    C = C + (A - X @ C.T).T @ ((U * gain) @ Vt)
    return C, inverse_gram(C)


def learn_rows(s: Any, X: Array, p: Any, i: int) -> int:
    """Learn row after row; recompute the inverse every RENEWAL_PERIOD steps."""
    B, inverse, end = transposed_copy(s.basis), s.inverse, i
    while end < len(X):
        age = (p.t + end - 1) % RENEWAL_PERIOD
        new = inverse.copy() if age else inverse_gram(B.T)
        if new is None:
            break
        part = X[end : end + RENEWAL_PERIOD - age]
        n = learn_until_unsafe(B, part, p.step_size[end:], new)
        inverse, end = new if n else inverse, end + n
        if n < len(part):
            break
    if end > i:
        s.basis[...], s.inverse[...] = B.T, inverse
    return end - i


@compiled("W R r W")
def learn_until_unsafe(B: Array, X: Array, step: Array, inverse: Array) -> Any:
    """Eq. (13) for row after row, until a number might overflow; returns the number of rows learned."""
    (V, R, P), (c, x, u, _) = allocate(B)
    size, one, learned = np.dot(B.reshape(B.size), B.reshape(B.size)), B.dtype.type(1), len(X)
    for i in range(len(X)):
        m, y, g = i % 4, X[i], step[i]
        if m == 0:
            apply_delayed(B, V, R, P, X, i)
        multiply_basis(V, R, P, m, y, c)
        rho = compute_residual(B, V, R, m, inverse, y, c, x)
        energy = g * np.dot(x, x)
        gain = g / (one + energy)
        weight = gain * rho
        np.dot(inverse, x, u)
        size += weight * np.dot(x, x) * weight
        if not (energy < np.inf and size < np.inf and 0 <= weight * np.dot(x, u) * weight < np.inf):
            learned, R[m] = i, 0  # r may be infinite, and inf * 0 is NaN
            break
        update_inverse_gram(inverse, x, u, weight)
        for j in range(len(c)):
            V[m, j] = gain * x[j]
    apply_delayed(B, V, R, P, X, learned)
    return learned


learn = make_learn(apply_rule, learn_rows)
step = make_step(apply_rule)

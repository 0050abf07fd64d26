"""Steps projected off a basis of earlier rows: icl, ogd, rls that forgets all, orfit without limit.

The rows of a block are X = C U + L Q (see `_block_gram_schmidt`), so the step of row i, along q_i, changes the error
of row j > i only by L_ji z_i: one triangular solve gives all errors of a block, and its rows are added to the basis
together. When the basis is full, no more rows are added, and L is X Q' for directions that are not orthogonal to each
other.

A row costs 2 c p flops for its prediction and 2 c p for its step, in addition to those for its direction. Reads and
writes s.w and s.basis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from orfit_bench.spec.kernel_arguments import State
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._block_gram_schmidt import count_safe_rows, learn_in_blocks, new_directions, orthogonalize_block
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._projected_rows import learn_row, learn_rows

MAX_NUMBERS = 5000
"""Largest basis, in numbers, for which single rows are faster than blocks; small ones take half the time or less."""


def fit_rows(s: State, X: Array, Y: Array, out: Array | None, step: Array | None = None, bounded: bool = False) -> int:
    """Learn rows by fitting each (or, with steps, moving towards it) orthogonally to the basis; returns how many.

    bounded: refuse a row if its product with any unit vector could overflow, not only if that with r does. Single rows,
    and rows with a small basis, are learned by `_projected_rows`.
    """
    predictions = np.empty(Y.shape, Y.dtype) if out is None else out
    most = min(int(s.count[0]) + len(X), len(s.basis))  # rows of the basis after the chunk
    if Y.shape[1] == 1 and (len(X) == 1 or most * X.shape[1] <= MAX_NUMBERS):
        steps = np.zeros(1, X.dtype) if step is None else step
        given = step is None, steps, bounded, X, Y.reshape(-1), predictions.reshape(-1)
        return int(learn_rows(s.basis, s.w.reshape(-1), s.count, *given))

    def learn(part: slice) -> int:
        part = slice(part.start, part.start + count_safe_rows(X[part], Y[part]))
        return _fit_block_of_rows(s, X[part], Y[part], predictions[part], None if step is None else step[part], bounded)

    return learn_in_blocks(learn, X, len(s.basis))


def bind_row(s: State, limit: int | None, step: Array | None = None, bounded: bool = False) -> Callable[..., int]:
    """A function that learns one row with one output, see `Kernel.bind_row`.

    limit is the largest size of the basis, None if there is none; step (1,) is None if rows are fitted.
    """
    can_grow = limit is None or len(s.basis) < limit
    entry = learn_row.entry_point(s.w.dtype)
    size = np.zeros(1, s.w.dtype) if step is None else step
    return partial(entry, s.basis, s.w.reshape(-1), s.count, can_grow, step is None, size, bounded)


def _fit_block_of_rows(s: State, X: Array, Y: Array, predictions: Array, step: Array | None, bounded: bool) -> int:
    """Learn the first rows of X; returns how many. Only a block of one row decides whether it can be learned."""
    n, cut = int(s.count[0]), math.sqrt(np.finfo(X.dtype).eps)
    room = len(s.basis) - n
    Q, _, L, size = orthogonalize_block(s.basis[:n], X[: room or None], cut, cut, separate=not room)
    L = size * L
    z, predictions, new = np.empty((len(Q), Y.shape[1]), Y.dtype), predictions[: len(Q)], np.diagonal(L) > 0
    np.dot(X[: len(Q)], s.w, out=predictions)
    steps = np.ones(len(Q), X.dtype) if step is None else step
    reach = -math.inf if len(X) == 1 else max(s.w.max(), -s.w.min())
    safe = int(solve_errors(z, predictions, Y, L, steps, step is None, reach))
    if len(X) == 1 and safe and new[0]:
        bound = np.abs(X).max() * math.sqrt(X.size) if bounded else L[0, 0]
        safe = int(np.isfinite(bound) and np.isfinite(s.w + Q.T @ z).all())
    Q, new = Q[:safe], new[:safe]
    s.w[...] += Q.T @ z[:safe]
    append_directions(s, Q if new.all() else Q[new])
    return safe


@compiled("W W R R r b f")
def solve_errors(z: Array, predictions: Array, Y: Array, L: Array, step: Array, fits: bool, reach: float) -> Any:
    """Compute the steps z along the rows of Q; predictions: initially those of the weights before the block.

    Returns the number of rows after which the weights, initially at most `reach`, are certainly finite.
    """
    for i in range(len(z)):
        for c in range(z.shape[1]):
            z[i, c] = 0
            for j in range(i):
                predictions[i, c] += L[i, j] * z[j, c]
        if L[i, i] == 0:
            continue
        for c in range(z.shape[1]):
            e = Y[i, c] - predictions[i, c]
            z[i, c] = e / L[i, i] if fits else step[i] * (L[i, i] * e)
            reach += abs(z[i, c])
        if not reach < np.inf:
            return i
    return len(z)


def fit_block(s: State, J: Array, E: Array) -> bool:
    """Take one step that fits all rows of J; linearly dependent rows are fitted by least squares."""
    Q, R = new_directions(s.basis[: s.count[0]], J)
    if not len(Q):
        return True
    w = s.w + Q.T @ solve_fit(R, E)
    if not (np.isfinite(w).all() and np.isfinite(R).all()):
        return False
    s.w[...] = w
    append_directions(s, Q)
    return True


def solve_fit(R: Array, E: Array) -> Array:
    """Solve R'z = E for z (a, r), by least squares if J has dependent rows; NaN if R or E is not finite."""
    if R.shape[0] == R.shape[1]:
        z: Array = solve_triangular(R, E, trans=1, check_finite=False)
        return z
    if not (np.isfinite(R).all() and np.isfinite(E).all()):  # LAPACK might never return
        return np.full((len(R), E.shape[1]), np.nan, E.dtype)
    return np.linalg.lstsq(R.T, E, rcond=0)[0]


def append_directions(s: State, Q: Array) -> None:
    """Append the rows of Q to the basis until it is full."""
    n = int(s.count[0])
    more = Q[: len(s.basis) - n]
    s.basis[n : n + len(more)] = more
    s.count[0] = n + len(more)

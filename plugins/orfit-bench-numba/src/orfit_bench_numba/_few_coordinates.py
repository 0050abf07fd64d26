"""ORFit with a limited memory and few features: the features themselves are the coordinates.

Thus no orthonormal basis of the rows is needed, and no matrix products outside the loop over rows. `_truncated_basis`
works on fewer numbers in that loop if there are more features than directions and rows of a block together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import moderate_size
from orfit_bench.kernels.linalg import ORTHONORMALIZATION_PERIOD
from orfit_bench.spec.kernel_arguments import State
from orfit_bench_numba._arrays import Array, Indices, Scalar
from orfit_bench_numba._block_gram_schmidt import count_moderate
from orfit_bench_numba._borrow import borrowed, hold
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._coordinate_rows import LATEST, RANDOM, Memory, Rows, find_limits, learn_rows
from orfit_bench_numba._finite import NOT_FINITE, is_finite
from orfit_bench_numba._truncated_basis import reorthonormalize

MAX_FEATURES = 200
"""Largest number of features for which rows of a chunk are learned in this way."""
MAX_FEATURES_OF_ONE = 1000
"""The largest number of features for a chunk of one row, which would be a separate block."""


def learn_few_features(
    s: State, X: Array, Y: Array, out: Array, m: int, summary: int, drawn: Array, t: int, checked: bool
) -> int:
    """Learn the first rows of X as `learn_block` of `_truncated_basis` does, with the same arguments and result."""
    nothing = np.empty(0, X.dtype)
    ages = summary in (LATEST, RANDOM)
    values = s.singular_values, *((s.direction_errors, s.precision_lost.reshape(1)) if ages else (nothing, nothing))
    how = m, summary, drawn, checked, moderate_size(X.dtype), find_limits(X.dtype)
    learned = int(learn_features(s.basis, s.w, s.count, values, *how, X, Y, out))
    if t // ORTHONORMALIZATION_PERIOD < (t + learned) // ORTHONORMALIZATION_PERIOD:
        reorthonormalize(s.basis[: s.count[0]])
    return learned


@compiled("W W I (w w w) i i r b f r R R W")
def learn_features(
    basis: Array,
    w: Array,
    count: Indices,
    values: tuple[Array, Array, Array],
    m: int,
    summary: int,
    drawn: Array,
    checked: bool,
    edge: Scalar,
    limits: Array,
    X: Array,
    Y: Array,
    out: Array,
) -> Any:
    """Learn rows as `learn_few_features`, and write to `values`; returns how many were learned.

    `values` are the values of the directions, their errors, and a number that becomes 1 if a direction has lost half of
    its digits. The last two are empty unless directions are kept by age or at random.
    """
    if not checked and not (is_finite(X.reshape(-1)) and is_finite(Y.reshape(-1))):
        return NOT_FINITE
    k = max(count_moderate(X, Y, edge, 1 / edge), 1)
    owner = allocate(w, min(m, count[0] + k, len(w)) + 1, k)
    learned = learn_moderate_rows(basis, w, count, values, borrowed(owner), summary, drawn, limits, X, Y[:k], out)
    hold(owner)
    return learned


@inline
def allocate(w: Array, width: int, k: int) -> tuple[Memory, tuple[Array, Array], tuple[Array, Array, Array]]:
    """Allocate a memory of `width` directions, H and the sizes of k rows, and work space."""
    (d, c), kind = w.shape, w.dtype
    memory = Memory(np.zeros((d, width), kind), np.zeros(width, kind), np.zeros((d, c), kind), np.zeros(width, kind))
    room = np.empty((5, max(d, width, c)), kind)
    buffers = np.zeros((d, width), kind), np.zeros((width, width), kind), room
    return memory, (np.empty((k, d), kind), np.empty(k, kind)), buffers


@inline
def learn_moderate_rows(
    basis: Array,
    w: Array,
    count: Indices,
    values: tuple[Array, Array, Array],
    space: Any,
    summary: int,
    drawn: Array,
    limits: Array,
    X: Array,
    Y: Array,
    out: Array,
) -> Any:
    """Learn the first rows of X, one for each row of Y, in this space; returns how many were learned."""
    memory, (H, size), buffers = space
    n, d, k, Z = count[0], len(w), len(Y), memory.Z
    alone = k == 1
    for i in range(k):
        size[i] = normalize(H[i], X[i])
        predict(out[i], X[i], w)
    load(basis, values, n, memory)
    rows = Rows(H, size, Y, drawn)
    reach = -X.dtype.type(np.inf) if alone else np.abs(w).max()
    learned, kept, changes, lost = learn_rows(out, memory, rows, buffers, limits, n, d, summary, reach)
    if changes == 0:
        return learned
    if alone and not (is_finite((w + Z).reshape(-1)) and size[0] * math.sqrt(d) < np.inf):
        return 0
    w += Z
    store(basis, values, memory, kept)
    if lost:
        values[2][0] = 1
    count[0] = kept
    return learned


@inline
def load(basis: Array, values: tuple[Array, Array, Array], n: int, memory: Memory) -> None:
    """Load n directions into a memory."""
    for q in range(n):
        memory.sigma[q] = values[0][q]
        if len(values[1]):
            memory.errors[q] = values[1][q]
        for j in range(len(memory.T)):
            memory.T[j, q] = basis[q, j]


@inline
def store(basis: Array, values: tuple[Array, Array, Array], memory: Memory, n: int) -> None:
    """Keep the first n directions of a memory."""
    for q in range(n):
        values[0][q] = memory.sigma[q]
        if len(values[1]):
            values[1][q] = memory.errors[q]
        for j in range(len(memory.T)):
            basis[q, j] = memory.T[j, q]


@inline
def normalize(h: Array, x: Array) -> Any:
    """Compute h <- x / size; returns size, the largest |x_j|."""
    size = h.dtype.type(0)
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    for j in range(len(x)):
        h[j] = x[j] / size if size > 0 else x[j]
    return size


@inline
def predict(out: Array, x: Array, w: Array) -> None:
    """out <- x'w."""
    for q in range(len(out)):
        out[q] = 0
    for j in range(len(x)):
        for q in range(len(out)):
            out[q] += x[j] * w[j, q]

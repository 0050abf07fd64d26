"""Many learners by one call, on as many threads as the user allows: compiled functions release the GIL.

Each member reads and writes its own weights w and, for methods with a covariance, its P (d, d), row by row: 2 d^2
numbers of memory traffic a member and call.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.kernels.guards import Limits
from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._covariance import MIN_FEATURES
from orfit_bench_numba._gradient import apply_row as apply_gradient
from orfit_bench_numba._gradient import dot_products
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._sequential_rls import apply_row
from orfit_bench_numba._threads import allowed_threads

MIN_OPERATIONS = 2e5
"""Operations of a call below which starting a thread takes longer than it saves."""


@compiled("M M R R I I r w I W i i")
def learn_members(
    P: Array,
    W: Array,
    X: Array,
    Y: Array,
    members: Indices,
    starts: Indices,
    ff: Array,
    degraded: Array,
    learned: Indices,
    out: Array,
    begin: int,
    end: int,
) -> None:
    """Learn the rows of members[begin:end] with these forgetting factors; counts them in `learned`.

    W (N, c, d) holds the weights by output. A member stops before a row that is refused.
    """
    one: Any = P.dtype.type(1)
    largest: Any = np.finfo(P.dtype).max / 4
    z = np.empty(W.shape[1], P.dtype)
    for j in range(begin, end):
        i, factor = members[j], ff[j]
        limits = Limits(factor, one / 100 if factor < 1 else one, largest)
        for t in range(starts[j], starts[j + 1]):
            for k in range(len(z)):
                z[k] = dot(X[t], W[i, k])
                if len(out):
                    out[t, k] = z[k]
                z[k] = Y[t, k] - z[k]
            if not apply_row(P[i], W[i], X[t], z, factor, factor, limits, degraded[i : i + 1]):
                break
            learned[j] += 1


@compiled("W R r I I r r b I w i i")
def learn_gradient_members(
    W: Array,
    X: Array,
    y: Array,
    members: Indices,
    starts: Indices,
    step: Array,
    eps: Array,
    normalized: bool,
    learned: Indices,
    out: Array,
    begin: int,
    end: int,
) -> None:
    """Learn the rows of members[begin:end], with one output, by gradient steps; counts them in `learned`.

    W (N, d). A member stops before a row that would make its weights infinite.
    """
    for j in range(begin, end):
        w = W[members[j]]
        for t in range(starts[j], starts[j + 1]):
            f, square = dot_products(w, X[t])
            if len(out):
                out[t] = f
            if apply_gradient(w, step[t], eps[j], normalized, X[t], y[t] - f, square) != 1:
                break
            learned[j] += 1


def make_gradient_fleet_learn(learn: Any, normalized: bool) -> Any:
    """`fleet_learn` of lms, or of nlms if normalized; by `learn` for each member with several outputs."""
    one_by_one = make_fleet_learn(learn)

    def fleet_learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> Indices:
        if Y.shape[1] != 1:
            found: Indices = one_by_one(s, X, Y, p, out)
            return found
        learned = np.zeros(len(p.members), np.int64)
        eps = p.eps.astype(X.dtype) if normalized else np.zeros(len(p.members), X.dtype)
        predictions = np.empty(0, X.dtype) if out is None else out[:, 0]
        rows = s.w[:, :, 0], X, Y[:, 0], p.members, p.starts, p.step_size.astype(X.dtype)
        parts = *rows, eps, normalized, learned, predictions
        on_threads(lambda begin, end: learn_gradient_members(*parts, begin, end), len(learned), 4.0 * X.size)
        return learned

    return fleet_learn


def make_covariance_fleet_learn(learn: Any) -> Any:
    """`fleet_learn` of rls and class_rls; by `learn` for each member where that takes blocks or keeps a basis."""
    one_by_one = make_fleet_learn(learn)

    def fleet_learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> Indices:
        if not hasattr(s, "P") or X.shape[1] >= MIN_FEATURES:
            found: Indices = one_by_one(s, X, Y, p, out)
            return found
        learned = np.zeros(len(p.members), np.int64)
        W = np.ascontiguousarray(s.w.transpose(0, 2, 1))  # w itself if it has one column
        ff = p.forgetting_factor.astype(X.dtype)
        predictions = np.empty((0, Y.shape[1]), X.dtype) if out is None else out
        parts = s.P, W, X, Y, p.members, p.starts, ff, s.precision_lost, learned, predictions
        on_threads(lambda begin, end: learn_members(*parts, begin, end), len(learned), 3.0 * X.size * X.shape[1])
        if not np.may_share_memory(W, s.w):
            s.w[...] = W.transpose(0, 2, 1)
        return learned

    return fleet_learn


def on_threads(act: Callable[[int, int], Any], count: int, operations: float) -> None:
    """Call act(begin, end) for consecutive parts of `count` members, each on a thread of its own."""
    threads = min(allowed_threads() if operations > MIN_OPERATIONS else 1, max(count, 1))
    if threads == 1:
        act(0, count)
        return
    parts = [(count * k // threads, count * (k + 1) // threads) for k in range(threads)]
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(act, begin, end) for begin, end in parts[1:]]
        act(*parts[0])
        for other in others:
            other.result()

"""Fleets of lms and nlms: gradient steps, each member with its own weights, step sizes and eps."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_numba._arrays import Array, BoundRows, Indices, Scalar
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._finite import NOT_FINITE, is_finite
from orfit_bench_numba._fleets import on_threads, useful_threads
from orfit_bench_numba._gradient import apply_row, dot_products
from orfit_bench_numba._gradient_outputs import take_steps_of_outputs


@compiled("W R r I I r r b I w i i")
def learn_members(
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
    """Learn the rows of members[begin:end], with one output; counts them in `learned`.

    W (N, d). A member stops before a row that would make its weights infinite.
    """
    for j in range(begin, end):
        w = W[members[j]]
        for t in range(starts[j], starts[j + 1]):
            f, square = dot_products(w, X[t])
            if len(out):
                out[t] = f
            if apply_row(w, step[t], eps[j], normalized, X[t], y[t] - f, square) != 1:
                break
            learned[j] += 1


@compiled("M R R I I r r f b I W i i")
def learn_members_of_outputs(
    W: Array,
    X: Array,
    Y: Array,
    members: Indices,
    starts: Indices,
    step: Array,
    eps: Array,
    tiny: Scalar,
    normalized: bool,
    learned: Indices,
    out: Array,
    begin: int,
    end: int,
) -> None:
    """Learn the rows of members[begin:end] with several outputs, W (N, d, c), as `learn_members`."""
    for j in range(begin, end):
        rows = slice(starts[j], starts[j + 1])
        predictions = out[rows]
        learned[j] = take_steps_of_outputs(
            W[members[j]], X[rows], Y[rows], step[rows], eps[j], tiny, normalized, predictions, True
        )


@compiled("W C R r r b W")
def learn_row_each(W: Array, X: Array, Y: Array, step: Array, eps: Array, normalized: bool, out: Array) -> Any:
    """Learn a row X (N, 1, d) with a target Y (N, 1) for each member; W (N, d). See `Kernel.bind_members`.

    Returns how many members learned: those before the first whose weights would not be finite.
    """
    if not (is_finite(X.reshape(-1)) and is_finite(Y.reshape(-1))):
        return NOT_FINITE
    for i in range(len(W)):
        f, square = dot_products(W[i], X[i, 0])
        if len(out):
            out[i, 0] = f
        if apply_row(W[i], step[i], eps[i], normalized, X[i, 0], Y[i, 0] - f, square) != 1:
            return i
    return len(W)


def operations(n: int, d: int, c: int) -> float:
    """The number of operations for n rows with d features and c outputs."""
    return 4.0 * n * d * c


def bind_members(s: State, p: FleetParams, normalized: bool) -> BoundRows | None:
    """`bind_members` of lms, or of nlms if normalized: None for several outputs, and if threads are faster."""
    size, d, c = s.w.shape
    if c > 1 or useful_threads(operations(size, d, c)) > 1:
        return None
    dtype = s.w.dtype
    step, eps = p.step_size.astype(dtype), p.eps.astype(dtype) if normalized else np.zeros(size, dtype)
    entry, w = learn_row_each.entry_point(dtype), s.w.reshape(size, d)
    return lambda X, Y, out: entry(w, X, Y, step, eps, normalized, out)


def make_gradient_fleet_learn(normalized: bool) -> Any:
    """Make `fleet_learn` of lms, or of nlms if normalized."""

    def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
        learned, dtype, info = np.zeros(len(p.members), np.int64), X.dtype, np.finfo(X.dtype)
        eps = p.eps.astype(dtype) if normalized else np.zeros(len(learned), dtype)
        given, step = (p.members, p.starts), p.step_size.astype(dtype)
        act: Any
        if Y.shape[1] == 1:
            predictions = np.empty(0, dtype) if out is None else out[:, 0]
            one = s.w[:, :, 0], X, Y[:, 0], *given, step, eps, normalized, learned, predictions
            act = lambda begin, end: learn_members(*one, begin, end)  # noqa: E731
        else:
            table = np.empty((0, Y.shape[1]), dtype) if out is None else out
            several = s.w, X, Y, *given, step, eps, info.tiny / info.eps, normalized, learned, table
            act = lambda begin, end: learn_members_of_outputs(*several, begin, end)  # noqa: E731
        on_threads(act, len(learned), operations(len(X), X.shape[1], Y.shape[1]))
        return learned

    return fleet_learn

"""Fleets of apa: each member has its own window of rows, from which `_sliding_apa` learns.

If it refuses rows because the rows of their windows are nearly dependent, these rows are learned together by one step
of the reference.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.kernels.fleets import learn_row_each, learn_with_rest, make_fleet_learn, on_targets
from orfit_bench.kernels.guards import moderate_size
from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_numba._arrays import Array, Indices, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._fleets import by_output, on_threads, store_by_output
from orfit_bench_numba._sequential_rls import max_abs
from orfit_bench_numba._sliding_apa import WINDOW_PERIOD, condition_limit, slide
from orfit_bench_numpy.apa import step_members


@compiled("M M M I R R I I I r r I W i f f i i")
def learn_members(
    W: Array,
    window: Array,
    targets: Array,
    counts: Indices,
    X: Array,
    Y: Array,
    members: Indices,
    starts: Indices,
    places: Indices,
    step: Array,
    eps: Array,
    learned: Indices,
    out: Array,
    order: int,
    max_size: Scalar,
    max_condition: Scalar,
    begin: int,
    end: int,
) -> None:
    """Learn rows of members[j] for j in places[begin:end], starting at row learned[j]; W (N, c, d).

    window (N, rows, d) and targets (N, rows, c) contain the last counts (N,) rows, at most `order`.
    """
    for j in places[begin:end]:
        i = members[j]
        while starts[j] + learned[j] < starts[j + 1]:
            first = starts[j] + learned[j]
            rows = slice(first, min(first + WINDOW_PERIOD, starts[j + 1]))
            n = counts[i]
            k = min(n, order - 1)
            if not max_abs(W[i]) < max_size * max_size * max_size:
                break
            old = window[i, n - k : n], targets[i, n - k : n]
            size = min(order, k + rows.stop - first)
            done = slide(W[i], old, X[rows], Y[rows], step[rows], out[rows], size, eps[j], max_size, max_condition)
            new = slice(first, first + done)
            counts[i] = append_rows(window[i], targets[i], n, min(order, n + done), X[new], Y[new])
            learned[j] += done
            if first + done < rows.stop:
                break


@inline
def append_rows(window: Array, targets: Array, n: int, after: int, X: Array, Y: Array) -> Any:
    """Append rows to a window of n rows and keep the last `after` rows; returns `after`."""
    kept = max(after - len(X), 0)
    for to in range(kept if kept < n else 0):
        window[to] = window[n - kept + to]
        targets[to] = targets[n - kept + to]
    for to in range(kept, after):
        window[to] = X[len(X) - after + to]
        targets[to] = Y[len(X) - after + to]
    return after


def make_apa_fleet_learn(learn: Any) -> Any:
    """Make `fleet_learn` of apa; it calls `learn` per member if a window can have as many rows as features, or more."""
    one_by_one = make_fleet_learn(learn)

    def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
        order = int(p.projection_order[0]) if len(p.members) else 0
        if not 0 < order <= X.shape[1]:
            found: Indices = one_by_one(s, X, Y, p, out)
            return found
        predictions = np.empty(Y.shape, X.dtype) if out is None else out
        dtype = X.dtype
        step, eps = p.step_size.astype(dtype), p.eps.astype(dtype)
        limits = order, moderate_size(dtype), condition_limit(dtype)

        def advance(places: Indices, learned: Indices) -> None:
            W, count = by_output(s.w, p.members), s.count[:, 0].copy()
            rows = X, Y, p.members, p.starts, places, step, eps, learned, predictions
            act = partial(learn_members, W, s.rows, s.targets, count, *rows, *limits)
            on_threads(act, len(places), 4.0 * X.size * order)
            store_by_output(s.w, W, p.members)
            s.count[:, 0] = count

        return learn_with_rest(advance, partial(learn_row_each, on_targets(step_members), s, X, Y, p, out), p)

    return fleet_learn

"""Fleets of sgd: each member takes the steps of one learner, with its own settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._fleets import on_threads
from orfit_bench_numba._losses import LOSS_PARAMETERS, LOSSES
from orfit_bench_numba._sgd_steps import learn_rows


@compiled("W W W w R R I I (r r r) i (r r r) I W i i")
def learn_members(
    W: Array,
    previous: Array,
    average: Array,
    total: Array,
    X: Array,
    Y: Array,
    members: Indices,
    starts: Indices,
    schedule: Any,
    loss: int,
    numbers: Any,
    learned: Indices,
    out: Array,
    begin: int,
    end: int,
) -> None:
    """Learn the rows of members[begin:end]; counts them in `learned`.

    W, previous and average (N, d c), total (N,); fields that the state does not have are of size 0. `numbers` contains
    the parameter of the loss, the ridge and the radius for each of `members`. A member stops before a row that would
    make its weights infinite.
    """
    step, beta, counts = schedule
    parameter, ridge, radius = numbers
    slopes, ahead = np.empty((1, Y.shape[1]), W.dtype), np.empty(W.shape[1], W.dtype)
    for j in range(begin, end):
        i = members[j]
        averaged = total[i : i + 1] if len(total) else total
        learned[j] = learn_rows(
            starts[j],
            starts[j + 1],
            X,
            Y,
            W[i],
            previous[i],
            average[i],
            averaged,
            step,
            beta,
            counts,
            loss,
            parameter[j],
            ridge[j],
            radius[j],
            True,
            slopes,
            ahead,
            out,
        )


def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
    """Learn the rows of all members, by the steps of one learner."""
    learned, dtype = np.zeros(len(p.members), np.int64), X.dtype
    if not len(X):
        return learned
    loss = str(p.loss[0])
    parameter = getattr(p, LOSS_PARAMETERS[loss]) if loss in LOSS_PARAMETERS else np.zeros(len(learned))
    numbers = tuple(np.ascontiguousarray(a, dtype) for a in (parameter, p.ridge, p.radius))
    schedule = tuple(np.ascontiguousarray(a, dtype) for a in (p.step_size, *momentum_and_counts(p, len(X))))
    absent, size = np.empty((p.size, 0), dtype), (p.size, -1)
    fields = (
        s.w.reshape(size),
        getattr(s, "previous", absent).reshape(size),
        getattr(s, "average", absent).reshape(size),
    )
    total = getattr(s, "average_weight", np.empty(0, dtype))
    predictions = np.empty((0, 0), dtype) if out is None else out
    given = *fields, total, X, Y, p.members, p.starts, schedule, LOSSES[loss], numbers, learned, predictions
    on_threads(lambda begin, end: learn_members(*given, begin, end), len(learned), 8.0 * X.size * Y.shape[1])
    return learned


def momentum_and_counts(p: FleetParams, rows: int) -> tuple[Any, Any]:
    """For each row, the momentum of its step (0 in the first step) and the weight of its iterate in the average."""
    averaging, momentum = str(p.averaging[0]), p.momentum
    if averaging != "tail" and not momentum.any():
        return np.zeros(rows), p.weights if averaging == "weighted" else np.ones(rows)
    starts, counts = p.starts[:-1], np.diff(p.starts)
    times = np.repeat(p.t - starts, counts) + np.arange(rows)
    beta = np.where(times == 1, 0, momentum)
    if averaging == "weighted":
        return beta, p.weights
    return beta, times >= np.repeat(p.tail_start, counts) if averaging == "tail" else np.ones(rows)

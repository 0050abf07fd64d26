"""Fleets of kalman: each member has separate covariance, motion and noise; rows are learned as in `_kalman_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._borrow import hold
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._covariance import MIN_FEATURES
from orfit_bench_numba._fleets import by_output, on_threads, store_by_output
from orfit_bench_numba._kalman_rows import Motion, move_rows
from orfit_bench_numba._kalman_step import allocate


@compiled("M M R R r (R C R C R C) I W w I I I W (M M M M) i i")
def learn_members(
    P: Array,
    W: Array,
    X: Array,
    Y: Array,
    noise: Array,
    motion: Motion,
    n_before: Indices,
    scale: Array,
    degraded: Array,
    members: Indices,
    starts: Indices,
    learned: Indices,
    out: Array,
    records: tuple[Array, Array, Array, Array],
    begin: int,
    end: int,
) -> None:
    """Learn the rows of members[begin:end], with these noises (n,); counts them in `learned`.

    W (N, c, d) contains the means by output. `motion` has one entry per member, or one for all; the records are empty.
    """
    f, F, q, Q, moves, U = motion
    work, owner = allocate(W[0], max(F.shape[1], Q.shape[1]))
    for j in range(begin, end):
        i, rows = members[j], slice(starts[j], starts[j + 1])
        own: Any = own_entry(f, j), own_entry(F, j), own_entry(q, j), own_entry(Q, j), own_entry(moves, j), U
        learned[j] = move_rows(
            P[i],
            W[i],
            X[rows],
            Y[rows],
            noise[rows],
            own,
            n_before[j],
            scale[i],
            degraded[i : i + 1],
            out[rows],
            records,
            work,
        )
    hold(owner)


@inline
def own_entry(a: Array, j: int) -> Any:
    """Entry j of an array with one entry per member, or its only entry."""
    k = j if len(a) > 1 else 0
    return a[k : k + 1]


def make_kalman_fleet_learn(learn: Any, collect_motion: Any, no_records: Any) -> Any:
    """Make `fleet_learn` of kalman from functions of the kernel of one learner.

    It calls `learn` per member if a row has no noise, if the state has a root, and for many features.
    """
    one_by_one = make_fleet_learn(learn)

    def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
        compiles = len(p.members) and not hasattr(s, "root") and X.shape[1] < MIN_FEATURES
        if not (compiles and (p.dynamics.observation_noise > 0).all()):
            found: Indices = one_by_one(s, X, Y, p, out)
            return found
        model, learned = p.dynamics, np.zeros(len(p.members), np.int64)
        W = by_output(s.mean, p.members)
        motion, d = collect_motion(model, slice(0, len(learned)), W[0]), X.shape[1]
        noise = np.repeat(np.broadcast_to(model.observation_noise, len(learned)), np.diff(p.starts)).astype(X.dtype)
        predictions = np.empty((0, Y.shape[1]), X.dtype) if out is None else out
        given = s.covariance, W, X, Y, noise, motion, p.t - 1, s.scale, s.precision_lost, p.members, p.starts, learned
        records, by_matrix = no_records(X.dtype), max(motion[1].shape[1], motion[3].shape[1]) > 0
        work = X.size * d * (3.0 * d if by_matrix else 7.0)
        with limit_blas_threads(work if by_matrix else 0):
            on_threads(lambda begin, end: learn_members(*given, predictions, records, begin, end), len(learned), work)
        store_by_output(s.mean, W, p.members)
        return learned

    return fleet_learn

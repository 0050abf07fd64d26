"""Fleets of ridge: each member adds its rows to its own L (d, d) and m (d, c), one after another.

Each prediction needs a factorization and a check of its precision, by LAPACK. With predictions, or if a BLAS product of
many rows is faster, each member learns with the kernel for a single learner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.kernels.information import weights_of_rows
from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._fleets import on_threads
from orfit_bench_numba._ridge_rows import add_row

MAX_FEATURES = 64
"""Largest number of features for which rows are added one after another."""


@compiled("M M R R I I r r I i i")
def learn_members(
    L: Array,
    m: Array,
    X: Array,
    Y: Array,
    members: Indices,
    starts: Indices,
    kept: Array,
    weights: Array,
    learned: Indices,
    begin: int,
    end: int,
) -> None:
    """Add the rows of members[begin:end], each with its weight; counts them in `learned`.

    A member stops before a row that would make a number infinite.
    """
    for j in range(begin, end):
        i = members[j]
        for t in range(starts[j], starts[j + 1]):
            if not add_row(L[i], m[i], X[t], Y[t], kept[j], weights[t]):
                break
            learned[j] += 1


def make_ridge_fleet_learn(learn: Any) -> Any:
    """Make `fleet_learn` of ridge."""
    one_by_one = make_fleet_learn(learn)

    def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
        if out is not None or X.shape[1] > MAX_FEATURES:
            found: Indices = one_by_one(s, X, Y, p, out)
            return found
        learned, kept = np.zeros(len(p.members), np.int64), np.minimum(p.forgetting_factor, 1).astype(X.dtype)
        given = (
            X,
            Y,
            p.members,
            p.starts,
            kept,
            weights_of_rows(p.forgetting_factor, p.t, p.starts).astype(X.dtype),
            learned,
        )
        work = 2.0 * X.size * X.shape[1]
        on_threads(lambda begin, end: learn_members(s.information, s.moment, *given, begin, end), len(learned), work)
        return learned

    return fleet_learn

"""Fleets of oja: each member orthonormalizes its C (d, k) after each row, as in `_orthonormal_row`.

Rows that would lose digits there, and one row in RENEWAL_PERIOD, are learned together by one step of the reference,
which removes the accumulated rounding.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from orfit_bench.kernels.fleets import learn_row_each, learn_with_rest
from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._fleets import on_threads
from orfit_bench_numba._orthonormal_row import rotate
from orfit_bench_numba._subspace import RENEWAL_PERIOD
from orfit_bench_numpy.oja import step_members


@compiled("M R I I I I r I i i i")
def learn_members(
    C: Array,
    X: Array,
    members: Indices,
    starts: Indices,
    places: Indices,
    t: Indices,
    step: Array,
    learned: Indices,
    period: int,
    begin: int,
    end: int,
) -> None:
    """Learn rows of members[j] for j in places[begin:end], starting at row learned[j] and step t[j] + learned[j]."""
    room, r = np.empty((4, C.shape[2]), C.dtype), np.empty(C.shape[1], C.dtype)
    for j in places[begin:end]:
        i = members[j]
        while starts[j] + learned[j] < starts[j + 1]:
            row, done = starts[j] + learned[j], t[j] + learned[j] - 1
            if (done % period == 0 and done > 0) or not rotate(C[i], X[row], step[row], False, room, r):
                break
            learned[j] += 1


def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
    """Learn the rows of all members."""
    step, work = p.step_size.astype(X.dtype), 4.0 * X.size * s.basis.shape[2]

    def advance(places: Indices, learned: Indices) -> None:
        given = s.basis, X, p.members, p.starts, places, p.t, step, learned, RENEWAL_PERIOD
        on_threads(lambda begin, end: learn_members(*given, begin, end), len(places), work)

    return learn_with_rest(advance, partial(learn_row_each, step_members, s, X, Y, p, out), p)

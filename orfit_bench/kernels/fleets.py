"""The kernel of a fleet from that of one learner, and loops over the rows that members have in common.

Shapes: X (n, d) rows sorted by member, Y (n, r) targets, s.NAME (N, ...) the fields of all N members; p.members (m,)
are the members that get rows; members[j] gets the rows p.starts[j] to p.starts[j + 1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.kernels.guards import is_degraded
from orfit_bench.spec.kernel_arguments import FleetParams, State

Array = NDArray[Any]
Learn = Callable[[Any, Array, Array, Any, Array | None], int]
FleetLearn = Callable[[Any, Array, Array, Any, Array | None], Array]
Step = Callable[[Any, Array, Array, Any, Array, Array], Array]
"""step(s, x, e, p, j, row): members learn a row each, x (m, d) with errors e (m, r); returns which applied it.

`j` (m,) are the places of the members in p.members, `row` (m,) the indices of their rows in the call.
"""
StepOnTargets = Callable[[Any, Array, Array, Any, Array, Array, Array | None], Array]
"""step(s, x, y, p, j, row, out): the same with targets y (m, r); predictions go to out[row] unless out is None."""


def make_fleet_learn(learn: Learn) -> FleetLearn:
    """`fleet_learn` as a loop over members: equal to single learners bit for bit, without their cost per call."""

    def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Array:
        learned = np.zeros(len(p.members), np.int64)
        for j, i in enumerate(p.members.tolist()):
            rows = slice(int(p.starts[j]), int(p.starts[j + 1]))
            if rows.start < rows.stop:
                one = type(s)(*(a[i, ...] for a in s))
                learned[j] = learn(one, X[rows], Y[rows], p.of(j), None if out is None else out[rows])
        return learned

    return fleet_learn


def learn_with_rest(
    advance: Callable[[Array, Array], None], step_together: Callable[[Array, Array], Array], p: FleetParams
) -> Array:
    """Learn the rows of members by `advance`, and rows that it leaves by a step that all these members take together.

    advance(places, learned) continues at row learned[j] of members[j], for each j of `places`, as far as it can.
    step_together(j, row) learns a row of each of these members, and returns which applied it.
    """
    learned, counts = np.zeros(len(p.members), np.int64), np.diff(p.starts)
    places = np.flatnonzero(counts)
    while len(places):
        advance(places, learned)
        left = places[learned[places] < counts[places]]
        places = left[step_together(left, p.starts[left] + learned[left])] if len(left) else left
        learned[places] += 1
        places = places[learned[places] < counts[places]]
    return learned


def learn_row_each(
    step: StepOnTargets, s: State, X: Array, Y: Array, p: FleetParams, out: Array | None, j: Array, row: Array
) -> Array:
    """Members j learn a row each by a step that they take together; returns which applied it."""
    i = p.members[j]
    everyone = len(i) == p.size
    part = s if everyone else type(s)(*(a[i] for a in s))
    applied = step(part, X[row], Y[row], p, j, row, out)
    if not everyone:
        for field, a in zip(s, part, strict=True):
            field[i] = a
    return applied


def rounds(starts: Array) -> Iterator[tuple[Array, Array]]:
    """The k-th row of every member that has one, for k = 0, 1, ...: places of the members, and their rows."""
    counts = np.diff(starts)
    for k in range(int(counts.max(initial=0))):
        j = np.flatnonzero(counts > k)
        yield j, starts[j] + k


def make_batched_learn(step: Step) -> FleetLearn:
    """`fleet_learn` of a linear model from a step that all members take together; a member that is refused stops."""
    return make_batched_rounds(on_targets(step))


def on_targets(step: Step) -> StepOnTargets:
    """The step of a linear model on targets, which also predicts."""

    def step_on_targets(s: State, x: Array, y: Array, p: FleetParams, j: Array, row: Array, out: Array | None) -> Array:
        f = (x[:, None] @ s.w)[:, 0]
        if out is not None:
            out[row] = f
        return step(s, x, y - f, p, j, row)

    return step_on_targets


def make_batched_rounds(step: StepOnTargets) -> FleetLearn:
    """`fleet_learn` from a step on targets that all members take together; a member whose step is refused stops."""

    def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Array:
        learned, running = np.zeros(len(p.members), np.int64), np.ones(len(p.members), bool)
        for j, row in rounds(p.starts):
            if not running.all():
                j, row = j[running[j]], row[running[j]]
            if not len(j):  # only members that were refused have more rows
                break
            applied = learn_row_each(step, s, X, Y, p, out, j, row)
            learned[j] += applied
            running[j] = applied
        return learned

    return fleet_learn


def move_members(w: Array, move: Array) -> Array:
    """w <- w + move (m, p, r) for the members whose sum is finite; returns which."""
    moved = w + move
    applied: Array = np.isfinite(moved).all(axis=(1, 2))
    w[applied] = moved[applied]
    return applied


def diagonals(P: Array) -> Array:
    """The diagonals (m, p) of matrices P (m, p, p)."""
    return np.diagonal(P, axis1=1, axis2=2)


class Innovations(NamedTuple):
    """A row for each of m members: V (m, p), the deviation (m,) and the verdicts on them (m,)."""

    V: Array
    deviation: Array
    accepted: Array
    degraded: Array


def measure_innovations(
    P: Array, x: Array, noise: Array, left: Array, variances: Array, max_rounding: Any, max_cancellation: Any
) -> Innovations:
    """V = P x / sqrt(S) with S = x'P x + noise, and whether enough digits are left, as in `guards.factor_covariance`.

    P (m, p, p), x and variances (m, p), the others (m,) or numbers; left is the least variance that the next row finds
    along x.
    """
    info = np.finfo(P.dtype)
    U = (P @ x[:, :, None])[:, :, 0]
    S = np.vecdot(x, U) + noise
    widest = np.sqrt(np.abs(variances))
    rounding, cancellation = info.eps * np.vecdot(np.abs(x), widest) ** 2 / S, info.eps * S / left
    accepted = (S > 0) & (noise * (1 - info.eps**0.5) <= S)
    accepted &= (rounding <= max_rounding) & (cancellation <= max_cancellation)
    degraded = is_degraded(rounding, cancellation, widest.max(axis=1), P.dtype)
    deviation = np.sqrt(np.where(S > 0, S, 1))
    return Innovations(U / deviation[:, None], deviation, accepted, degraded)

"""Fleets whose members have learned unlike numbers of rows, or meet rows of extreme size."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, skip_if
from orfit_bench.conformance.checks.extreme_values import EXTREMES, SMALL
from orfit_bench.conformance.checks.fleets import MEMBERS, compare_members, learn_fleet, needs_fleets, new_members
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.errors import DivergedError
from orfit_bench.learners.fleets.factory import stack


@check(needs_fleets)
def fleet_members_join_one_by_one(context: CheckContext) -> Deviation:
    """Members that have learned no row, one, two and more learn the next rows of a call as if each were alone."""
    alone = new_members(context)
    fleet, chunk = stack(alone), context.rows(n=2 * MEMBERS * MEMBERS)
    at = 0
    for newest in range(MEMBERS):  # each call has a row for the members so far
        rows = chunk.cut(at, at + newest + 1)
        at += newest + 1
        _learn_a_row_each(context, fleet, alone, rows, list(range(newest + 1))[:: 1 - 2 * (newest % 2)])
    _learn_a_row_each(context, fleet, alone, chunk.cut(at, at + MEMBERS), list(range(MEMBERS)))
    return compare_members(context, fleet, alone, chunk, "after members have joined")


def _learn_a_row_each(context: CheckContext, fleet: Any, alone: list[Any], rows: Chunk, members: list[int]) -> None:
    """Each of these members learns a row."""
    learn_fleet(fleet, rows.X, rows.y, np.array(members))
    for j, i in enumerate(members):
        context.learn(alone[i], rows.cut(j, j + 1))


@check(needs_fleets)
def fleet_members_meet_extreme_rows_alone(context: CheckContext) -> None:
    """A row of extreme size, or with an extreme target, is refused by a member where the learner alone refuses it."""
    alone = new_members(context)
    skip_if(context.variant.outputs, "targets of several outputs are extreme in the same way")
    fleet, chunk = stack(alone), context.rows(n=3 * MEMBERS)
    parts = [_with_extreme_row(context, chunk.cut(3 * i, 3 * i + 3), sizes) for i, sizes in enumerate(EXTREMES)]
    refused = [i for i, part in enumerate(parts) if _refuses(context, alone[i], part)]
    named: tuple[int, ...] = ()
    try:
        with np.errstate(all="ignore"):
            learn_fleet(fleet, *_stacked(parts))
    except DivergedError as error:
        named = error.members
    ensure(sorted(named) == refused, f"the members {sorted(named)} refuse a row, learners that are alone: {refused}")
    for i, learner in enumerate(alone):
        finite = all(np.isfinite(a).all() for a in host_arrays_of(fleet[i]).values() if a.dtype.kind == "f")
        ensure(finite, f"member {i} is not finite after an extreme row")
        ensure(fleet[i].n_samples_seen_ == learner.n_samples_seen_, f"member {i} has not counted the rows it learned")


def _with_extreme_row(context: CheckContext, part: Chunk, sizes: tuple[float | None, float | None]) -> Chunk:
    """The rows, of which the last but one has numbers of these sizes, and its target, too, if it is a number."""
    half, (x, y) = float(np.finfo(context.dtype).max) / 2, sizes
    X, targets = np.array(part.X), part.y
    X[1] = half**x if x else SMALL
    if y and targets is not None and context.method.traits.numbers:
        targets = np.array(targets)
        targets[1] = half**y
    changed = part._replace(X=X, y=targets)
    return changed if context.accepts(changed) else part._replace(X=X)


def _refuses(context: CheckContext, learner: Any, part: Chunk) -> bool:
    try:
        with np.errstate(all="ignore"):
            context.learn(learner, part)
    except DivergedError:
        return True
    return False


def _stacked(parts: list[Chunk]) -> tuple[Array, Array | None]:
    """The rows of all members, and their targets."""
    targets = [part.y for part in parts if part.y is not None]
    return np.stack([part.X for part in parts]), np.stack(targets) if targets else None

"""Fleets whose members have learned different numbers of rows, or receive rows of extreme size."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, skip_if
from orfit_bench.conformance.checks.extreme_values import EXTREMES, SMALL
from orfit_bench.conformance.checks.fleets import (
    MEMBERS,
    compare_members,
    ensure_same_refusals,
    members_that_refuse,
    needs_fleets,
    new_members,
    refuses,
    stacked,
)
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.conformance.large_states import large_fields, with_large_field
from orfit_bench.conformance.precision_marks import GROWTH, mark_of
from orfit_bench.conformance.rows import Chunk
from orfit_bench.learners.fleets.factory import stack

SIZES_OF_ROWS = 2
"""Number of fleets with rows of growing size: each member has larger rows than the previous member."""


@check(needs_fleets)
def fleet_members_join_one_by_one(context: CheckContext) -> Deviation:
    """Members that have learned zero, one, two and more rows learn the rows of a call like separate learners."""
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
    fleet.partial_fit(rows.X, rows.y, which=np.array(members))
    for j, i in enumerate(members):
        context.learn(alone[i], rows.cut(j, j + 1))


@check(needs_fleets)
def fleet_members_meet_extreme_rows_alone(context: CheckContext) -> None:
    """A member refuses a row of extreme size, or with an extreme target, exactly if a separate learner does."""
    alone = new_members(context)
    skip_if(context.variant.outputs, "targets of several outputs are extreme in the same way")
    fleet, chunk = stack(alone), context.rows(n=3 * MEMBERS)
    parts = [with_extreme_row(context, chunk.cut(3 * i, 3 * i + 3), sizes) for i, sizes in enumerate(EXTREMES)]
    refused = [i for i, part in enumerate(parts) if refuses(context, alone[i], part)]
    named = members_that_refuse(fleet, *stacked(parts))
    ensure_same_refusals(named, refused)
    ensure_finite_and_counted(fleet, alone, "after an extreme row")


@check(needs_fleets)
def fleet_members_with_large_states_are_alone(context: CheckContext) -> None:
    """A member with a number near the largest float in its state refuses a row exactly if a separate learner does."""
    start = new_members(context)[0]
    chunk = context.rows(n=MEMBERS + 2)
    context.learn(start, chunk.cut(0, MEMBERS))
    X = np.array(chunk.X)
    X[MEMBERS:] *= X.dtype.type(float(np.finfo(context.dtype).max) ** -0.6)  # so that only a limit is exceeded
    X[MEMBERS] = 0
    rows = chunk.with_rows(X).cut(MEMBERS, MEMBERS + 2)
    for name in large_fields(start):
        alone = [with_large_field(context, start, name, 0.4 / 2**i) for i in range(MEMBERS)]
        fleet = stack([learner.copy() for learner in alone])
        refused = [i for i, learner in enumerate(alone) if refuses(context, learner, rows)]
        named = members_that_refuse(fleet, *stacked([rows] * MEMBERS))
        ensure(named == refused, f"with a large {name} the members {named} refuse a row, learners alone: {refused}")
        ensure_finite_and_counted(fleet, alone, f"from a large {name} on")


def with_extreme_row(context: CheckContext, part: Chunk, sizes: tuple[float | None, float | None]) -> Chunk:
    """The rows, with numbers of these sizes in the last but one and in its target if it is a number.

    The last row is zero, since rounding would decide whether digits are left for another row.
    """
    half, (x, y) = float(np.finfo(context.dtype).max) / 2, sizes
    X, targets = np.array(part.X), part.y
    X[1], X[2] = half**x if x else SMALL, 0
    if y and targets is not None and context.method.traits.numbers:
        targets = np.array(targets)
        targets[1] = half**y
    changed = part._replace(X=X, y=targets)
    return changed if context.accepts(changed) else part._replace(X=X)


def ensure_finite_and_counted(fleet: Any, alone: list[Any], after: str) -> None:
    """The members are finite, and have learned as many rows as the separate learners."""
    for i, learner in enumerate(alone):
        finite = all(np.isfinite(a).all() for a in host_arrays_of(fleet[i]).values() if a.dtype.kind == "f")
        ensure(finite, f"member {i} is not finite {after}")
        got, want = fleet[i].n_samples_seen_, learner.n_samples_seen_
        ensure(got == want, f"member {i} counts {got} rows {after}, the learner that is alone {want}")


@check(needs_fleets)
def fleet_members_lose_digits_alone(context: CheckContext) -> None:
    """Rows of any size mark lost precision in members, or are refused, exactly as in separate learners."""
    chunk = context.rows(n=2 * MEMBERS)
    for step in range(SIZES_OF_ROWS):
        alone = new_members(context)
        fleet = stack(alone)
        parts = [_growing(chunk.cut(2 * i, 2 * i + 2), GROWTH ** (1 + MEMBERS * step + i)) for i in range(MEMBERS)]
        refused = [i for i, part in enumerate(parts) if refuses(context, alone[i], part)]
        named = members_that_refuse(fleet, *stacked(parts))
        ensure_same_refusals(named, refused)
        marks, want = ([mark_of(context, one) for one in learners] for learners in (fleet, alone))
        ensure(marks == want, f"the marks of lost precision of the members are {marks}, of learners alone {want}")


def _growing(part: Chunk, factor: float) -> Chunk:
    """The rows, with the second multiplied by a factor."""
    X = np.array(part.X)
    X[1] *= X.dtype.type(factor)
    return part.with_rows(X)

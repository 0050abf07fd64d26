"""Calls of a fleet with a row for each member, and predictions of fleets before each step."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if, worst
from orfit_bench.conformance.checks.chunks import needs_predictions
from orfit_bench.conformance.checks.fleets import (
    MEMBERS,
    compare_many_members,
    compare_members,
    compare_predictions,
    ensure_same_refusals,
    members_that_refuse,
    needs_fleets,
    new_members,
    own_settings,
    refuses,
    stacked,
    with_huge_row,
)
from orfit_bench.conformance.checks.joining import ensure_finite_and_counted, with_extreme_row
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.learners.fleets.factory import stack

CALLS = 6
"""Number of calls with a row for each member."""
UNEVEN = [0, 2, 0, MEMBERS - 1, 2, 2, 0]
"""The members of the rows of a call."""


def row_each(parts: list[Chunk], k: int) -> tuple[Array, Array | None]:
    """Row k of each part, in the shape of a call, X (N, 1, d) and y (N, 1), and in the dtype of X."""
    X, y = stacked([part.cut(k, k + 1) for part in parts])
    return X, y.astype(X.dtype) if y is not None and y.dtype.kind == "f" else y


def known_to(learner: Any, fleet: Any, predictions: Array) -> Array:
    """The columns of the classes that a learner knows, in its order; all columns if targets are not labels."""
    if not hasattr(learner, "classes_"):
        return predictions
    classes = list(fleet.classes_)
    return predictions[..., [classes.index(label) for label in learner.classes_]]


@check(needs_fleets)
def fleet_learns_a_row_each(context: CheckContext) -> Deviation:
    """Members with different settings that learn a row in each call equal separate learners.

    So do the predictions of every other call. In one more call, a member gets a row that is too large.
    """
    new_members(context)  # skips variants that fleets do not support
    alone, chunk = [context.create(**own) for own in own_settings(context)], context.rows(n=CALLS * MEMBERS)
    parts = [chunk.cut(CALLS * i, CALLS * (i + 1)) for i in range(MEMBERS)]
    fleet, pairs = stack(alone), []
    for k in range(CALLS):
        X, y = row_each(parts, k)
        found = fleet.prequential(X, y) if k % 2 and y is not None else fleet.partial_fit(X, y)
        for i, learner in enumerate(alone):
            want = context.learn(learner, parts[i].cut(k, k + 1))
            if found is not fleet:
                pairs.append((known_to(learner, fleet, found[i]), want))
    last = [part.with_rows(with_huge_row(part.X, 0)) if i == 1 else part for i, part in enumerate(parts)]
    refused = [i for i, learner in enumerate(alone) if refuses(context, learner, last[i].cut(0, 1))]
    named = members_that_refuse(fleet, *row_each(last, 0))
    ensure_same_refusals(named, refused)
    rows = [CALLS * i + np.arange(CALLS) for i in range(MEMBERS)]
    members = compare_members(context, fleet, alone, chunk, "rows one by one", rows)
    many = compare_many_members(context, ((0, 1), (1, 2), (2, 3)))
    before = context.compare(chunk, *pairs, of="the predictions of a fleet")
    return worst([members, before, *compare_predictions(context, fleet, alone, chunk), many])


def needs_fleets_that_predict(context: CheckContext) -> str:
    """The kernel must learn fleets, and the method predict targets."""
    return needs_fleets(context) or needs_predictions(context)


@check(needs_fleets_that_predict)
def fleet_predicts_before_each_step(context: CheckContext) -> Deviation:
    """`prequential` of a fleet predicts each row like a separate learner, in calls with any number of rows."""
    alone = new_members(context)
    fleet, chunk = stack(alone), context.rows(n=CALLS * MEMBERS + len(UNEVEN))
    parts = [chunk.cut(CALLS * i, CALLS * (i + 1)) for i in range(MEMBERS)]
    pairs = []
    for begin, end in ((0, 2), (2, 3), (3, 4), (4, CALLS)):  # several rows for each member, then one, then several
        X, y = row_each(parts, begin) if end == begin + 1 else stacked([part.cut(begin, end) for part in parts])
        found = fleet.prequential(X, y)
        for i, learner in enumerate(alone):
            want = context.learn(learner, parts[i].cut(begin, end))
            pairs.append((known_to(learner, fleet, found[i]), want))
    last = chunk.cut(CALLS * MEMBERS, len(chunk.X))
    found = fleet.prequential(last.X, last.y, which=UNEVEN)
    for j, i in enumerate(UNEVEN):
        want = context.learn(alone[i], last.cut(j, j + 1))
        pairs.append((known_to(alone[i], fleet, found[j : j + 1]), want))
    return context.compare(chunk, *pairs, of="the predictions of a fleet")


def ensure_refused(fleet: Any, X: Array, y: Array | None, what: str) -> None:
    """A call with a row for each member raises ValueError, and leaves all members unchanged."""
    before = fleet.to_bytes()
    ensure_raises(lambda: fleet.partial_fit(X, y), ValueError, what)
    ensure(fleet.to_bytes() == before, f"{what} was refused, but has changed a member")


@check(needs_fleets)
def fleet_refuses_a_row_each(context: CheckContext) -> None:
    """In calls with a row each, a member refuses a row of extreme size exactly if a separate learner does.

    A row that is not finite is refused for all members.
    """
    alone = new_members(context)
    skip_if(context.variant.outputs, "targets of several outputs are extreme in the same way")
    fleet, chunk = stack(alone), context.rows(n=3 * MEMBERS)
    for large in (0, MEMBERS - 1):
        sizes = [(1.0, None) if i == large else (None, None) for i in range(MEMBERS)]
        parts = [with_extreme_row(context, chunk.cut(3 * i, 3 * i + 3), size) for i, size in enumerate(sizes)]
        for k in range(3):
            refused = [i for i, part in enumerate(parts) if refuses(context, alone[i], part.cut(k, k + 1))]
            named = members_that_refuse(fleet, *row_each(parts, k))
            ensure_same_refusals(named, refused)
        ensure_finite_and_counted(fleet, alone, "after an extreme row")
    X, y = row_each(parts, 0)
    X[1, 0, 0] = np.nan
    ensure_refused(fleet, X, y, "a row that begins with NaN")


@check(needs_fleets)
def fleet_refuses_numbers_that_are_not_finite(context: CheckContext) -> None:
    """In calls with a row each, a number that is not finite raises ValueError and changes no member."""
    fleet, chunk = stack(new_members(context)), context.rows(n=2 * MEMBERS)
    parts = [chunk.cut(2 * i, 2 * i + 2) for i in range(MEMBERS)]
    for k in range(2):  # from the second call, the kernel can use its own function
        fleet.partial_fit(*row_each(parts, k))
    for value, member in product((np.nan, np.inf), (0, 1, MEMBERS - 1)):
        X, y = row_each(parts, 0)
        X[member, 0, -1] = value
        ensure_refused(fleet, X, y, f"a row of member {member} that ends with {value}")
        if y is not None and y.dtype.kind == "f" and not context.method.traits.gaps:
            targets = np.array(y)
            targets[member] = value
            ensure_refused(fleet, row_each(parts, 0)[0], targets, f"a target {value} of member {member}")

"""Fleets: many learners that learn in one call, each equal to a separate learner."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, skip_if, worst
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.large_states import large_fields, with_large_field
from orfit_bench.conformance.precision_marks import FIRST, GROWING, mark_of, needs_mark, with_growing_rows
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.conformance.tolerance import few_ulps, perturbed
from orfit_bench.errors import DivergedError
from orfit_bench.learners.fleets.factory import stack
from orfit_bench.learners.restoring import from_bytes, restore
from orfit_bench.plugins.registry import registry
from orfit_bench.schedules import Constant
from orfit_bench.spec import LINEAR
from orfit_bench.spec.capability import fleet_absence

MEMBERS = 4
"""Number of members of the fleets that are checked; the last but one gets no rows in ragged calls."""
MANY_MEMBERS = 70
"""Number of members of a large fleet, not a multiple of a block."""
COMPARED = (0, 4, 31, 32, 63, 64, MANY_MEMBERS - 1)
"""The members that are compared with separate learners."""
MAX_PERTURBED = 256
"""The largest number of perturbed learners to try: if few digits are left, as few as one in forty decides that way."""
PREDICTED = 3
"""Number of rows that each member predicts."""
CALLS = ((0, 3), (3, 8), (8, 12))
"""The rows of each call, with different numbers of rows for the members."""


def needs_fleets(context: CheckContext) -> str:
    """The kernel must learn fleets."""
    kernel = registry().kernel(context.backend.name, context.method.name)
    return fleet_absence(kernel, context.method)


def new_members(context: CheckContext) -> list[Any]:
    """New learners, one for each member of the fleet."""
    skip_if(context.variant.model is not LINEAR, "fleets learn the linear model only")
    skip_if(context.batch_size > 1, "fleets learn row by row")
    skip_if(context.variant.time_varying, "time-varying arguments are for single filters only")
    return [context.create() for _ in range(MEMBERS)]


def compare_members(
    context: CheckContext, fleet: Any, alone: list[Any], chunk: Chunk, of: str, rows: Sequence[Array] = ()
) -> Deviation:
    """Compare the members that have learned rows with separate learners; `rows` are the rows of each member."""
    counts = [learner.n_samples_seen_ for learner in alone]
    ensure(fleet.n_samples_seen_.tolist() == counts, f"{of}: {fleet.n_samples_seen_} rows seen, want {counts}")
    pairs = [(fleet[i], learner) for i, learner in enumerate(alone) if learner.n_samples_seen_]
    if not rows:
        return context.compare(chunk, *pairs, of=f"{of}:")
    streams = [chunk.map(partial(np.take, indices=own, axis=0)) for own in rows if len(own)]
    return worst(context.compare(own, pair, of=f"{of}:") for own, pair in zip(streams, pairs, strict=True))


def compare_predictions(context: CheckContext, fleet: Any, alone: list[Any], chunk: Chunk) -> list[Deviation]:
    """Compare the numbers that members predict with those of separate learners; empty if they predict no numbers."""
    if not context.method.traits.supervised or context.method.traits.labels:
        return []
    X, n = chunk.X[:PREDICTED], min(PREDICTED, len(chunk.X))
    found = fleet.predict(np.concatenate([X] * len(alone)), which=np.repeat(np.arange(len(alone)), n))
    wanted = [context.backend.asnumpy(learner.predict(X)) for learner in alone]  # a fleet returns host arrays
    pairs = [(found[n * i : n * i + n], want) for i, want in enumerate(wanted)]
    return [context.compare(chunk, *pairs, of="the predictions of a fleet after all rows")]


@check(needs_fleets)
def fleet_equals_learners(context: CheckContext) -> Deviation:
    """Every member of a fleet equals a separate learner of its rows, for any division into calls, and predicts alike.

    This also holds for a fleet that was restored from its state.
    """
    alone = new_members(context)
    fleet: Any = stack(alone)
    chunk = context.rows(n=6 * MEMBERS)
    X = np.array(chunk.X)
    X[::6, 0] = 0  # the first rows lack a feature, so that products with a diagonal P have an exact zero
    chunk = chunk.with_rows(X)
    parts = [chunk.cut(6 * i, 6 * i + 6) for i in range(MEMBERS)]
    which = np.random.default_rng(context.seed).choice([0, 1, MEMBERS - 1], CALLS[-1][1])
    rows = [np.flatnonzero(which == i) for i in range(MEMBERS)]
    for learner, own in zip(alone, rows, strict=True):
        if len(own):
            context.learn(learner, chunk.map(partial(np.take, indices=own, axis=0)))
    for lo, hi in CALLS:
        part = chunk.cut(lo, hi)
        fleet.partial_fit(part.X, part.y, which=which[lo:hi])
    fleet = restore(fleet.state())
    uneven = compare_members(context, fleet, alone, chunk, "rows of unequal number", rows)
    rows = [np.append(own, 6 * i + np.arange(6)) for i, own in enumerate(rows)]
    for learner, part in zip(alone, parts, strict=True):
        context.learn(learner, part)
    each = chunk.map(lambda a: a.reshape(MEMBERS, -1, *a.shape[1:]))
    for lo, hi in ((0, 3), (3, 4), (4, 5), (5, 6)):
        part = each.map(partial(rows_of_call, lo, hi))
        fleet.partial_fit(part.X, part.y)
    equal = compare_members(context, fleet, alone, chunk, "rows of equal number", rows)
    predicted = compare_predictions(context, fleet, alone, chunk)
    return worst([uneven, equal, *predicted, compare_many_members(context, ((0, 1), (1, 3)))])


def compare_many_members(context: CheckContext, calls: Sequence[tuple[int, int]]) -> Deviation:
    """Compare some members of a large fleet with separate learners, after calls with these rows for each member."""
    n = calls[-1][1]
    chunk = context.rows(n=n * MANY_MEMBERS)
    each = chunk.map(lambda a: a.reshape(MANY_MEMBERS, n, *a.shape[1:]))
    fleet = stack([context.create()] * MANY_MEMBERS)
    for lo, hi in calls:
        part = each.map(partial(rows_of_call, lo, hi))
        fleet.partial_fit(part.X, part.y)
    found = []
    for i in COMPARED:
        own = chunk.cut(n * i, n * i + n)
        found.append(context.compare(own, (fleet[i], context.train(own)), of=f"member {i} of {MANY_MEMBERS}:"))
    return worst(found)


def rows_of_call(lo: int, hi: int, a: Array) -> Array:
    """Rows lo to hi of each member, in C order."""
    return np.ascontiguousarray(a[:, lo:hi])


FACTORS = (1.0, 0.98, 0.95, 0.9)
"""Factors of the settings of the members, relative to the variant."""


def own_settings(context: CheckContext) -> list[dict[str, object]]:
    """Settings for each member: every number that can be smaller differs."""
    found: list[dict[str, object]] = [{} for _ in range(MEMBERS)]
    values = context.create().settings
    for setting in context.method.settings:
        value = values[setting.name]
        number = value.value if isinstance(value, Constant) else value
        if not (isinstance(number, float | np.ndarray) and np.ndim(number) == 0 and 0 < number < np.inf):
            continue
        try:
            own = [setting.check(factor * float(number)) for factor in FACTORS]
        except ValueError:
            continue
        for settings, one in zip(found, own, strict=True):
            settings[setting.name] = one
    return found


@check(needs_fleets)
def fleet_members_follow_their_own_settings(context: CheckContext) -> Deviation:
    """Members with different settings equal learners with these settings, also in a fleet that is read from bytes.

    A call without rows changes nothing.
    """
    new_members(context)
    settings = own_settings(context)
    skip_if(not settings[0], "no setting is a number that may be smaller")
    alone, chunk = [context.create(**own) for own in settings], context.rows(n=6 * MEMBERS)
    fleet = stack(alone)
    which = np.random.default_rng(context.seed).choice([0, 1, MEMBERS - 1], len(chunk.X))
    none = chunk.cut(0, 0)
    for rows, of in ((chunk, which), (none, which[:0]), (chunk, which[::-1])):
        fleet.partial_fit(rows.X, rows.y, which=of)
        for i, learner in enumerate(alone):
            mine = np.flatnonzero(of == i)
            if len(mine):
                context.learn(learner, rows.map(partial(np.take, indices=mine, axis=0)))
        fleet = from_bytes(fleet.to_bytes())
    return compare_members(context, fleet, alone, chunk, "settings of their own")


def needs_fleets_that_warn(context: CheckContext) -> str:
    """The kernel must learn fleets, and the state must have a mark of lost precision."""
    return needs_fleets(context) or needs_mark(context)


@check(needs_fleets_that_warn)
def fleet_members_lose_precision_alone(context: CheckContext) -> None:
    """Growing rows mark members, and are refused, exactly as in separate learners."""
    alone = new_members(context)
    fleet, chunk = stack(alone), context.rows(n=FIRST + GROWING)
    X = np.stack([chunk.X] * MEMBERS)
    X[1:3] = with_growing_rows(context, chunk).X
    # along one direction, so that the others keep their variance; equal rows would be rounded equally
    X[2, FIRST:] = X[2, FIRST:, :1] * chunk.X[0]
    members_that_refuse(fleet, X, None if chunk.y is None else np.stack([chunk.y] * MEMBERS))
    for i, learner in enumerate(alone):
        rows = chunk.with_rows(X[i])
        want, got = _loss_of_digits(context, learner, rows), (fleet[i].n_samples_seen_, mark_of(context, fleet[i]))
        if got != want:
            random = np.random.default_rng(context.seed)
            others = (perturbed(context, few_ulps(context.dtype), random) for _ in range(MAX_PERTURBED))
            ensure(
                any(got == _loss_of_digits(context, other, rows) for other in others),
                f"member {i} has learned {got[0]} rows and has the mark {got[1]}, a learner that is alone has {want}",
            )


def _loss_of_digits(context: CheckContext, learner: Any, rows: Chunk) -> tuple[int, float | None]:
    """The number of rows learned before the first refusal, and the mark of lost precision at that point."""
    refuses(context, learner, rows)
    return learner.n_samples_seen_, mark_of(context, learner)


@check(needs_fleets)
def fleet_members_diverge_alone(context: CheckContext) -> Deviation:
    """A member that diverges keeps its last good state and is named; all others learn their rows."""
    alone = new_members(context)
    _ensure_large_member_refuses(context)
    fleet, chunk = stack(alone), context.rows(n=4)
    huge = with_huge_row(chunk.X, 2)
    refused = [i for i, one in enumerate(alone) if refuses(context, one, chunk.with_rows(huge) if i == 1 else chunk)]
    X = np.stack([huge if i == 1 else chunk.X for i in range(MEMBERS)])
    named = members_that_refuse(fleet, X, None if chunk.y is None else np.stack([chunk.y] * MEMBERS))
    ensure_same_refusals(named, refused)
    return compare_members(context, fleet, alone, chunk, "after a row that is too large")


def with_huge_row(X: Array, i: int) -> Array:
    """A copy whose row i has one entry near the largest float.

    If all entries were so large, sums of products with weights would overflow only in some orders.
    """
    huge, largest = np.array(X), np.finfo(X.dtype).max
    huge[i] = largest / (8 * huge.shape[1])
    huge[i, 0] = largest / 2
    return huge


def members_that_refuse(fleet: Any, X: Array, y: Array | None) -> list[int]:
    """Let a fleet learn rows, and return the members that refuse one."""
    try:
        with np.errstate(all="ignore"):
            fleet.partial_fit(X, y)
    except DivergedError as error:
        return list(error.members)
    return []


def ensure_same_refusals(named: list[int], refused: list[int]) -> None:
    """Raise Violation unless the members that refuse a row are those whose separate learners do so."""
    ensure(named == refused, f"the members {named} refuse a row, learners that are alone: {refused}")


def stacked(parts: list[Chunk]) -> tuple[Array, Array | None]:
    """The rows of all members, and their targets."""
    targets = [part.y for part in parts if part.y is not None]
    return np.stack([part.X for part in parts]), np.stack(targets) if targets else None


def refuses(context: CheckContext, learner: Any, rows: Chunk) -> bool:
    """Let a separate learner learn rows, and return whether it refuses one."""
    try:
        with np.errstate(all="ignore"):
            context.learn(learner, rows)
    except DivergedError:
        return True
    return False


def _ensure_large_member_refuses(context: CheckContext) -> None:
    """Only the member with a large state refuses a row of small numbers, exactly if a learner in this state does."""
    chunk = context.rows(n=4)
    ordinary = context.train(chunk)
    for scale in (float(np.finfo(context.dtype).max) ** -0.6, 0.0):
        tiny = chunk.with_rows(np.asarray(chunk.X) * scale).cut(0, 1)
        for name in large_fields(ordinary):
            large = with_large_field(context, ordinary, name, 0.4)
            fleet = stack([ordinary.copy(), large.copy(), ordinary.copy()])
            y = None if tiny.y is None else np.stack([tiny.y] * 3)
            named = members_that_refuse(fleet, np.stack([tiny.X] * 3), y)
            want = [1] if refuses(context, large, tiny) else []
            ensure(named == want, f"the members {named} refuse a row, want {want}, with a large {name}")

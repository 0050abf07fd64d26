"""Alternating ways to learn: two backends, chunks of random sizes, fleets and separate learners, batches and steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, skip_if, worst
from orfit_bench.conformance.checks.agreement import needs_reference
from orfit_bench.conformance.checks.chunks import needs_batch_size
from orfit_bench.conformance.checks.fleets import (
    MEMBERS,
    members_that_refuse,
    needs_fleets,
    own_settings,
    refuses,
    stacked,
)
from orfit_bench.conformance.comparison import comparable_state, max_deviation
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.precision_marks import mark_of
from orfit_bench.conformance.rows import ROWS, Chunk
from orfit_bench.errors import DivergedError
from orfit_bench.learners.fleets.factory import stack
from orfit_bench.learners.restoring import restore
from orfit_bench.spec import REFERENCE

DIVISIONS, LONGER = 4, 33
"""Number of random divisions of a stream, and number of its rows."""
STEPS = (1, 2, 5, 12)
"""Numbers of rows of steps, less and more than the features."""


@check(needs_reference, all_variants=False, numbers="any")
def backends_take_turns(context: CheckContext) -> Deviation:
    """A learner that moves to the other backend after every row equals a learner only on the reference."""
    chunk = context.rows()
    expected, learner = context.reference.create(), context.create()
    for i in range(ROWS):
        context.learn(learner, chunk.cut(i, i + 1))
        context.reference.learn(expected, chunk.cut(i, i + 1))
        name = REFERENCE if learner.backend.name == context.backend.name else context.backend.name
        learner = restore(learner.state(), backend=name, **context.model)
    return context.compare(chunk, (learner, expected))


@check(all_variants=False, numbers="any")
def random_chunking(context: CheckContext) -> Deviation:
    """A longer stream of more features, divided at random, gives the state and predictions of a single call."""
    chunk = context.rows(n=LONGER, d=7)
    rng = np.random.default_rng(context.seed)
    single = context.create()
    predictions = context.learn(single, chunk)
    found = []
    for _ in range(DIVISIONS):
        several = context.create()
        cuts = [0, *np.sort(rng.integers(0, LONGER + 1, rng.integers(2, LONGER))).tolist(), LONGER]
        parts = [context.learn(several, chunk.cut(lo, hi)) for lo, hi in pairwise(cuts)]
        silent = context.create()
        for lo, hi in pairwise(cuts):
            context.learn_silently(silent, chunk.cut(lo, hi))
        pairs = (several, single), (context.concatenate(parts), predictions), (silent, single)
        found.append(context.compare(chunk, *pairs, exact=context.is_exact, of=f"divided at {cuts}:"))
    return worst(found)


@check(needs_batch_size)
def step_is_a_batch_of_its_size(context: CheckContext) -> Deviation:
    """A step of n rows changes the state like n rows with batch_size n."""
    skip_if(context.variant.time_varying, "a step takes no transition for each row")
    found = []
    for n in STEPS:
        chunk = context.rows(n=3 * n)
        try:
            by_steps, by_rows = context.initialize(chunk), context.train(chunk, batch_size=n)
            for i in range(0, 3 * n, n):
                context.step(by_steps, chunk.cut(i, i + n))
        except DivergedError:
            if n == STEPS[-1]:  # such large steps may be refused
                continue
            raise
        found.append(context.compare(chunk, (by_steps, by_rows), of=f"steps of {n} rows, batch_size={n}:"))
    return worst(found)


@check(needs_fleets, all_variants=False)
def fleet_members_leave_and_return(context: CheckContext) -> Deviation:
    """Members that leave a fleet and return in another order learn like separate learners, even if one diverges."""
    skip_if(context.batch_size > 1, "fleets learn row by row")
    chunk = context.rows(n=2 * MEMBERS)
    alone = [context.create(**own) for own in own_settings(context)]
    members = alone  # of the fleet, in the order of `alone`
    info = np.finfo(context.dtype)
    for turn, (member, size) in enumerate([(0, 1.0), (1, float(info.eps) ** -0.4), (2, float(info.max) / 8), (0, 1.0)]):
        parts = [_scaled(chunk.cut(2 * i, 2 * i + 2), size if i == member else 1.0) for i in range(MEMBERS)]
        order = 1 - 2 * (turn % 2)
        fleet = stack(members[::order])
        members_that_refuse(fleet, *stacked(parts[::order]))
        members = [fleet[i] for i in range(MEMBERS)][::order]
        for learner, part in zip(alone, parts, strict=True):
            refuses(context, learner, part)
    marks, want = ([mark_of(context, learner) for learner in learners] for learners in (members, alone))
    ensure(marks == want, f"the marks of lost precision of the members are {marks}, of learners alone {want}")
    counts, expected = ([learner.n_samples_seen_ for learner in learners] for learners in (members, alone))
    ensure(counts == expected, f"{counts} rows seen, want {expected}")
    left = _digits_left(context)
    extreme = [max_deviation(_state_of(members[i]), _state_of(alone[i])) for i in (1, 2)]
    ordinary = context.compare(chunk, (members[0], alone[0]), (members[3], alone[3]))
    return worst([ordinary, *(Deviation(value, left, name) for value, name in extreme)])


def _digits_left(context: CheckContext) -> float:
    """The allowed relative error after rows of extreme size: half of the digits.

    An orthonormal basis keeps fewer digits: such a row multiplies rounding by its square, eps^-0.8.
    """
    return float(np.finfo(context.dtype).eps ** (0.5 if context.method.traits.supervised else 0.2))


def _state_of(learner: Any) -> dict[str, Any]:
    """The fields by which a learner is compared, without weights that it solves for, which can lose all digits."""
    spec, found = learner.method.state, comparable_state(learner)
    return {name: a for name, a in found.items() if not (spec.solution and name == spec.weights)}


def _scaled(chunk: Chunk, size: float) -> Chunk:
    """The rows, scaled so that their largest entry is this number, if it is above 1."""
    X = np.asarray(chunk.X)
    return chunk.with_rows(X / abs(X).max() * X.dtype.type(size)) if size > 1 else chunk

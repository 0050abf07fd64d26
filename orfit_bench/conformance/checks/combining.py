"""Merges and averages in another order, of a learner with its copy, and with a learner that has learned nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, worst
from orfit_bench.conformance.checks.merging import merge_or_skip, needs_average, needs_merge, train_two
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.learners.averaging import average


def needs_merge_without_rows(context: CheckContext) -> str:
    """The method must have a rule for merging, also for learners without rows."""
    return needs_merge(context) or ("a learner without rows has no classes" if context.method.traits.labels else "")


@check(needs_merge_without_rows, numbers="any")
def merges_in_other_ways(context: CheckContext) -> Deviation:
    """A merge with a learner without rows, on either side, changes nothing; exact merges work in either order.

    The average of a learner and its copy has the weights of the learner.
    """
    one, other = train_two(context)
    B = context.batch_size
    chunk = context.rows(n=12 * B)
    kind = context.method.combine.merge.kind if context.method.combine.merge else ""
    found = [
        _compare(context, merge_or_skip(context, one.copy(), context.initialize(chunk)), one, "with no rows"),
        _compare(context, merge_or_skip(context, context.initialize(chunk), one), one, "no rows with others"),
    ]
    if kind == "exact":
        swapped = chunk.map(lambda a: np.concatenate([a[4 * B :], a[: 4 * B]]))
        pair = merge_or_skip(context, other.copy(), one), context.train(swapped)
        found.append(context.compare(swapped, pair, of="the second part first:"))
    if kind == "averaged" and not context.method.state.growth and not context.variant.settings:
        pair = merge_or_skip(context, one.copy(), other), merge_or_skip(context, other.copy(), one)
        found.append(_compare(context, *pair, of="in either order"))
    if kind == "averaged" and context.method.traits.supervised:
        name = context.method.state.weights
        weights = merge_or_skip(context, one.copy(), one.copy()).array(name), one.array(name)
        found.append(context.compare(chunk, weights, of="merged with its copy"))
    return worst(found)


@check(needs_average, numbers="any")
def averaging_does_not_depend_on_the_order(context: CheckContext) -> Deviation:
    """`average` gives the same numbers in either order, and changes neither one learner alone nor equal ones."""
    B = context.batch_size
    chunk = context.rows(n=8 * B)
    parts = [context.train(chunk.cut(lo, lo + 4 * B)) for lo in (0, 4 * B)]
    swapped, equal = [learner.copy() for learner in parts], [parts[0].copy() for _ in range(3)]
    average(parts)
    average(reversed(swapped))
    before = equal[0].copy()
    average(equal)
    alone = before.copy()
    average([alone])
    return worst(
        [
            *(_compare(context, *pair, "averaged in either order") for pair in zip(parts, swapped, strict=True)),
            _compare(context, parts[0], parts[1], "averaged", arrays_only=True),
            _compare(context, equal[2], before, "averaged with its copies"),
            _compare(context, alone, before, "averaged alone"),
        ]
    )


def _compare(context: CheckContext, got: Any, want: Any, of: str, arrays_only: bool = False) -> Deviation:
    """Compare the fields that are compared by their entries; the step may be counted differently."""
    compared = [f for f in layout_of(want).fields if f.compared == "entries"]
    names = [f.name for f in compared if f.dims or not arrays_only]
    fields, expected = host_arrays_of(got), host_arrays_of(want)
    pairs = [(np.asarray(fields[name]), np.asarray(expected[name])) for name in names]
    return context.compare(context.rows(n=12 * context.batch_size), *pairs, of=of)

"""Merges and averages in another order, of a learner with its copy, and with a learner without rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure_raises, worst
from orfit_bench.conformance.checks.merging import (
    merge_or_skip,
    merged_classes,
    merged_small_rows,
    needs_average,
    needs_merge,
    train_two,
    with_all_classes,
)
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.rows import frozen
from orfit_bench.learners.averaging import average
from orfit_bench.learners.restoring import restore
from orfit_bench.spec.law import to_numpy64


@check(needs_merge, numbers="any")
def merges_in_other_ways(context: CheckContext) -> Deviation:
    """A merge with a learner without rows, on either side, changes nothing; exact merges work in either order.

    A learner of labels without rows has no classes.

    The average of a learner and its copy has the weights of the learner, and predicts as it does. A merged learner
    predicts by its state.
    """
    one, other = train_two(context)
    B = context.batch_size
    chunk = context.rows(n=12 * B)
    both = one.copy()
    for learner in (both, other):
        context.predict(learner, chunk.X)  # some methods cache the weights that they solve for
    restored = restore(merge_or_skip(context, both, other).state(), **context.model)
    predictions = context.predict(both, chunk.X), context.predict(restored, chunk.X)
    kind = context.method.combine.merge.kind if context.method.combine.merge else ""
    found = [context.compare(chunk, predictions, of="predictions after a merge")]
    if not context.method.traits.labels:
        pairs = [(one.copy(), context.initialize(chunk)), (context.initialize(chunk), one)]
        found += [compare_learners(context, merge_or_skip(context, *pair), one, "with no rows") for pair in pairs]
    if kind == "exact":
        swapped = chunk.map(lambda a: np.concatenate([a[4 * B :], a[: 4 * B]]))
        pair = merge_or_skip(context, other.copy(), one), context.train(swapped)
        pairs = [pair, *merged_small_rows(context, swapped)]
        found += [context.compare(swapped, *pairs, of="the second part first:"), *merged_classes(context, swapped)]
    unordered = not context.method.state.growth and not context.method.traits.labels and not context.variant.settings
    if kind == "averaged" and unordered:
        pair = merge_or_skip(context, one.copy(), other), merge_or_skip(context, other.copy(), one)
        found.append(compare_learners(context, *pair, of="in either order"))
    if kind == "averaged" and context.method.traits.supervised:
        name, doubled = context.method.state.weights, merge_or_skip(context, one.copy(), one.copy())
        pairs = [
            (doubled.array(name), one.array(name)),
            (context.predict(doubled, chunk.X), context.predict(one, chunk.X)),
        ]
        found.append(context.compare(chunk, *pairs, of="merged with its copy"))
    return worst(found)


@check(needs_average, numbers="any")
def averaging_does_not_depend_on_the_order(context: CheckContext) -> Deviation:
    """`average` gives the same numbers in either order, and does not change a single learner or equal learners.

    A learner that counts with zero rows does not change the others, and impossible counts are refused.
    """
    B = context.batch_size
    chunk = context.rows(n=8 * B)
    parts = [context.train(with_all_classes(context, chunk.cut(lo, lo + 4 * B), chunk)) for lo in (0, 4 * B)]
    swapped, equal = [learner.copy() for learner in parts], [parts[0].copy() for _ in range(3)]
    average(iter(parts))
    average(reversed(swapped))
    before = equal[0].copy()
    average(equal)
    alone = before.copy()
    average([alone])
    by_rows = [learner.copy() for learner in (parts[0], before)]
    average(by_rows, rows=[0, 3])
    backwards = [learner.copy() for learner in (before, parts[0])]
    average(backwards, rows=[3, 0])
    for rows in ([-1, 3], [0, 0], [3], [3, 1, 2]):
        old = [learner.copy() for learner in parts]
        ensure_raises(partial(average, parts, rows=rows), ValueError, f"an average of two by rows={rows}", "rows=")
        for learner, want in zip(parts, old, strict=True):
            context.ensure_identical(learner, want, f"after an average by rows={rows} was refused")
    _ensure_outputs_refused(context)
    _ensure_others_refused(context, parts[0])
    return worst(
        [
            *(
                compare_learners(context, *pair, "averaged in either order")
                for pair in zip(parts, swapped, strict=True)
            ),
            compare_learners(context, parts[0], parts[1], "averaged", arrays_only=True),
            compare_learners(context, equal[2], before, "averaged with its copies"),
            compare_learners(context, alone, before, "averaged alone"),
            compare_learners(context, by_rows[1], before, "averaged with a learner of no rows", by_rows=True),
            compare_learners(context, by_rows[0], backwards[1], "averaged by rows in either order"),
        ]
    )


def _ensure_others_refused(context: CheckContext, learner: Any) -> None:
    """Averages with a learner without rows, or with one of other classes, must be refused on either side."""
    for learners in ([learner, context.create()], [context.create(), learner]):
        act = partial(average, learners)
        ensure_raises(act, ValueError, "an average with a learner that has seen no rows", "seen no rows")
    if context.method.traits.labels:
        X = context.rows(n=2 * context.batch_size).X
        one, other = (context.create().partial_fit(X, (pair * len(X))[: len(X)]) for pair in (["a", "b"], ["b", "a"]))
        for learners in ([one, other], [other, one]):
            act = partial(average, learners)
            ensure_raises(act, ValueError, "an average of learners with classes in another order", "differ in classes")


def _ensure_outputs_refused(context: CheckContext) -> None:
    """Learners of two outputs and of three must not be averaged."""
    chunk = context.rows(n=4 * context.batch_size)
    if chunk.y is None or not context.method.traits.numbers or chunk.y.ndim > 1:
        return
    two, three = (chunk._replace(y=frozen(np.column_stack([chunk.y] * n))) for n in (2, 3))
    if context.accepts(two) and context.accepts(three):
        act = partial(average, [context.train(two), context.train(three)])
        ensure_raises(act, ValueError, "an average of learners of two outputs and of three", "differ in outputs")


def compare_learners(
    context: CheckContext, got: Any, want: Any, of: str, arrays_only: bool = False, by_rows: bool = False
) -> Deviation:
    """Compare the fields that are compared by their entries; the number of steps can differ.

    With `by_rows`, fields that an average does not weight by rows, and fields derived from them, are left out.
    """
    combine, fields, expected = context.method.combine, host_arrays_of(got), host_arrays_of(want)
    without: set[str] = set()
    if by_rows and combine.average_weights:
        derived = combine.derive({n: to_numpy64(a) for n, a in fields.items()}, got.settings) if combine.derive else {}
        without = {*combine.average_weights, *combine.average_weights.values(), *derived}
    compared = [f for f in layout_of(want).fields if f.compared == "entries" and f.name not in without]
    names = [f.name for f in compared if f.dims or not arrays_only]
    pairs = [(np.asarray(fields[name]), np.asarray(expected[name])) for name in names]
    return context.compare(context.rows(n=12 * context.batch_size), *pairs, of=of)

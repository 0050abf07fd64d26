"""Averages of several learners, weighted by numbers of rows."""

from __future__ import annotations

from functools import partial
from typing import Any

from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, worst
from orfit_bench.conformance.checks.combining import compare_learners
from orfit_bench.conformance.checks.merging import needs_average, with_all_classes
from orfit_bench.conformance.context import CheckContext
from orfit_bench.learners.averaging import average

COUNTS = ((2, 0, 1), (0, 3, 0), (1, 1, 2))
"""Numbers of copies of each of three learners that correspond to an average by rows."""


@check(needs_average, numbers="any")
def averages_count_copies(context: CheckContext) -> Deviation:
    """In an average by rows, n rows count as n copies of a learner; each learner keeps its number of rows."""
    B = context.batch_size
    chunk = context.rows(n=15 * B)
    cuts = [chunk.cut(5 * B * i, 5 * B * i + (i + 3) * B) for i in range(3)]
    parts = [context.train(with_all_classes(context, part, chunk)) for part in cuts]
    seen = [learner.n_samples_seen_ for learner in parts]
    found = []
    for counts in COUNTS:
        by_rows = [learner.copy() for learner in parts]
        average(by_rows, rows=counts)
        copies = [learner.copy() for learner, n in zip(parts, counts, strict=True) for _ in range(n)]
        average(copies)
        now = [learner.n_samples_seen_ for learner in by_rows]
        ensure(now == seen, f"after an average by rows={counts} the learners count {now} rows, before {seen}")
        found += [
            compare_learners(context, learner, copies[0], "averaged by rows", arrays_only=True, by_rows=True)
            for learner in by_rows
        ]
    _ensure_refused(context, parts)
    return worst(found)


def _ensure_refused(context: CheckContext, learners: list[Any]) -> None:
    """Wrong, negative or all-zero numbers of rows, no learners, and other objects among learners must be refused."""
    before = [learner.copy() for learner in learners]
    for rows in ((1,), (1, 2), (1, 2, 3, 4), (1, -1, 1), (0, 0, 0)):
        ensure_raises(partial(average, learners, rows=rows), ValueError, f"an average of three by rows={rows}", "rows=")
    ensure_raises(partial(average, []), ValueError, "an average of no learners", "no learners")
    for others in ([*learners, "a text"], ["a text", *learners]):
        ensure_raises(partial(average, others), TypeError, "an average with a text", "got str, want a list of learners")
    for learner, old in zip(learners, before, strict=True):
        context.ensure_identical(learner, old, "after an average was refused, a learner")

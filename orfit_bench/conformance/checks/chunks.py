"""Chunks and steps: how a stream is divided into calls does not change the result."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from orfit_bench.conformance.acceptance import rows_until_refusal
from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if, worst
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Chunk

CUTS = (0, 0, 1, 2, 4, 7, 7, 8, 20, 24)
LONG_CUTS = (0, 1, 65, 321, 833, 1857, 1900)
"""Calls of 64, 256, 512 and 1,024 rows, the lengths of blocks, in a stream whose length is not a multiple of any."""

SILENT_CUTS = (0, 1, 30, 70)
"""Calls with predictions, in a stream of more rows than a block of 64, with which one call without them is compared."""

WIDE = 6, 40
"""Numbers of rows and features, above the limit of functions for few features."""


def needs_blocks(context: CheckContext) -> str:
    """The method must have a rule for blocks of rows."""
    return "" if context.allows("blocks") else "it learns row by row and has no rule for a block"


def needs_predictions(context: CheckContext) -> str:
    """The method must predict targets."""
    return "it learns a subspace and predicts nothing" if not context.method.traits.supervised else ""


def needs_batch_size(context: CheckContext) -> str:
    """The method must have a setting batch_size, so that rows can be pending."""
    has = any(s.name == "batch_size" for s in context.method.settings)
    return needs_blocks(context) if has else "it has no setting batch_size"


@check(numbers="any")
def any_chunking(context: CheckContext) -> Deviation:
    """A stream divided at any rows, also into empty chunks, gives the state and predictions of a single call.

    A longer call without predictions gives the same state.
    """
    found = [_compare_cuts(context, context.rows(), CUTS), _compare_silently(context)]
    if not context.variant.settings and context.variant.guaranteed:
        found.append(_compare_cuts(context, context.rows(n=LONG_CUTS[-1]), LONG_CUTS))
    return worst(found)


@check(numbers="any")
def row_by_row(context: CheckContext) -> Deviation:
    """A stream learned with one call per row gives the state and predictions of a single call."""
    chunk = context.rows()
    return _compare_cuts(context, chunk, range(len(chunk.X) + 1))


def _compare_cuts(context: CheckContext, chunk: Chunk, cuts: Sequence[int]) -> Deviation:
    single, several = context.create(), context.create()
    predictions = context.learn(single, chunk)
    parts = [context.learn(several, chunk.cut(lo, hi)) for lo, hi in pairwise(cuts)]
    pairs = (several, single), (context.concatenate(parts), predictions)
    return context.compare(chunk, *pairs, exact=context.is_exact)


def _compare_silently(context: CheckContext) -> Deviation:
    """Compare one call of `partial_fit` with calls of `prequential`, up to the first row that is refused."""
    chunk, several, silent = context.rows(n=SILENT_CUTS[-1]), context.create(), context.create()
    learned = 0
    for lo, hi in pairwise(SILENT_CUTS):
        learned += rows_until_refusal(context, several, chunk.cut(lo, hi))
        if learned < hi:
            break
    rows = chunk.cut(0, learned)
    context.learn_silently(silent, rows)
    return context.compare(rows, (silent, several), exact=context.is_exact, of="without predictions:")


@check(numbers="any")
def empty_chunk_changes_nothing(context: CheckContext) -> None:
    """Learning no rows leaves the state unchanged, bit by bit."""
    chunk = context.rows()
    learner = context.train(chunk.cut(0, 5))
    before = learner.copy()
    context.learn(learner, chunk.cut(5, 5))
    context.ensure_identical(learner, before, "after an empty chunk")


@check(needs_predictions, numbers="any")
def predicts_before_each_step(context: CheckContext) -> Deviation:
    """`prequential` returns what `predict` returns just before each step, and learns what `partial_fit` learns."""
    chunk = context.rows()
    learner, stepwise, silent = context.create(), context.initialize(chunk), context.create()
    predictions = context.learn(learner, chunk)
    expected = []
    for i in range(len(chunk.X)):
        row = chunk.cut(i, i + 1)
        expected.append(context.predict_row(stepwise, row))
        context.learn(stepwise, row)
    for lo, hi in pairwise(CUTS):
        context.learn_silently(silent, chunk.cut(lo, hi))
    predicted = context.compare(
        chunk, (predictions, context.concatenate(expected)), of="what predict says before each row"
    )
    learned = context.compare(chunk, (silent, learner), exact=context.is_exact)
    return worst([predicted, learned, _compare_wide_rows(context)])


def _compare_wide_rows(context: CheckContext) -> Deviation:
    """Compare a call of `prequential` with calls of `partial_fit` with one row, for rows of many features."""
    chunk = context.rows(n=WIDE[0], d=WIDE[1])
    learner, silent = context.train(chunk), context.create()
    for i in range(len(chunk.X)):
        context.learn_silently(silent, chunk.cut(i, i + 1))
    return context.compare(chunk, (silent, learner), exact=context.is_exact)


@check(needs_blocks, numbers="any")
def batch_is_one_step(context: CheckContext) -> Deviation:
    """`partial_fit` with batch_size rows (default: one) changes the state like `step` with these rows."""
    skip_if(context.variant.time_varying, "a step takes no transition for each row")
    B = context.batch_size
    chunk = context.rows(n=4 * B)
    by_rows, by_steps = context.train(chunk), context.initialize(chunk)
    for i in range(0, len(chunk.X), B):
        context.step(by_steps, chunk.cut(i, i + B))
    return context.compare(chunk, (by_steps, by_rows), exact=context.is_exact)


@check(needs_batch_size, numbers="any")
def incomplete_batch_is_pending(context: CheckContext) -> Deviation:
    """Rows of an incomplete batch are pending: counted, ignored by predictions, and learned by `flush` as one step."""
    B = context.batch_size
    skip_if(B == 1, "every row is a batch")
    chunk = context.rows(n=3 * B - 1)
    learner, complete = context.train(chunk), context.train(chunk.cut(0, 2 * B))
    if hasattr(complete, "explained_variance_"):
        got, want = (one.backend.asnumpy(one.explained_variance_) for one in (learner, complete))
        ensure(np.array_equal(got, want), "explained_variance_ depends on pending rows")
    ensure(learner.pending == B - 1, f"{learner.pending} rows are pending, want {B - 1}")
    ensure(learner.n_samples_seen_ == len(chunk.X), f"{learner.n_samples_seen_} rows seen, want {len(chunk.X)}")
    equal = np.array_equal(context.predict(learner, chunk.X), context.predict(complete, chunk.X))
    ensure(equal, "predictions depend on pending rows")
    ensure_raises(lambda: context.step(learner, chunk), ValueError, "a step while rows are pending")
    learner.flush()
    ensure(learner.pending == 0, f"{learner.pending} rows are pending after a flush")
    context.step(complete, chunk.cut(2 * B, 3 * B - 1))
    return context.compare(chunk, (learner, complete), exact=context.is_exact)

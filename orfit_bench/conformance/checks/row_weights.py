"""Weights of rows: integer weights repeat rows, and weights work in any division into calls."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if_time_varying
from orfit_bench.conformance.checks.single_rows import needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.learners.restoring import from_bytes, restore

CUTS = (0, 1, 3, 4, 9, 24)


def needs_weights(context: CheckContext) -> str:
    """The method must support weights of rows, and its learners must have `learn_one`."""
    has = context.method.kernel.weighting
    return needs_single_rows(context) or ("" if has else "the method takes no sample_weight")


def _learn_one_by_one(context: CheckContext, chunk: Chunk, weights: Array) -> Any:
    """A learner of weighted rows, with one row per call."""
    learner, y = context.create(), np.asarray(chunk.y)
    for i, weight in enumerate(weights.tolist()):
        learner.learn_one(chunk.X[i], y[i], sample_weight=weight)
    return learner


def needs_repetitions(context: CheckContext) -> str:
    """In addition to `needs_weights`, nothing is forgotten with default settings."""
    weighting = context.method.kernel.weighting
    forgets = weighting is not None and weighting.forgets(context.create().settings)
    return needs_weights(context) or ("it forgets, so that a row of weight 2 is not two rows" if forgets else "")


def contexts_with_waiting_rows(context: CheckContext) -> list[CheckContext]:
    """Contexts with batches of four rows, if the method has batches and repeats rows of weight 2."""
    method, weighting = context.method, context.method.kernel.weighting
    repeats = weighting is not None and weighting.repeats_rows
    has_batches = any(setting.name == "batch_size" for setting in method.settings)
    return [context.with_settings(batch_size=4)] if repeats and has_batches and not context.variant.settings else []


def _ensure_weights_refused(learner: Any, chunk: Chunk) -> None:
    """Weights that are not finite, or of a wrong length, must be refused by name without changing anything."""
    before, n = learner.to_bytes(), len(chunk.X)
    for weights in (*(np.append(np.ones(n - 1), bad) for bad in (np.nan, np.inf)), np.ones(n - 1), np.ones(n + 1)):
        act = partial(learner.partial_fit, chunk.X, chunk.y, sample_weight=weights)
        ensure_raises(act, ValueError, f"the weights {weights} for {n} rows", "sample_weight")
    for bad in (np.nan, np.inf):
        act = partial(learner.learn_one, chunk.X[0], np.asarray(chunk.y)[0], sample_weight=bad)
        ensure_raises(act, ValueError, f"learn_one with the weight {bad}", "sample_weight")
    ensure(learner.to_bytes() == before, "rows whose weights were refused changed the learner")


@check(needs_repetitions, all_variants=False)
def integer_weights_repeat_rows(context: CheckContext) -> Deviation:
    """With default settings, a row of weight n counts as n copies of the row, in a chunk or alone."""
    chunk = context.rows()
    weights = np.random.default_rng(context.seed).integers(0, 4, len(chunk.X)).astype(float)
    if context.method.traits.labels:  # so that labels appear in the same order
        weights[np.unique(np.asarray(chunk.y), return_index=True)[1]] = 1
    often = np.repeat(np.arange(len(weights)), weights.astype(int))
    repeated = chunk._replace(X=chunk.X[often], y=np.asarray(chunk.y)[often])
    want = context.create().partial_fit(repeated.X, repeated.y)
    together = context.create().partial_fit(chunk.X, chunk.y, sample_weight=weights)
    alone, singly = _learn_one_by_one(context, chunk, weights), context.create()
    for i in range(len(chunk.X)):
        row = slice(i, i + 1)
        singly.partial_fit(chunk.X[row], np.asarray(chunk.y)[row], sample_weight=weights[row])
    _ensure_weights_refused(singly, chunk)
    expected = context.predict(want, chunk.X)
    pairs = [(context.predict(learner, chunk.X), expected) for learner in (together, alone, singly)]
    for one in contexts_with_waiting_rows(context):
        first, others = chunk.cut(0, 1), chunk.cut(1, len(chunk.X))
        thrice = one.create().partial_fit(first.X, first.y, sample_weight=[3.0])
        restored: Any = restore(thrice.state(), **context.model)
        rows = np.append([0, 0], np.arange(len(chunk.X)))
        repeats = one.create().partial_fit(chunk.X[rows], np.asarray(chunk.y)[rows])
        restored.partial_fit(others.X, others.y)
        pairs.append((one.predict(restored, chunk.X), one.predict(repeats, chunk.X)))
    return context.compare(repeated, *pairs)


@check(needs_weights)
def weights_count_in_any_chunks(context: CheckContext) -> Deviation:
    """Weighted rows give the same state in one call, in several calls of restored learners, and one by one."""
    skip_if_time_varying(context)
    chunk = context.rows()
    weights = np.random.default_rng(context.seed).choice([0.0, 1.0, 2.0], len(chunk.X))
    if context.batch_size == 1:
        weights *= 0.75
    want = context.create().partial_fit(chunk.X, chunk.y, sample_weight=weights)
    several, predicted = context.create(), context.create()
    for begin, end in pairwise(CUTS):
        rows = chunk.cut(begin, end)
        several.partial_fit(rows.X, rows.y, sample_weight=weights[begin:end])
        several = from_bytes(several.to_bytes(), **context.model)  # with the pending rows
        predicted.prequential(rows.X, rows.y, sample_weight=weights[begin:end])
    alone = _learn_one_by_one(context, chunk, weights)
    _ensure_weights_refused(alone, chunk)
    pairs = [(several, want), (predicted, want), (alone, want)]
    for one in contexts_with_waiting_rows(context):
        first, others = chunk.cut(0, 1), chunk.cut(1, len(chunk.X))
        learner = one.create().partial_fit(first.X, first.y, sample_weight=[3.0])
        restored: Any = from_bytes(learner.to_bytes(), **context.model)  # three rows wait, of one that was seen
        pairs.append((restored.partial_fit(others.X, others.y), learner.partial_fit(others.X, others.y)))
    return context.compare(chunk, *pairs)

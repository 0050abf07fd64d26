"""The weights of rows: whole ones repeat a row, and they count in whatever calls the rows come."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, skip_if
from orfit_bench.conformance.checks.single_rows import needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk

CUTS = (0, 1, 3, 4, 9, 24)
FEW = 5
"""More labels than the rows have, and fewer than there are rows, whose weights stay those that were drawn."""


def needs_weights(context: CheckContext) -> str:
    """The method must have a rule for the weight of a row, and its learners `learn_one`."""
    return needs_single_rows(context) or ("" if context.method.kernel.weighting else "it has no weights of rows")


def _learn_one_by_one(context: CheckContext, chunk: Chunk, weights: Array) -> Any:
    """A learner of rows with weights, one in each call."""
    learner, y = context.create(), np.asarray(chunk.y)
    for i, weight in enumerate(weights.tolist()):
        learner.learn_one(chunk.X[i], y[i], sample_weight=weight)
    return learner


def _array(learner: Any, name: str) -> Array:
    """An array of the state in host memory."""
    return np.asarray(learner.state()[name].values)


@check(needs_weights, all_variants=False)
def integer_weights_repeat_rows(context: CheckContext) -> Deviation:
    """With default settings, a row of weight n is learned as n rows are, in a chunk or alone."""
    chunk = context.rows()
    weights = np.random.default_rng(context.seed).integers(0, 4, len(chunk.X)).astype(float)
    weights[np.unique(np.asarray(chunk.y), return_index=True)[1][:FEW]] = 1  # the order of labels is that of all rows
    often = np.repeat(np.arange(len(weights)), weights.astype(int))
    want = context.create().partial_fit(chunk.X[often], np.asarray(chunk.y)[often])
    together = context.create().partial_fit(chunk.X, chunk.y, sample_weight=weights)
    alone = _learn_one_by_one(context, chunk, weights)
    repeated, name = chunk._replace(X=chunk.X[often], y=np.asarray(chunk.y)[often]), context.method.state.weights
    pairs = [(_array(learner, name), _array(want, name)) for learner in (together, alone)]
    expected = context.predict(want, chunk.X)
    pairs += [(context.predict(learner, chunk.X), expected) for learner in (together, alone)]
    return context.compare(repeated, *pairs)


@check(needs_weights)
def weights_count_in_any_chunks(context: CheckContext) -> Deviation:
    """Rows with weights give the same state in one call, in several and one by one, with predictions or without."""
    skip_if(context.variant.time_varying, "the transition varies with the rows")
    chunk = context.rows()
    weights = np.random.default_rng(context.seed).choice([0.0, 1.0, 2.0], len(chunk.X))
    if context.batch_size == 1:
        weights *= 0.75
    want = context.create().partial_fit(chunk.X, chunk.y, sample_weight=weights)
    several, predicted = context.create(), context.create()
    for begin, end in pairwise(CUTS):
        rows = chunk.cut(begin, end)
        several.partial_fit(rows.X, rows.y, sample_weight=weights[begin:end])
        predicted.prequential(rows.X, rows.y, sample_weight=weights[begin:end])
    alone = _learn_one_by_one(context, chunk, weights)
    return context.compare(chunk, (several, want), (predicted, want), (alone, want))

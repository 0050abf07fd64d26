"""Long streams: rounding errors do not accumulate."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import assert_learns, ensure_finite, learn_or_skip
from orfit_bench.conformance.check import Deviation, check, ensure, skip_if, worst
from orfit_bench.conformance.checks.agreement import (
    batch_solution_deviation,
    inverse_gram_deviation,
    is_linear,
    needs_batch_solution,
)
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import MANY_OUTPUTS, ROWS, Chunk

SHORT, LONG = 3_000, 100_000
LONG_CALL, PIECES = 1_100, (64, 256, 512, 200)
"""Rows of one long call, and steps of the shorter calls for comparison; the last call has the remaining rows."""


def _learn_long_stream(context: CheckContext, n: int) -> Deviation:
    """Compare calls of a tenth of the rows and of half of them, one call, and what else is known of the result."""
    skip_if(not context.variant.guaranteed, "long streams are learned only with settings that the method declares")
    chunk = context.rows(n=n)
    learner, at_once = context.create(), context.create()
    for begin, end in pairwise((*range(0, n // 2 + 1, n // 10), n)):
        context.learn(learner, chunk.cut(begin, end))
        ensure_finite(context, learner, chunk.cut(begin, begin + 10))
    context.learn(at_once, chunk)
    last = chunk.X[-10:]
    pairs = [(at_once, learner), (context.predict(at_once, last), context.predict(learner, last))]
    if not context.reference_missing:
        expected = context.reference.create()
        context.reference.learn(expected, chunk)
        pairs += [(learner, expected), (context.predict(learner, last), context.reference.predict(expected, last))]
    return worst([context.compare(chunk, *pairs), *_deviations_from_formulas(context, learner, chunk)])


def _deviations_from_formulas(context: CheckContext, learner: Any, chunk: Chunk) -> list[Deviation]:
    """The deviations from the inverse Gram matrix and, for few rows, from the batch solution, where these exist."""
    gram = inverse_gram_deviation(context, learner, chunk)
    if gram and context.reference_missing:
        ensure(not gram.inconclusive, f"after {len(chunk.X)} rows rounding determines {gram.of} completely")
    found = [gram]
    if not needs_batch_solution(context) and is_linear(context) and len(chunk.X) <= SHORT:
        found.append(batch_solution_deviation(context, *chunk.X.shape))
    return [deviation for deviation in found if deviation]


@check()
def thousands_of_rows(context: CheckContext) -> Deviation:
    """After three thousand rows, learned in one call or in several, the state equals that of the reference.

    It is finite, and equals the batch solution and the inverse Gram matrix that the method declares.
    """
    return _learn_long_stream(context, SHORT)


@check(slow=True)
def hundred_thousand_rows(context: CheckContext) -> Deviation:
    """After 100,000 rows, learned in one call or in several, the state equals that of the reference.

    It is finite, and equals the inverse Gram matrix that the method declares.

    A learner that stores all rows learns 10,000, since the time of a step is proportional to the stored rows.
    """
    forgets = context.method.state.layered and context.variant.settings
    skip_if(forgets, "the inputs of an inner layer may stop exciting a direction, which forgetting then loses")
    return _learn_long_stream(context, LONG // 10 if _keeps_all_rows(context) else LONG)


def _keeps_all_rows(context: CheckContext) -> bool:
    learner = context.train(context.rows())
    growth = context.method.state.growth
    return growth is not None and learner.state().sizes.get(growth.dim, 0) == ROWS


@check(all_variants=False)
def defaults_learn_standardized_rows(context: CheckContext) -> Deviation:
    """With the default settings, rows of ten features of variance one are learned."""
    chunk = context.rows(n=200, d=10)
    X = chunk.X / np.asarray(chunk.X).std(axis=0)
    return assert_learns(context, chunk.with_rows(X))


@check(all_variants=False)
def a_long_call_with_many_outputs(context: CheckContext) -> Deviation:
    """A call of 1,000 rows with six outputs or classes agrees with shorter calls, reference and batch solution."""
    many, traits = context, context.method.traits
    if (traits.numbers or traits.labels) and not context.method.state.layered:
        many = replace(context, variant=replace(context.variant, outputs=MANY_OUTPUTS))
    B = many.batch_size
    chunk, found = many.rows(n=LONG_CALL // B * B), []
    if not many.accepts(chunk):
        many, chunk = context, context.rows(n=LONG_CALL // B * B)
    learner, parts, silent = many.create(), many.create(), many.create()
    predictions = learn_or_skip(many, learner, chunk)
    ends = [min(B * end, len(chunk.X)) for end in accumulate(PIECES)]
    pieces = [many.learn(parts, chunk.cut(lo, hi)) for lo, hi in pairwise((0, *ends, len(chunk.X)))]
    many.learn_silently(silent, chunk)
    pairs: list[tuple[Any, Any]] = [(parts, learner), (silent, learner), (many.concatenate(pieces), predictions)]
    at_once, in_parts = (
        many.predict(learner, chunk.X),
        [many.predict(learner, part) for part in np.split(chunk.X, ends[:-1])],
    )
    pairs.append((np.concatenate(in_parts), at_once))
    if not many.reference_missing:
        expected = many.reference.create()
        pairs += [(predictions, many.reference.learn(expected, chunk)), (learner, expected)]
    if traits.labels:
        assert chunk.y is not None
        pairs.append((many.create().partial_fit(chunk.X, chunk.y.tolist()), learner))
    found.append(many.compare(chunk, *pairs, exact=many.is_exact))
    if not needs_batch_solution(many) and is_linear(many):
        batch = batch_solution_deviation(many, len(chunk.X), chunk.X.shape[1])
        found += [batch] if batch else []
    return worst(found)

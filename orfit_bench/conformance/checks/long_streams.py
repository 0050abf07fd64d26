"""Long streams: rounding errors do not accumulate."""

from __future__ import annotations

import numpy as np

from orfit_bench.conformance.acceptance import assert_learns, ensure_finite
from orfit_bench.conformance.check import Deviation, check, ensure, skip_if
from orfit_bench.conformance.checks.agreement import inverse_gram_deviation
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import ROWS

SHORT, LONG = 3_000, 100_000


def _learn_long_stream(context: CheckContext, n: int) -> Deviation | None:
    skip_if(not context.variant.guaranteed, "long streams are learned only with settings that the method declares")
    chunk = context.rows(n=n)
    learner = context.create()
    for i in range(0, n, n // 10):
        context.learn(learner, chunk.cut(i, i + n // 10))
        ensure_finite(context, learner, chunk.cut(i, i + 10))
    if context.reference_missing:
        deviation = inverse_gram_deviation(context, learner, chunk)
        if deviation:
            ensure(not deviation.inconclusive, f"after {n} rows rounding determines {deviation.of} completely")
        return deviation
    expected = context.reference.create()
    context.reference.learn(expected, chunk)
    last = chunk.X[-10:]
    predictions = context.predict(learner, last), context.reference.predict(expected, last)
    return context.compare(chunk, (learner, expected), predictions)


@check()
def thousands_of_rows(context: CheckContext) -> Deviation | None:
    """After three thousand rows the state is finite and equals that of the reference (or the declared Gram matrix)."""
    return _learn_long_stream(context, SHORT)


@check(slow=True)
def hundred_thousand_rows(context: CheckContext) -> Deviation | None:
    """After 100,000 rows the state is finite and equals that of the reference (or the declared Gram matrix).

    A learner that keeps all rows learns 10,000, since the time of a step is proportional to the rows it keeps.
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

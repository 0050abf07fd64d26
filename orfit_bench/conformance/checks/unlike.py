"""Learners that must not be merged or averaged, since they learn different things."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import train_with_other_settings
from orfit_bench.conformance.check import check, ensure_raises
from orfit_bench.conformance.checks.merging import needs_average, needs_merge
from orfit_bench.conformance.checks.single_rows import learn_one, needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import FEATURES, frozen
from orfit_bench.learners.averaging import average

BATCH, PENDING = 3, "pending rows"


def needs_combination(context: CheckContext) -> str:
    """The method must declare a rule for merging, or an average."""
    return needs_merge(context) and needs_average(context)


@check(needs_combination, all_variants=False)
def unlike_learners_are_not_combined(context: CheckContext) -> None:
    """Learners of different sizes, dtypes or settings, or with pending rows, are neither combined nor changed."""
    if context.method.combine.averages:
        chunk = context.rows(n=4 * context.batch_size)
        one, others = context.train(chunk), {"a new learner": context.create()}
        if context.method.traits.labels:
            names = np.char.add(np.asarray(chunk.y), "s")
            others["a learner of other classes"] = context.train(chunk._replace(y=names))
        for what, other in others.items():
            for pair in ([one, other], [other, one]):
                ensure_raises(partial(average, pair), ValueError, f"an average with {what}", "differ")
    for what, one, other in _unlike(context):
        before = one.copy(), other.copy()
        for name, act in _acts(context, one, other):
            reason = "pending" if what == PENDING else "differ"
            ensure_raises(act, (TypeError, ValueError), f"{name} of learners with {what}", reason)
            for learner, old in zip((one, other), before, strict=True):
                context.ensure_identical(learner, old, f"after {name} of learners with {what} was refused")


def _acts(context: CheckContext, one: Any, other: Any) -> Iterator[tuple[str, Any]]:
    """The ways of the method to combine two learners."""
    if context.method.combine.merge:
        yield "merge", lambda: one.merge(other)
        yield "merge", lambda: other.merge(one)
    if context.method.combine.averages:
        yield "average", lambda: average([one, other])


def _unlike(context: CheckContext) -> Iterator[tuple[str, Any, Any]]:
    """Yield a description of the difference, and two trained learners."""
    chunk = context.rows(n=4 * context.batch_size)

    def one() -> Any:
        return context.train(chunk)

    yield "different numbers of features", one(), context.train(context.rows(n=len(chunk.X), d=FEATURES + 1))
    if context.supports("float32") and context.dtype == "float64":
        yield (
            "different dtypes",
            one(),
            context.train(chunk.numbers(lambda a: frozen(a.astype("float32"))), dtype="float32"),
        )
    if (other := train_with_other_settings(context, chunk)) is not None:
        yield "different settings", one(), other
    if chunk.y is not None and context.method.traits.numbers and chunk.y.ndim == 1:
        both = chunk._replace(y=frozen(np.column_stack([chunk.y, chunk.y])))
        three = chunk._replace(y=frozen(np.column_stack([chunk.y] * 3)))
        yield "targets (n,) and (n, 1)", one(), context.train(chunk._replace(y=chunk.y[:, None]))
        if context.accepts(both):
            yield "different numbers of outputs", one(), context.train(both)
            yield "two and three outputs", context.train(both), context.train(three)
    if context.method.traits.labels:
        numbers = np.unique(np.asarray(chunk.y), return_inverse=True)[1]
        yield "labels of other types", one(), context.train(chunk._replace(y=numbers))
    if any(setting.name == "batch_size" for setting in context.method.settings):
        full, rest = (context.train(context.rows(n=n), batch_size=BATCH) for n in (BATCH, BATCH + 1))
        yield PENDING, full, rest
    if not needs_single_rows(context):
        yield "different names", _with_names(context, "a"), _with_names(context, "b")


def _with_names(context: CheckContext, name: str) -> Any:
    """A learner of rows whose entries have names."""
    learner, chunk = context.create(), context.rows(n=4)
    for i, x in enumerate(chunk.X):
        learn_one(learner, {f"{name}{j}": float(value) for j, value in enumerate(x)}, chunk, i)
    return learner

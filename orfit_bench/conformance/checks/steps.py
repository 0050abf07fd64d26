"""Steps of several rows: in any order, with rows that are missing, and with rows of any size."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import ensure_finite_state, learn_or_skip
from orfit_bench.conformance.check import Deviation, check, ensure, skip_if, worst
from orfit_bench.conformance.checks.chunks import needs_blocks
from orfit_bench.conformance.checks.equivariance import needs_linear_predictions
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.rows import Chunk
from orfit_bench.errors import DivergedError
from orfit_bench.spec import LINEAR

SIZES = (2, 3, 5, 1, 4, 12)
"""Number of rows of each step."""
FEW = max(SIZES[:-1])
"""Number of rows of the steps of extreme rows."""
LARGE = 8
"""The power of two of targets that require large weights."""


def needs_blocks_without_memory(context: CheckContext) -> str:
    """Steps of a linear model can have several rows, and the state does not store rows, whose order could matter."""
    if context.method.state.growth:
        return "the state keeps rows in their order"
    return needs_linear_predictions(context) or needs_blocks(context)


def needs_blocks_and_gaps(context: CheckContext) -> str:
    """Steps can have several rows, and rows can be missing."""
    return needs_blocks(context) or ("" if context.method.traits.gaps else "no row may be missing")


@check(needs_blocks_without_memory)
def rows_of_a_step_may_be_permuted(context: CheckContext) -> Deviation:
    """With the rows of every step in another order, the state is the same, and that of the reference."""
    skip_if(context.variant.time_varying, "a step takes no transition for each row")
    skip_if(context.variant.model is not LINEAR, "with more gradients than parameters the last digits decide the rank")
    chunk = context.rows(n=sum(SIZES))
    learner, other, expected = (_with_all_classes(one, chunk) for one in (context, context, context.reference))
    _learn_steps(context, learner, chunk)
    for step in _steps(chunk):
        _step(context, other, step.map(lambda a: a[::-1]))
    _learn_steps(context.reference, expected, chunk)
    return context.compare(chunk, (other, learner), (learner, expected), learn=_learn_steps)


def _with_all_classes(context: CheckContext, chunk: Chunk) -> Any:
    """A new learner; of labels, one that knows all of them, since they are numbered in order of appearance."""
    learner = context.initialize(chunk)
    if context.method.traits.labels:
        context.step(learner, chunk)
    return learner


@check(needs_blocks_and_gaps)
def missing_rows_of_a_step_are_left_out(context: CheckContext) -> Deviation:
    """A step with missing rows changes the state like a step with only the other rows."""
    skip_if(context.variant.time_varying, "a step takes no transition for each row")
    chunk = context.rows(n=sum(SIZES))
    assert chunk.y is not None
    present = chunk._replace(y=np.nan_to_num(np.asarray(chunk.y), nan=0.5).astype(chunk.y.dtype))
    found = []
    for n in (1, 2):  # rows missing from each step
        learner, other = context.initialize(chunk), context.initialize(chunk)
        _learn_steps(context, other, present)
        for step in _steps(present):
            _step(context, learner, _with_missing(step, n))
        fields, expected = host_arrays_of(learner), host_arrays_of(other)
        pairs = [(fields[f.name], expected[f.name]) for f in layout_of(other).fields if f.compared == "entries"]
        found.append(context.compare(present, *pairs, of=f"{n} rows missing from each step", learn=_learn_steps))
    return worst(found)


@check(needs_blocks)
def steps_with_extreme_rows(context: CheckContext) -> None:
    """A step of rows of very different sizes, one of them twice, is learned or refused as a unit.

    The weights before it are large, so that predictions for the largest rows overflow.
    """
    skip_if(context.variant.time_varying, "a step takes no transition for each row")
    chunk, limits = context.rows(n=2 * FEW, d=3 * FEW), np.finfo(context.dtype)
    first, step = chunk.cut(0, FEW), chunk.cut(FEW, 2 * FEW)
    if context.accepts(large := first.scale_targets(LARGE)):
        first = large
    by = 2**LARGE
    for size in (limits.tiny, limits.tiny**0.5 / by, limits.max**0.5 * by, limits.max / by, limits.max):
        for extreme in (0, len(step.X) - 1):
            X = step.X.copy()
            X[extreme] = X[extreme] / np.abs(X[extreme]).max() * size
            X[1] = X[2]
            learner = context.create()
            learn_or_skip(context, learner, first)
            context.flush(learner)
            before = learner.to_bytes()
            try:
                with np.errstate(all="ignore"):
                    context.step(learner, step.with_rows(X))
            except DivergedError:
                ensure(learner.to_bytes() == before, f"a step with row {extreme} of size {size:.0e} was half refused")
            ensure_finite_state(learner, f"after a step with row {extreme} of size {size:.0e}")


def _learn_steps(context: CheckContext, learner: Any, chunk: Chunk) -> None:
    """Learn the rows of each step together."""
    context.learn(learner, chunk.cut(0, 0))
    for step in _steps(chunk):
        _step(context, learner, step)


def _step(context: CheckContext, learner: Any, step: Chunk) -> None:
    """Learn the rows as one step; a method may refuse the largest one, for lack of digits for example."""
    try:
        context.step(learner, step)
    except DivergedError:
        if len(step.X) < SIZES[-1]:
            raise


def _steps(chunk: Chunk) -> list[Chunk]:
    """The rows of each step."""
    ends = np.cumsum(SIZES).tolist()
    return [chunk.cut(end - size, end) for size, end in zip(SIZES, ends, strict=True)]


def _with_missing(step: Chunk, n: int) -> Chunk:
    """The rows of a step between others that are missing."""
    assert step.y is not None
    where = [0] * (n - 1) + [len(step.X)]
    y = np.insert(step.y, where, np.nan, axis=0)
    return step._replace(X=np.insert(step.X, where, step.X[0] + 1, axis=0), y=y)

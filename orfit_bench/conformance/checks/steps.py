"""Steps of several rows: in any order, and with rows that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, skip_if, worst
from orfit_bench.conformance.checks.chunks import needs_blocks
from orfit_bench.conformance.checks.equivariance import needs_linear_predictions
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.rows import Chunk
from orfit_bench.spec import LINEAR

SIZES = (2, 3, 5, 1, 4)
"""Rows of each step."""


def needs_blocks_without_memory(context: CheckContext) -> str:
    """Steps of a linear model may have several rows, and the state keeps none of them, of which the order may count."""
    if context.method.state.growth:
        return "the state keeps rows in their order"
    return needs_linear_predictions(context) or needs_blocks(context)


def needs_blocks_and_gaps(context: CheckContext) -> str:
    """Steps may have several rows, and rows may be missing."""
    return needs_blocks(context) or ("" if context.method.traits.gaps else "no row may be missing")


@check(needs_blocks_without_memory)
def rows_of_a_step_may_be_permuted(context: CheckContext) -> Deviation:
    """With the rows of every step in another order, the state is the same."""
    skip_if(context.variant.time_varying, "a step takes no transition for each row")
    skip_if(context.variant.model is not LINEAR, "with more gradients than parameters the last digits decide the rank")
    chunk = context.rows(n=sum(SIZES))
    learner, other = context.initialize(chunk), context.initialize(chunk)
    if context.method.traits.labels:  # which are numbered in the order in which they come
        context.step(learner, chunk)
        context.step(other, chunk)
    _learn_steps(context, learner, chunk)
    for step in _steps(chunk):
        context.step(other, step.map(lambda a: a[::-1]))
    return context.compare(chunk, (other, learner), learn=_learn_steps)


@check(needs_blocks_and_gaps)
def missing_rows_of_a_step_are_left_out(context: CheckContext) -> Deviation:
    """A step of rows of which some are missing changes the state as the step of the others does."""
    skip_if(context.variant.time_varying, "a step takes no transition for each row")
    chunk = context.rows(n=sum(SIZES))
    assert chunk.y is not None
    present = chunk._replace(y=np.nan_to_num(np.asarray(chunk.y), nan=0.5).astype(chunk.y.dtype))
    found = []
    for n in (1, 2):  # rows missing from each step
        learner, other = context.initialize(chunk), context.initialize(chunk)
        _learn_steps(context, other, present)
        for step in _steps(present):
            context.step(learner, _with_missing(step, n))
        fields, expected = host_arrays_of(learner), host_arrays_of(other)
        pairs = [(fields[f.name], expected[f.name]) for f in layout_of(other).fields if f.compared == "entries"]
        found.append(context.compare(present, *pairs, of=f"{n} rows missing from each step", learn=_learn_steps))
    return worst(found)


def _learn_steps(context: CheckContext, learner: Any, chunk: Chunk) -> None:
    """Learn the rows of each step at once."""
    context.learn(learner, chunk.cut(0, 0))
    for step in _steps(chunk):
        context.step(learner, step)


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

"""Steps of several rows: in any order, and with rows that are missing."""

from __future__ import annotations

import numpy as np

from orfit_bench.conformance.check import Deviation, check, skip_if, worst
from orfit_bench.conformance.checks.chunks import needs_blocks
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.rows import Chunk

SIZES = (2, 3, 5, 1, 4)
"""Rows of each step."""


def needs_blocks_without_memory(context: CheckContext) -> str:
    """Steps may have several rows, and the state keeps none of them, of which the order may count."""
    return needs_blocks(context) or ("the state keeps rows in their order" if context.method.state.growth else "")


def needs_blocks_and_gaps(context: CheckContext) -> str:
    """Steps may have several rows, and rows may be missing."""
    return needs_blocks(context) or ("" if context.method.traits.gaps else "no row may be missing")


@check(needs_blocks_without_memory)
def rows_of_a_step_may_be_permuted(context: CheckContext) -> Deviation:
    """With the rows of every step in another order, the state is the same."""
    skip_if(context.variant.time_varying, "a step takes no transition for each row")
    chunk = context.rows(n=sum(SIZES))
    steps = _steps(chunk)
    learner, other = context.initialize(chunk), context.initialize(chunk)
    if context.method.traits.labels:  # which are numbered in the order in which they come
        context.step(learner, chunk)
        context.step(other, chunk)
    for step in steps:
        context.step(learner, step)
        context.step(other, step.map(lambda a: a[::-1]))
    return context.compare(chunk, (other, learner))


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
        for step in _steps(present):
            context.step(learner, _with_missing(step, n))
            context.step(other, step)
        fields, expected = host_arrays_of(learner), host_arrays_of(other)
        pairs = [(fields[f.name], expected[f.name]) for f in layout_of(other).fields if f.compared == "entries"]
        found.append(context.compare(chunk, *pairs, of=f"{n} rows missing from each step"))
    return worst(found)


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

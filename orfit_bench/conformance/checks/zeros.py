"""Zeros: a target of zero is a number like any other, and no component is zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import learn_or_skip
from orfit_bench.conformance.check import Deviation, check, ensure
from orfit_bench.conformance.checks.agreement import skip_if_not_linear
from orfit_bench.conformance.checks.decisions import needs_numbers
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import ROWS, Array, Chunk, frozen
from orfit_bench.spec.law import to_numpy64

NEAR = 1e-18
"""A target that differs from zero by less than the rounding error of the error of its row."""


@check(needs_numbers, numbers="any")
def targets_of_zero_are_learned(context: CheckContext) -> Deviation | None:
    """A target of zero is learned like a tiny target of one sign or the other."""
    skip_if_not_linear(context)
    chunk = context.rows(n=ROWS)
    if not context.accepts(_with_targets(chunk, 0.0)):
        return None
    at, above, below = (_learn(context, _with_targets(chunk, y)) for y in (0.0, NEAR, -NEAR))
    found = [context.compare(chunk, (at, near), of="the weights after targets of zero") for near in (above, below)]
    return min(found, key=lambda one: one.ratio)


def _with_targets(chunk: Chunk, y: float) -> Chunk:
    """The rows with this number as every third target, starting in the second half."""
    assert chunk.y is not None
    targets = np.array(chunk.y)
    targets[len(targets) // 2 :: 3] = y
    return chunk._replace(y=frozen(targets))


def _learn(context: CheckContext, chunk: Chunk) -> Any:
    learner = context.create()
    learn_or_skip(context, learner, chunk)
    return learner


@check(needs_numbers, all_variants=False)
def target_of_zero_is_approached(context: CheckContext) -> None:
    """A step brings a prediction nearer to a target of zero, if it does so for a target of twice the prediction.

    This requires that a step whose target is the prediction leaves it unchanged, unlike steps with momentum.
    """
    chunk = context.rows()
    B = context.batch_size
    learner = context.train(chunk.cut(0, 2 * B))
    row = chunk.cut(2 * B, 2 * B + 1).repeat(B)  # the rows of one step
    before = context.predict(learner, row.X)
    if not context.accepts(_with_targets(row, 0.0)) or not context.accepts(row._replace(y=2 * before)):
        return
    size, targets = np.abs(before).max(), [row._replace(y=(share * before).astype(before.dtype)) for share in (0, 1, 2)]
    zero, same, double = (_prediction_after(context, learner, rows) for rows in targets)
    if np.abs(same - before).max() < 0.01 * size and np.abs(double - 2 * before).max() < size:
        ensure(
            np.abs(zero).max() < size,
            f"after a step with the target 0 a prediction of {before.flat[0]:.3g} is {zero.flat[0]:.3g}",
        )


def _prediction_after(context: CheckContext, learner: Any, rows: Chunk) -> Array:
    """The prediction for the rows of a copy of the learner that has learned them."""
    copy = learner.copy()
    context.learn(copy, rows)
    return context.predict(copy, rows.X)


def needs_components(context: CheckContext) -> str:
    """The method must learn a subspace."""
    return "it learns targets" if context.method.traits.supervised else ""


@check(needs_components, numbers="any")
def no_component_stays_zero(context: CheckContext) -> None:
    """After rows in all directions, no column of the basis is zero or in the span of the others."""
    learner = context.create()
    learn_or_skip(context, learner, context.rows())
    C = to_numpy64(learner.array("basis"))
    rank = int(np.linalg.matrix_rank(C))
    ensure(
        rank == C.shape[1], f"the basis has {C.shape[1]} columns and the rank {rank} after {ROWS} rows of rank {len(C)}"
    )


@check(needs_components)
def rows_have_a_coordinate_for_each_component(context: CheckContext) -> None:
    """After rows in all directions, a row has as many coordinates as the basis has columns."""
    learner, chunk = context.create(), context.rows()
    learn_or_skip(context, learner, chunk)
    got, want = tuple(learner.transform(chunk.X).shape), (ROWS, learner.array("basis").shape[1])
    ensure(got == want, f"the coordinates of {ROWS} rows have the shape {got}, want {want}")

"""Several outputs: an output of zeros must not change the result for the other, in either order."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import learn_or_skip, rows_until_refusal
from orfit_bench.conformance.check import Deviation, check, ensure, skip_if, skip_if_time_varying, worst
from orfit_bench.conformance.checks.decisions import needs_numbers
from orfit_bench.conformance.checks.equivariance import starts_away_from_zero
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.precision_marks import FIRST, GROWING, mark_of, needs_mark, with_growing_rows
from orfit_bench.conformance.rows import OUTPUTS, Array, Chunk, frozen
from orfit_bench.errors import DivergedError
from orfit_bench.spec import LINEAR


def _ensure_one_output(context: CheckContext, chunk: Chunk) -> None:
    """Outputs must be learned separately: by a linear model, from numbers that are not probabilities of classes."""
    skip_if(context.variant.model is not LINEAR or context.variant.outputs, "it applies to linear models of one output")
    skip_if(chunk.y is None or chunk.y.ndim != 1, "the targets are shares of classes, which are learned together")


def _with_zeros(chunk: Chunk, at: int = 1) -> Chunk:
    """The same rows with an additional target of zero, before or after the other target."""
    assert chunk.y is not None
    return chunk._replace(y=np.insert(chunk.y[:, None], at, 0, axis=1))


@check(needs_numbers, numbers="any")
def output_of_zeros_changes_nothing(context: CheckContext) -> Deviation | None:
    """An output whose targets are all zero does not change the result for the other output, and learns zeros."""
    chunk = context.rows()
    _ensure_one_output(context, chunk)
    if not context.accepts(_with_zeros(chunk)):  # targets of zero
        return None
    nothing = learn_or_skip(context, context.create(), chunk._replace(y=np.zeros_like(chunk.y)))
    if nothing is None or nothing.any():  # the loss is not minimal at zero error, or the start is not zero
        return None
    one, found = context.create(), []
    before = learn_or_skip(context, one, chunk)
    after = context.predict(one, chunk.X)
    assert before is not None
    expected = np.stack([before, after])
    for place in (0, 1):
        two = context.create()
        predictions = learn_or_skip(context, two, _with_zeros(chunk, 1 - place))
        assert predictions is not None
        both = np.stack([predictions, context.predict(two, chunk.X)])
        pairs = (both[..., place], expected), (both[..., 1 - place], np.zeros_like(expected))
        found.append(context.compare(chunk, *pairs, of=f"predictions of outputs, the zeros at {1 - place}"))
        found.append(context.compare(chunk, *_shared(one, two), of="the state"))
    return worst(found)


@check(needs_numbers, numbers="any")
def equal_outputs_are_learned_equally(context: CheckContext) -> Deviation | None:
    """Three to nine outputs with the same targets are learned in the same way, row by row and as a step."""
    chunk = context.rows()
    _ensure_one_output(context, chunk)
    assert chunk.y is not None
    wide = [chunk._replace(y=frozen(np.repeat(chunk.y[:, None], outputs, axis=1))) for outputs in OUTPUTS]
    found = [
        _deviation_of_equal_outputs(context, equal)
        for equal in wide
        if context.accepts(equal) and not starts_away_from_zero(context, equal)
    ]
    return worst(found) if found else None


def _deviation_of_equal_outputs(context: CheckContext, equal: Chunk) -> Deviation:
    """The deviation of the predictions of outputs with equal targets from those of the first."""
    learner = context.create()
    predictions = learn_or_skip(context, learner, equal)
    assert predictions is not None
    found = np.concatenate([predictions, context.predict(learner, equal.X)])
    if context.supports("blocks") and not context.variant.time_varying and not learner.pending:
        with suppress(DivergedError):  # so large a step may be refused
            context.step(learner, equal)
        found = np.concatenate([found, context.predict(learner, equal.X)])
    pairs = [(found[:, j], found[:, 0]) for j in range(1, found.shape[1])]
    return context.compare(equal, *pairs, of=f"predictions of {found.shape[1]} equal outputs")


def _shared(one: Any, two: Any) -> list[tuple[Array, Array]]:
    """The fields of both learners that do not have an entry for each output."""
    fields = [f for f in layout_of(one).fields if f.compared == "entries" and "output" not in f.dims]
    mine, other = host_arrays_of(one), host_arrays_of(two)
    return [(other[f.name], mine[f.name]) for f in fields if mine[f.name].shape == other[f.name].shape]


def needs_numbers_and_a_mark(context: CheckContext) -> str:
    """The method must predict numbers, and its state must have a mark of lost precision."""
    return needs_numbers(context) or needs_mark(context)


@check(needs_numbers_and_a_mark)
def outputs_do_not_change_what_is_marked(context: CheckContext) -> None:
    """Growing rows mark lost precision, and are refused, at the same row with one output and with two."""
    chunk = context.rows(n=FIRST + GROWING)
    _ensure_one_output(context, chunk)
    skip_if_time_varying(context)
    chunk = with_growing_rows(context, chunk)
    one, two = (_marks(context, rows) for rows in (chunk, _with_zeros(chunk)))
    ensure(one == two, f"the marks after each row are {one} with one output, {two} with two")


def _marks(context: CheckContext, chunk: Chunk) -> list[float]:
    """The mark after each row, up to the first refused row."""
    learner, found = context.create(), list[float]()
    for i in range(len(chunk.X)):
        if rows_until_refusal(context, learner, chunk.cut(i, i + 1)) == 0:
            break
        found.append(mark_of(context, learner) or 0.0)
    return found

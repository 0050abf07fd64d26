"""Rows and targets of any scale, whose results must correspond to those of ordinary size."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from orfit_bench.conformance.acceptance import ensure_finite_state, rows_until_refusal
from orfit_bench.conformance.check import Deviation, check, names_settings, worst
from orfit_bench.conformance.checks.agreement import skip_if_not_linear
from orfit_bench.conformance.checks.decisions import needs_numbers
from orfit_bench.conformance.checks.equivariance import needs_linear_model
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk, frozen, scale_by_power
from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.spec import Number

NEAR = (-20, 20)
"""Powers of two by which rows or targets are scaled to determine whether their scale matters."""
MARGIN = 12
"""The distance, in powers of two, from the scales at which numbers, or their squares, overflow or underflow."""
REPEATS, SHARE = 6, 0.6
"""Number of repetitions of a row, and its size relative to the square root of the largest number."""
Scale = Callable[[Chunk, int], Chunk]


def far(context: CheckContext, squares: bool) -> tuple[int, ...]:
    """Powers of two that bring numbers or squares near the ends of the range; with `squares`, also squares beyond."""
    exponent = int(np.finfo(context.dtype).maxexp)
    half, end = exponent // 2, exponent - MARGIN
    beyond = (-half - MARGIN, half + MARGIN) if squares else ()
    return (MARGIN - half, half - MARGIN, *beyond, -end, end)


@check(needs_linear_model, numbers="any")
def scale_of_rows_does_not_matter(context: CheckContext) -> Deviation | None:
    """If rows of another scale give the same predictions, rows of any scale do so, or give a warning or an error."""
    squares = not context.method.state.solution  # a solution stores squares, with fewer digits if they are subnormal
    return _compare_scales(context, Chunk.scale_rows, _undo_scale_of_rows, squares)


@check(needs_numbers, numbers="any")
def predictions_scale_with_targets(context: CheckContext) -> Deviation | None:
    """If predictions scale with the targets, they do so for targets of any scale, or such targets are refused."""
    return _compare_scales(context, Chunk.scale_targets, lambda _, f, power: scale_by_power(f, -power), squares=False)


def _compare_scales(
    context: CheckContext, scale: Scale, undo: Callable[[CheckContext, Array, int], Array], squares: bool
) -> Deviation | None:
    """The deviation of predictions from rows of any scale, if small changes of the scale change nothing."""
    skip_if_not_linear(context)
    found = []
    for one in _with_zeros(context):
        chunk = one.rows()
        plain = _predicted(one, chunk)
        for power in (*NEAR, *far(one, squares)):
            scaled = scale(chunk, power)
            other = _predicted(one, scaled) if one.accepts(scaled) else None
            if plain is None or other is None:
                continue
            deviation = one.compare(chunk, (undo(one, other, power), plain), of=f"scale 2^{power}")
            if power in NEAR and not deviation.holds:
                break
            found.append(deviation)
    return worst(found) if found else None


def _with_zeros(context: CheckContext) -> Iterator[CheckContext]:
    """This context, and contexts with one setting of zero, if allowed, since a regularization has a scale."""
    yield context
    for setting in context.method.settings:
        if isinstance(setting.type, Number) and setting.type.low == 0 and 0.0 in setting.type:
            one = context.with_settings(**{setting.name: 0.0})
            if not one.lacking and _learns(one):
                yield one


def _learns(context: CheckContext) -> bool:
    """Whether rows are learned with these settings; without a prior, the first rows can be refused."""
    try:
        context.train(context.rows())
    except (ValueError, DivergedError):
        return False
    return True


@names_settings
def _predicted(context: CheckContext, chunk: Chunk) -> Array | None:
    """The predictions before each step, or the projections after the last one; None after an error or a warning."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", AccuracyWarning)
            learner = context.create()
            before, after = context.learn(learner, chunk), context.predict(learner, chunk.X)  # this can warn
            return after if before is None else before
    except (DivergedError, AccuracyWarning):
        return None


@check()
def growing_sums_stay_finite(context: CheckContext) -> None:
    """Rows with finite squares whose sum overflows are learned, or refused before the sum overflows."""
    chunk = context.rows(n=REPEATS * context.batch_size)
    X = np.zeros_like(chunk.X)
    X[:, 1] = np.sqrt(np.finfo(context.dtype).max) * SHARE
    large = chunk.with_rows(X)
    if chunk.has_any_numbers:  # so that weights do not have to change
        large = large._replace(y=frozen(np.zeros_like(chunk.y)))
    for size in (1, 2, REPEATS):
        size *= context.batch_size
        learner = context.create()
        for i in range(0, len(X), size):
            n = rows_until_refusal(context, learner, large.cut(i, i + size))
            ensure_finite_state(learner, f"after row {i + n - 1} of large rows, {size} rows per call")
    if context.supports("blocks") and not context.variant.time_varying:
        learner = context.initialize(chunk)
        with suppress(DivergedError), np.errstate(all="ignore"):
            for _ in range(2):
                context.step(learner, large)
        ensure_finite_state(learner, "after blocks of large rows")


def _undo_scale_of_rows(context: CheckContext, predictions: Array, power: int) -> Array:
    """Predictions unchanged; projections of scaled rows in the scale of the rows."""
    return predictions if context.method.traits.supervised else scale_by_power(predictions, -power)

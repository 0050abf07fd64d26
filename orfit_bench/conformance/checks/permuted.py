"""Features, outputs and classes in another order: the result is the same, in that order."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import learn_or_skip
from orfit_bench.conformance.check import Deviation, check, worst
from orfit_bench.conformance.checks.agreement import MANY_FEATURES, skip_if_not_linear
from orfit_bench.conformance.checks.chunks import needs_predictions
from orfit_bench.conformance.checks.equivariance import (
    needs_linear_model,
    needs_linear_predictions,
    starts_away_from_zero,
)
from orfit_bench.conformance.comparison import AMBIENT, axes_along
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.rows import OUTPUTS, ROWS, Array, Chunk, frozen
from orfit_bench.errors import DivergedError
from orfit_bench.learners.arguments import is_complex
from orfit_bench.learners.restoring import restore
from orfit_bench.spec import Field

FEW, MANY = (4, 12), (MANY_FEATURES,)
"""Numbers of features with all variants, and only with the default settings."""
ALONG_OUTPUTS = ("output", "class")
"""The dimensions that have an entry for each output."""


def needs_features_in_any_order(context: CheckContext) -> str:
    """The method must learn the linear model and, for complex numbers, predict targets."""
    return needs_linear_model(context) or (needs_predictions(context) if is_complex(context.dtype) else "")


@check(needs_features_in_any_order, numbers="any")
def features_may_be_permuted(context: CheckContext) -> Deviation:
    """With the features and the start in another order, a learner gets the same numbers in that order.

    Complex features can also be multiplied by -1, i and -i, which does not change predictions from a start of zeros.
    """
    skip_if_not_linear(context)
    sizes = FEW if context.variant.settings or context.variant.outputs else FEW + MANY
    turned = _turned(context, context.rows()) if is_complex(context.dtype) else None
    return worst([_permuted(context, context.rows(n=ROWS - 6, d=d)) for d in sizes] + ([turned] if turned else []))


def _turned(context: CheckContext, chunk: Chunk) -> Deviation | None:
    """The deviation of predictions with features multiplied by units; None if weights do not start at zero."""
    if starts_away_from_zero(context, chunk):
        return None
    turns = np.resize(np.array([1j, 1, -1, -1j], chunk.X.dtype), chunk.X.shape[1])
    plain, turned = (learn_or_skip(context, context.create(), c) for c in (chunk, chunk.with_rows(chunk.X * turns)))
    return context.compare(chunk, (turned, plain), of="features multiplied by units")


def _permuted(context: CheckContext, chunk: Chunk) -> Deviation:
    order = np.roll(np.arange(chunk.X.shape[1]), 1)
    learner, start = context.create(), context.initialize(chunk)
    predictions = learn_or_skip(context, learner, chunk)
    state = start.state()
    for field in layout_of(start).fields:
        state[field.name].values[...] = _in_order(field, state[field.name].values, order)
    other, permuted = restore(state), chunk.with_rows(chunk.X[:, order])
    parts = [context.learn(other, permuted.cut(lo, hi)) for lo, hi in ((0, 5), (5, len(chunk.X)))]
    found = context.compare(
        chunk,
        *_pairs(context, other, learner, order),
        (context.concatenate(parts), predictions),
        of=f"{len(order)} features",
    )
    return found._replace(bound=found.bound * _condition(context, learner))


def _condition(context: CheckContext, learner: Any) -> float:
    """The factor by which a non-orthonormal basis amplifies rounding errors of the projections of `_pairs`."""
    if context.method.traits.supervised:
        return 1.0
    spans = [learner.array(field.name) for field in layout_of(learner).fields if field.compared == "span"]
    condition, most = max(map(np.linalg.cond, spans), default=1.0), np.finfo(context.dtype).eps ** -0.5
    return float(min(condition, most))


def _pairs(context: CheckContext, other: Any, learner: Any, order: Array) -> list[tuple[Any, Any]]:
    """Pairs (actual, expected) of weights and covariances, or of projections onto a subspace, for permuted rows."""
    if not context.method.traits.supervised:
        rows = context.rows(n=3, d=len(order)).X
        return [(context.predict(other, rows[:, order]), context.predict(learner, rows)[:, order])]
    fields, expected = host_arrays_of(other), host_arrays_of(learner)
    roles = ["weights", "moment"] + [
        "covariance",
        "variances",
    ] * context.variant.guaranteed  # with other settings they can grow without limit
    compared = [f for f in layout_of(learner).fields if f.role in roles]
    return [(fields[f.name], _in_order(f, expected[f.name], order)) for f in compared]


def _in_order(field: Field, a: Array, order: Array, along: tuple[str, ...] = AMBIENT) -> Array:
    """The values of a field in another order along these dimensions."""
    for axis in axes_along(field, along):
        a = np.take(a, order, axis)
    return a


@check(needs_linear_predictions, numbers="any")
def outputs_may_be_permuted(context: CheckContext) -> Deviation | None:
    """With its outputs or classes in another order, a learner continues to learn the same, in rows and in steps."""
    skip_if_not_linear(context)
    half = math.ceil(ROWS / 2 / context.batch_size) * context.batch_size
    several = [replace(context, variant=replace(context.variant, outputs=outputs)) for outputs in OUTPUTS]
    chunks = [one.rows(n=2 * half) for one in several]
    found = [_with_permuted_outputs(context, chunk) for chunk in chunks if context.accepts(chunk)]
    return worst(found) if found else None


def _with_permuted_outputs(context: CheckContext, chunk: Chunk) -> Deviation:
    """The deviation of a learner whose outputs were put in another order."""
    first = len(chunk.X) // 2
    learner, rest = context.create(), chunk.cut(first, len(chunk.X))
    learn_or_skip(context, learner, chunk.cut(0, first))
    order = np.roll(np.arange(context.predict(learner, chunk.X).shape[1]), -1)  # every output moves
    state = learner.state()
    for field in layout_of(learner).fields:
        state[field.name].values[...] = _in_order(field, state[field.name].values, order, ALONG_OUTPUTS)
    other, permuted = restore(state), rest._replace(y=_permuted_targets(learner, rest, order))
    predictions, turned = context.learn(learner, rest), context.learn(other, permuted)
    assert predictions is not None
    if context.supports("blocks") and not learner.pending:
        with suppress(DivergedError):  # so large a step may be refused
            context.step(learner, rest)
            context.step(other, permuted)
    after = context.predict(other, chunk.X), context.predict(learner, chunk.X)[:, order]
    return context.compare(chunk, (turned, predictions[:, order]), after, of=f"{len(order)} outputs in another order")


def _permuted_targets(learner: Any, chunk: Chunk, order: Array) -> Array:
    """The targets in the other order: columns of numbers, or the labels that replace others."""
    y = np.asarray(chunk.y)
    if not learner.method.traits.labels:
        return frozen(y[:, order])
    known = learner.classes_
    place = np.argsort(order)  # column j holds what column order[j] has learned
    return frozen(known[place[(y[:, None] == known).argmax(axis=1)]])

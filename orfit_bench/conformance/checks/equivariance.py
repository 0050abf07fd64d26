"""Changes of the rows with a known effect: features and outputs of zeros, another order, different later rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import learn_or_skip
from orfit_bench.conformance.check import Deviation, check, ensure, skip_if, skip_if_time_varying, worst
from orfit_bench.conformance.checks.agreement import MANY_FEATURES, is_linear, needs_models, skip_if_not_linear
from orfit_bench.conformance.checks.chunks import needs_predictions
from orfit_bench.conformance.comparison import axes_along
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.rows import ROWS, Array, Chunk, frozen
from orfit_bench.conformance.variants import Variant
from orfit_bench.spec import LINEAR, Integer, Model

MANY = 300
"""Number of rows that are predicted by one call, and in parts."""


def needs_linear_model(context: CheckContext) -> str:
    """The method must learn the linear model."""
    return "it learns models of layers only" if context.method.state.layered else ""


def needs_linear_predictions(context: CheckContext) -> str:
    """The method must learn the linear model and predict targets."""
    return needs_linear_model(context) or needs_predictions(context)


def starts_away_from_zero(context: CheckContext, chunk: Chunk) -> bool:
    """Whether some weight before the first row is not zero."""
    weights = host_arrays_of(context.initialize(chunk)).get(context.method.state.weights, np.zeros(0))
    return bool(weights.any())


@check(needs_linear_predictions)
def features_of_zeros_change_nothing(context: CheckContext) -> Deviation | None:
    """Additional features that are always zero do not change predictions of a learner that starts with zeros."""
    skip_if_not_linear(context)
    many = [] if context.variant.settings else [(4, [0] * MANY_FEATURES)]
    found = []
    for d, at in [(1, [0]), (4, [2]), *many]:
        chunk = context.rows(d=d)
        wide = chunk.with_rows(np.insert(chunk.X, at, 0, axis=1))
        if starts_away_from_zero(context, chunk) or not _starts_alike(context, chunk, wide, at):
            return None
        expected = learn_or_skip(context, context.create(), chunk)
        predictions = learn_or_skip(context, context.create(), wide)
        found.append(context.compare(chunk, (predictions, expected), of=f"{d} features and {len(at)} of zeros"))
    return worst(found)


def _starts_alike(context: CheckContext, chunk: Chunk, wide: Chunk, at: list[int]) -> bool:
    """Whether the start is the same except for the features of zeros; a random start can differ."""
    narrow = context.initialize(chunk)
    expected, start = host_arrays_of(narrow), host_arrays_of(context.initialize(wide))
    added = np.arange(len(at)) + at[0]
    for field in layout_of(narrow).fields:
        a = start[field.name]
        for axis in axes_along(field):
            a = np.delete(a, added, axis)
        if not np.array_equal(a, expected[field.name]):
            return False
    return True


@check(needs_predictions)
def rows_are_predicted_one_by_one(context: CheckContext) -> Deviation:
    """The prediction for a row does not depend on the other rows of the call, nor on their number or order."""
    skip_if_time_varying(context)
    chunk, found = context.rows(), []
    order = np.random.default_rng(context.seed).permutation(ROWS)
    for i in (0, 1, 10):
        learner = context.train(chunk.cut(0, i))
        expected = context.predict(learner, chunk.X)
        single = [context.predict(learner, chunk.X[j : j + 1]) for j in range(ROWS)]
        ensure(all(len(part) == 1 for part in single), f"after {i} rows: one row does not get one prediction")
        pairs = (np.concatenate(single), expected), (context.predict(learner, chunk.X[order]), expected[order])
        found.append(context.compare(chunk, *pairs, of=f"predictions after {i} rows"))
    many = context.rows(n=MANY).X
    parts = [context.predict(learner, many[lo:hi]) for lo, hi in pairwise((0, 1, MANY // 3, MANY))]
    found.append(context.compare(chunk, (np.concatenate(parts), context.predict(learner, many)), of=f"{MANY} rows"))
    return worst(found)


@check(needs_predictions)
def predictions_do_not_know_later_rows(context: CheckContext) -> Deviation:
    """The prediction before a step does not depend on the target of its row or on later rows of the call."""
    plain = context.rows()
    X = plain.X.copy()
    X[:, 3] = 1 if context.variant.model is LINEAR else X[:, 3]
    chunk = plain.with_rows(X)
    found = []
    for begin, end, known in ((0, ROWS, 7), (1, 13, 2)):
        other = _with_other_future(chunk, begin + known)
        learners = context.create(), context.create()
        for learner in learners:
            context.learn(learner, chunk.cut(0, begin))
        got, want = (
            learn_or_skip(context, a, b.cut(begin, end)) for a, b in zip(learners, (other, chunk), strict=True)
        )
        pair = context.concatenate([got, want])
        assert pair is not None
        half = len(pair) // 2
        found.append(context.compare(chunk, (pair[: known + 1], pair[half : half + known + 1]), of=f"{known} rows"))
    return worst(found)


def _with_other_future(chunk: Chunk, known: int) -> Chunk:
    """The rows with other numbers after row `known`, and with other targets from this row."""

    def turned(a: Array | None, at: int) -> Any:
        return None if a is None else frozen(np.concatenate([a[:at], a[at:][::-1]]))

    varying = {name: turned(a, known + 1) for name, a in chunk.time_varying.items()}
    X = turned(chunk.X, known + 1)
    X = np.where(np.arange(len(X))[:, None] > known, X * np.linspace(0.5, 1, len(X))[:, None], X).astype(X.dtype)
    return Chunk(frozen(X), turned(chunk.y, known), varying)


IDLE_OUTPUT = Model(
    "linear with an idle output",
    predict=lambda w, X: w.__array_namespace__().stack([X @ w, 0 * (X @ w)], axis=1),
    jacobian=lambda w, x: x.__array_namespace__().stack([x, 0 * x]),
    parameters=lambda d, c: d,
    start=lambda draw, d, c: np.zeros(d),
)
"""A linear model with one output, and a second output that is always zero."""
ONE_OUTPUT = replace(
    IDLE_OUTPUT,
    name="linear with one output",
    predict=lambda w, X: (X @ w)[:, None],
    jacobian=lambda w, x: x[None, :],
)


@check(needs_models)
def idle_outputs_change_nothing(context: CheckContext) -> Deviation | None:
    """A second output of a model that is always zero, with targets of zero, does not change the result."""
    skip_if(not is_linear(context) or context.variant.outputs, "it compares linear models of one output")
    counts = {s.name for s in context.method.settings if isinstance(s.type, Integer)}
    skip_if(counts & set(context.variant.settings), "a limit on gradients means something else for two outputs")
    chunk, name = context.rows(), context.method.state.weights
    assert chunk.y is not None
    if not context.accepts(chunk._replace(y=np.zeros((ROWS, 2)))):
        return None
    found = []
    for model, outputs in ((IDLE_OUTPUT, 2), (ONE_OUTPUT, 1)):
        y = np.zeros((ROWS, outputs), chunk.y.dtype)
        y[:, 0] = chunk.y
        other = replace(context, variant=Variant(context.variant.settings, model, outputs))
        found.append(np.asarray(other.train(chunk._replace(y=y)).array(name)))
    return context.compare(chunk, (found[0], found[1]), of=name)

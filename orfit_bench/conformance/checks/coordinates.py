"""Linear models with rows in other coordinates: x becomes scale * x + shift; the intercept compensates the shift."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, skip_if
from orfit_bench.conformance.checks.agreement import skip_if_not_linear
from orfit_bench.conformance.checks.merging import merge_or_skip, needs_merge
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import layout_of, state_of
from orfit_bench.conformance.rows import ROWS, Array, Chunk, frozen
from orfit_bench.learners.pipelines.factory import pipeline
from orfit_bench.state.coordinates import Change, expressed, refusal

GRID = 2.0**8
"""Rows are integer multiples of 1 / GRID, so that they are exact in other coordinates, in any dtype."""

SECOND_ORDER = {"covariance", "covariance_root", "information", "information_root"}
"""Roles of fields with which a step accounts for the coordinates of the rows."""
SETTLED = 64
"""The number of rows whose moments determine the coordinates of the prior (docs/pipelines.md)."""
PART = 72
"""Number of rows of a part: more than SETTLED, with batches of any size."""


def needs_coordinates(context: CheckContext) -> str:
    """The method must learn targets with a linear model, and declare how its fields depend on coordinates of rows."""
    if not context.method.traits.supervised or context.method.state.layered or context.method.state.predict:
        return "it learns no linear model of targets"
    return refusal(context.create().rule)


def needs_exact_merges(context: CheckContext) -> str:
    """In addition to `needs_coordinates`, the method must declare an exact merge rule."""
    how = context.method.combine.merge
    return (
        needs_coordinates(context)
        or needs_merge(context)
        or ("" if how and how.kind == "exact" else "merges are not exact")
    )


@check(needs_coordinates)
def other_coordinates_change_no_prediction(context: CheckContext) -> Deviation:
    """A state that is expressed in other coordinates of the rows gives the same predictions and deviations.

    With a covariance or the information of all features, it also learns the same from more rows.
    """
    chunk = _with_intercept(context)
    learner, moved = context.create(), context.create()
    skip_if(reason := refusal(learner.rule), reason)
    there = chunk.with_rows(_change(chunk.X.shape[1]).times(chunk.X))
    cut = _middle(context, chunk)
    context.learn(learner, chunk.cut(0, cut))
    _learn_and_move(context, moved, chunk)
    pairs = _answers(context, (moved, there), (learner, chunk))
    if {f.role for f in layout_of(learner).fields} & SECOND_ORDER:
        pairs.append((_learn_rest(context, moved, chunk), context.learn(learner, chunk.cut(cut, len(chunk.X)))))
        pairs += _answers(context, (moved, there), (learner, chunk))
    return _amplified(context.compare(chunk, *pairs, learn=_learn_moved), _change(chunk.X.shape[1]))


@check(needs_exact_merges)
def parts_in_other_coordinates_merge(context: CheckContext) -> Deviation:
    """Pipelines that standardize parts of a stream, each by its own moments, merge into the pipeline of all rows."""
    chunk = _with_intercept(context, 2 * PART)
    X, y, half = np.array(chunk.X[:, :-1]), np.asarray(chunk.y), PART
    later = Change(np.full(X.shape[1], 2.0), np.full(X.shape[1], 1.0))
    X[half:] = X[half:] * later.scale + later.shift
    one, first, last = (pipeline("standardize", "intercept", context.create()) for _ in range(3))
    skip_if(reason := refusal(one.learner.rule), reason)
    one.partial_fit(X, y)
    merged = merge_or_skip(context, first.partial_fit(X[:half], y[:half]), last.partial_fit(X[half:], y[half:]))
    rows = chunk.with_rows(X)
    found = context.compare(chunk, *_answers(context, (merged, rows), (one, rows)), learn=_learn_standardized)
    return _amplified(found, later)


@check(needs_exact_merges)
def standardized_rows_have_one_prior(context: CheckContext) -> Deviation:
    """A pipeline that standardizes predicts like a learner of all rows, scaled by the moments of the first 64."""
    chunk = _with_intercept(context, 2 * PART)
    X, standardized = np.asarray(chunk.X[:, :-1]), pipeline("standardize", "intercept", context.create())
    skip_if(reason := refusal(standardized.learner.rule), reason)
    first = np.asarray(X[:SETTLED], float)
    to_unit = Change(1 / first.std(axis=0), -first.mean(axis=0) / first.std(axis=0))
    scaled = chunk.with_rows(frozen(to_unit.times(chunk.X).astype(context.dtype)))
    standardized.partial_fit(X, chunk.y)
    pairs = _answers(context, (standardized, chunk.with_rows(X)), (context.train(scaled), scaled))
    return _amplified(context.compare(chunk, *pairs, learn=_learn_standardized), to_unit)


def _learn_standardized(context: CheckContext, learner: Any, chunk: Chunk) -> Array:
    """Learn the rows in a pipeline; returns its predictions for them."""
    steps = pipeline("standardize", "intercept", learner).partial_fit(chunk.X[:, :-1], chunk.y)
    return _predict(context, steps, np.asarray(chunk.X[:, :-1]))


def _with_intercept(context: CheckContext, n: int = ROWS) -> Chunk:
    """Rows on a grid; the last entry of each is 1."""
    skip_if_not_linear(context)
    chunk = context.rows(n=n)
    X = np.round(np.asarray(chunk.X) * GRID) / GRID
    X[:, -1] = 1
    return chunk.with_rows(frozen(X))


def _change(d: int) -> Change:
    """Other coordinates, by powers of two."""
    place = np.arange(d - 1)
    return Change(2.0 ** (place % 3 - 1), 0.5 * (-1.0) ** place)


def _amplified(found: Deviation, change: Change) -> Deviation:
    """A deviation with the condition number of the change in its bound: a covariance is rounded before and after it."""
    M = change.times(np.eye(len(change.scale) + 1))
    return found._replace(bound=found.bound * float(np.linalg.cond(M)))


def _middle(context: CheckContext, chunk: Chunk) -> int:
    """About half of the number of rows, in whole batches."""
    return len(chunk.X) // (2 * context.batch_size) * context.batch_size


def _learn_and_move(context: CheckContext, learner: Any, chunk: Chunk) -> None:
    """Learn half of the rows, and express the state in other coordinates."""
    context.learn(learner, chunk.cut(0, _middle(context, chunk)))
    learner.live_state = expressed(learner.rule, state_of(learner), _change(chunk.X.shape[1]))


def _learn_rest(context: CheckContext, learner: Any, chunk: Chunk) -> Array | None:
    """Learn the other half in other coordinates."""
    there = chunk.with_rows(_change(chunk.X.shape[1]).times(chunk.X))
    return context.learn(learner, there.cut(_middle(context, chunk), len(chunk.X)))


def _learn_moved(context: CheckContext, learner: Any, chunk: Chunk) -> Array | None:
    """Learn the rows, each half in its own coordinates."""
    _learn_and_move(context, learner, chunk)
    return _learn_rest(context, learner, chunk)


def _answers(context: CheckContext, one: tuple[Any, Chunk], other: tuple[Any, Chunk]) -> list[tuple[Any, Any]]:
    """Pairs of the predictions of two learners for the same rows, each in its own coordinates."""
    (a, here), (b, there) = one, other
    pairs: list[tuple[Any, Any]] = [(_predict(context, a, here.X), _predict(context, b, there.X))]
    if _has_deviations(context):
        pairs.append((_deviations(a, here.X), _deviations(b, there.X)))
    return pairs


def _has_deviations(context: CheckContext) -> bool:
    """Whether predictions have standard deviations."""
    learner = context.initialize(context.rows())
    try:
        learner.predict(context.rows().X, return_std=True)
    except (TypeError, ValueError):
        return False
    return True


def _predict(context: CheckContext, learner: Any, X: Array) -> Array:
    """Predictions or scores of a learner or a pipeline, in host memory."""
    return _to_host(learner, (learner.decision_function if context.method.traits.labels else learner.predict)(X))


def _deviations(learner: Any, X: Array) -> Array:
    """The standard deviations of predictions, in host memory."""
    return _to_host(learner, learner.predict(X, return_std=True)[1])


def _to_host(learner: Any, found: Any) -> Array:
    return np.asarray(getattr(learner, "learner", learner).backend.asnumpy(found))

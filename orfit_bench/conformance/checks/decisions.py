"""Decisions between equally good answers and at the kink of a loss, and the error of a refused step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import rows_until_refusal
from orfit_bench.conformance.check import check, ensure, ensure_raises, skip_if_time_varying
from orfit_bench.conformance.checks.equivariance import needs_linear_predictions
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.conformance.rows import FEATURES, Array, Chunk
from orfit_bench.errors import DivergedError, with_place

MARGIN = 2.0**-6
"""Distance of a prediction from the target, below or above it."""
SMALL_STEPS = 3
"""Number of steps before the refused step."""


def needs_labels(context: CheckContext) -> str:
    """The method must learn labels."""
    return "" if context.method.traits.labels else "the method does not learn labels"


@check()
def refused_step_is_named(context: CheckContext) -> None:
    """The error of a refused step names its number, the row of the call at which it begins, and the settings.

    A method that learns rows of any size does not raise an error.
    """
    B = context.batch_size
    known = (SMALL_STEPS - 1) * B + B // 2  # with batches, rows are pending when the call begins
    chunk = context.rows(n=2 * SMALL_STEPS * B)
    X = chunk.X.copy()
    X[SMALL_STEPS * B] = np.finfo(context.dtype).max / 2
    chunk = chunk.with_rows(X)
    learner = context.train(chunk.cut(0, known))
    try:
        with np.errstate(all="ignore"):
            context.learn(learner, chunk.cut(known, len(X)))
    except DivergedError as error:
        _ensure_named(context, learner, error, chunk, known)


def _ensure_named(context: CheckContext, learner: Any, error: DivergedError, chunk: Chunk, known: int) -> None:
    """The error must match the rows that were learned, `known` of them before the call."""
    small, learned = SMALL_STEPS * context.batch_size, (error.step - 1) * context.batch_size
    row = max(0, learned - known)
    ensure(learned >= small, f"the error names step {error.step}, but the first {small} rows are small")
    ensure(error.row == row, f"step {error.step} begins at row {row} of the call, the error says row {error.row}")
    seen = learner.n_samples_seen_
    ensure(seen == learned, f"{seen} rows seen after step {error.step} was refused, want {learned}")
    again = rows_until_refusal(context, context.create(), chunk.cut(0, learned))
    ensure(again == learned, f"the error names step {error.step}, but an earlier one is refused, at row {again}")
    missing = [name for name in learner.settings if name not in str(error)]
    ensure(not missing, f"the error of a refused step does not name the setting {missing and missing[0]}: {error}")


def needs_numbers(context: CheckContext) -> str:
    """The method must learn the linear model and predict numbers."""
    return needs_linear_predictions(context) or ("it predicts labels" if context.method.traits.labels else "")


@check(needs_numbers)
def exact_prediction_is_not_corrected(context: CheckContext) -> None:
    """Targets of zero leave weights of zero unchanged, if targets of 1 and -1 move predictions towards them.

    A loss can have a kink there, where subgradients other than zero would be equally valid.
    """
    skip_if_time_varying(context)
    row, name = context.rows(n=1), context.method.state.weights
    chunks = [_repeated(context, row, y) for y in (1, -1, 0)]
    if not all(context.accepts(chunk) for chunk in chunks) or _starts_elsewhere(context, chunks[0]):
        return
    up, down, exact = (context.train(chunk) for chunk in chunks)
    if not (context.predict(up, row.X).real > 0).all() or not (context.predict(down, row.X).real < 0).all():
        return
    weights = host_arrays_of(exact)[name]
    ensure(
        not weights.any(),
        f"{name} changed by up to {np.abs(weights).max(initial=0):.1e} in a step from zero weights to zero targets",
    )


def _repeated(context: CheckContext, row: Chunk, y: float) -> Chunk:
    """The rows of one step: this row, repeated, with the target y."""
    return row._replace(y=np.full_like(row.y, y)).repeat(context.batch_size)


def _starts_elsewhere(context: CheckContext, chunk: Chunk) -> bool:
    """Whether a new learner has no weights, or weights other than zero."""
    start = host_arrays_of(context.initialize(chunk)).get(context.method.state.weights)
    return start is None or bool(start.any())


@check(needs_numbers)
def step_at_a_margin_is_zero(context: CheckContext) -> None:
    """If predictions above the target 1 need no correction and those below it do, a prediction of exactly 1 needs none.

    A hinge loss has its kink there, where subgradients other than zero would be equally valid.
    """
    skip_if_time_varying(context)
    X = np.zeros_like(context.rows(n=1).X)
    X[0, 0] = 1  # so that the prediction is the first weight, exactly
    chunk = _repeated(context, context.rows(n=1).with_rows(X), 1)
    if not context.accepts(chunk) or _starts_elsewhere(context, chunk):
        return
    below, at, above = (_changes_from(context, chunk, f) for f in (1 - MARGIN, 1.0, 1 + MARGIN))
    ensure(above or not below or not at, "a prediction above 1 does not change the weights, but one of exactly 1 does")


def _changes_from(context: CheckContext, chunk: Chunk, prediction: float) -> bool:
    """Whether a step changes the weights, from weights with this prediction."""
    name = context.method.state.weights
    start = np.zeros_like(host_arrays_of(context.initialize(chunk))[name])
    start[0] = prediction
    try:
        learner = context.train(chunk, initial_weights=start)
    except ValueError:  # the weights are limited to a ball, or derived from other fields
        return False
    return not np.array_equal(host_arrays_of(learner)[name], start)


@check(needs_labels)
def first_of_tied_classes_is_predicted(context: CheckContext) -> None:
    """Of the classes with the largest score, the one that was seen first is predicted, for many rows and for one.

    Labels keep their type, and labels of another type are refused.
    """
    skip_if_time_varying(context)
    chunk = context.rows()
    assert chunk.y is not None
    rows = np.vstack([np.zeros((1, FEATURES), chunk.X.dtype), chunk.X[:4]])
    for order in (["b", "c", "a"], ["c", "a", "b"], ["a\0", "b", "a"]):
        learner = context.create().partial_fit(np.zeros((3, FEATURES), chunk.X.dtype), order)
        _ensure_first(context, learner, rows, order)
    for labels, other in (([3, 1, 2], True), ([False, True, True], 1), (["b", "c", "a"], 1)):  # True == 1
        learner = context.create().partial_fit(np.zeros((3, FEATURES), chunk.X.dtype), labels)
        kind, want = learner.classes_.dtype.kind, np.array(labels).dtype.kind
        ensure(kind == want, f"classes_ of {labels} has the kind {kind!r}, want {want!r}")
        what = f"learn_one of {other!r} after the labels {labels}"
        ensure_raises(partial(learner.learn_one, chunk.X[0], other), (TypeError, ValueError), what)
    seen = list(dict.fromkeys(chunk.y.tolist()))
    _ensure_first(context, context.train(chunk), rows, seen)


def _ensure_first(context: CheckContext, learner: Any, rows: Array, order: Sequence[str]) -> None:
    """The learner must predict the first class with the largest score, in the order in which it saw the classes."""
    scores = context.predict(learner, rows)
    want = [order[i] for i in scores.argmax(axis=1)]
    for name, got in (
        ("predict", learner.predict(rows).tolist()),
        ("predict_one", [learner.predict_one(x) for x in rows]),
    ):
        i = next((i for i in range(len(rows)) if got[i] != want[i]), 0)
        ensure(got[i] == want[i], f"{name} returns {got[i]!r}, want {want[i]!r}: scores {scores[i]} of {order}")
    _ensure_probabilities(context, learner, rows)


def _ensure_probabilities(context: CheckContext, learner: Any, rows: Array) -> None:
    """Probabilities, if the method defines them, are those of each row alone, and largest for the largest score."""
    scores, declared = context.predict(learner, rows), context.method.state.probabilities
    if declared is None or declared(scores, learner.settings) is None:
        return
    found, name = learner.predict_proba(rows), with_place(declared)
    ensure(found.shape == scores.shape, f"{name} returned shape {found.shape} for scores {scores.shape}")
    rounding = 16 * scores.shape[1] * float(np.finfo(context.dtype).eps)
    for i, row in enumerate(found):
        ensure(row.min() >= 0, f"{name} returned the negative probability {row.min():.3g}")
        ensure(abs(row.sum() - 1) <= rounding, f"{name} returned probabilities that add up to {row.sum():.6g}, want 1")
        best = row[scores[i].argmax()]
        ensure(best >= row.max() - rounding, f"{name} returned {row} for the scores {scores[i]}: want the same order")
        alone = np.asarray(declared(scores[i : i + 1], learner.settings))[0]
        ensure(np.abs(alone - row).max() <= rounding, f"{name} returned {row} for a row among others, {alone} alone")


@check(needs_labels)
def later_class_needs_a_larger_score(context: CheckContext) -> None:
    """While rows are learned, the label predicted for a row changes only to a label with a larger score."""
    skip_if_time_varying(context)
    chunk = context.rows()
    rows = np.vstack([np.zeros((1, FEATURES), chunk.X.dtype), chunk.X[:4]])
    learner, before = context.create(), [""] * len(rows)
    for i in range(len(chunk.X)):
        context.learn(learner, chunk.cut(i, i + 1))
        scores, known = context.predict(learner, rows), learner.classes_.tolist()
        after = learner.predict(rows).tolist()
        kind = learner.predict(rows).dtype.kind
        ensure(kind == np.asarray(chunk.y).dtype.kind, f"the predicted labels are an array of the kind {kind!r}")
        for row, old, new in zip(scores, before, after, strict=True):
            larger = not old or old == new or row[known.index(new)] > row[known.index(old)]
            ensure(larger, f"after row {i} the label changed from {old!r} to {new!r}: scores {row} of {known}")
        before = after
        _ensure_probabilities(context, learner, rows)

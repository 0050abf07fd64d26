"""Invalid input raises an error of the right type with a message, and does not change the learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import hint_for_checked_rows
from orfit_bench.conformance.check import check, ensure, ensure_raises
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import numbers_outside
from orfit_bench.conformance.rows import FEATURES, Chunk
from orfit_bench.spec import LINEAR

TOO_LARGE = 2**60 + 1
"""An integer that is not exact in any dtype of a learner."""
Invalid = Iterator[tuple[str, Any, Any]]
"""A description of the problem, X and y."""


def _ensure_refused(context: CheckContext, invalid: Callable[[Chunk], Invalid], wanted: type[Exception]) -> None:
    """Each invalid input raises the error and changes nothing, on a new and on a trained learner."""
    chunk = context.rows()
    for n in (0, 10):
        for what, X, y in invalid(chunk.cut(0, 4)):
            learner = context.train(chunk.cut(0, n)) if n else context.create()
            before = learner.copy()
            ensure_raises(partial(learner.partial_fit, X, *([] if y is None else [y])), wanted, what)
            context.ensure_identical(learner, before, f"after {what} was refused")


@check()
def invalid_shapes_are_refused(context: CheckContext) -> None:
    """Rows and targets of invalid shapes raise ValueError and change nothing."""

    def invalid(good: Chunk) -> Invalid:
        X, y = good.X, good.y
        yield "X of one dimension", X[0], y
        yield "X of three dimensions", X[None], y
        yield "X of three dimensions, of which one is 1", X[:, None], y
        yield "X without columns", X[:, :0], y
        if y is not None:
            yield "y that is too short", X, y[:-1]
            yield "y that is too long", X, np.concatenate([y, y[:1]])
            yield "y of the first row alone", X, y[:1]
            yield "a single target for several rows", X, y[0, 0] if y.ndim > 1 else y[0]
            yield "y of three dimensions", X, y.reshape(-1, 1, 1)
            if y.dtype.kind == "U":
                yield "labels of two columns", X, np.array([y, y], object).T

    _ensure_refused(context, invalid, ValueError)
    _ensure_hint_for_one_row(context, context.rows())
    if context.supports("blocks"):
        learner, nothing = context.initialize(context.rows()), context.rows().cut(0, 0)
        ensure_raises(partial(context.step, learner, nothing), ValueError, "a step without rows", "no rows")


def _ensure_hint_for_one_row(context: CheckContext, rows: Chunk) -> None:
    """The error for one row as X must explain how to pass it; for rows of three dimensions it must not."""
    for X, hints in ((rows.X[0], 1), (rows.X[:, None], 0)):
        try:
            context.create().partial_fit(X, *([] if rows.y is None else [rows.y[: len(X)]]))
        except ValueError as error:
            found = str(error).count("for one row pass X[None, :]")
            ensure(
                found == hints, f"X of shape {X.shape}: the error has {found} hints for one row, want {hints}: {error}"
            )


@check()
def changed_sizes_are_refused(context: CheckContext) -> None:
    """Once rows or initial weights fix the numbers of features and outputs, other numbers raise ValueError."""
    chunk = context.rows()
    learner = context.train(chunk.cut(0, 10))
    before, good = learner.copy(), chunk.cut(10, 14)
    bad: list[tuple[str, Any, Any]] = [
        ("a column too few", good.X[:, :-1], good.y),
        ("a column too many", np.hstack([good.X, good.X[:, :1]]), good.y),
    ]
    if context.method.traits.numbers and good.y is not None:
        bad.append(("another number of outputs", good.X, np.ones((4, (context.variant.outputs or 1) + 1))))
        if good.y.ndim > 1:
            bad += [("an output too few", good.X, good.y[:, :-1]), ("one-dimensional y", good.X, good.y[:, 0])]
    for what, X, y in bad:
        ensure_raises(partial(learner.partial_fit, X, *([] if y is None else [y])), ValueError, what)
        context.ensure_identical(learner, before, f"after {what} was refused")
    if hasattr(learner, "predict_one"):
        shapes = (good.X[:1], "several rows"), (np.append(good.X[0], good.X[0]), "want"), (good.X[0, 0], "ob.DelayLine")
        for X, words in shapes:
            ensure_raises(partial(learner.predict_one, X), ValueError, f"predict_one of shape {X.shape}", words)
    if not context.method.traits.supervised:
        k = learner.components_.shape[0]
        for wrong in (k + 1, k + 2):
            act = partial(learner.inverse_transform, np.ones((3, wrong), learner.dtype))
            ensure_raises(act, ValueError, f"inverse_transform of {wrong} columns", f"got {wrong} columns, want {k}")
        act = partial(context.initialize(chunk).inverse_transform, np.ones(k, learner.dtype))
        ensure_raises(act, ValueError, "inverse_transform of one dimension before the first row", "want 2 dimensions")
    for d, c, start in ((FEATURES, 1, (2,)), (FEATURES, 2, (FEATURES,)), (FEATURES, 2, (FEATURES, 3))):
        _ensure_start_refused(context, d, c, start)


def _ensure_start_refused(context: CheckContext, d: int, c: int, shape: tuple[int, ...]) -> None:
    """Initial weights of this shape must be refused for rows of d features and c outputs."""
    rows, learner = context.rows(d=d), start_of_shape(context, shape)
    if learner is None or rows.y is None:
        return
    y = np.repeat(rows.y.reshape(len(rows.X), -1)[:, :1], c, axis=1)
    what = f"initial_weights of shape {shape} for {d} features and {c} outputs"
    ensure_raises(lambda: learner.partial_fit(rows.X, y), ValueError, what, str(shape))


def start_of_shape(context: CheckContext, shape: tuple[int, ...], value: float = 0.0) -> Any:
    """A learner of numbers with equal initial weights of this shape; None if the method does not support this."""
    if not context.method.traits.numbers or context.variant.model is not LINEAR:
        return None
    try:
        return context.create(initial_weights=np.full(shape, value))
    except (TypeError, ValueError):  # users cannot set its weights
        return None


@check()
def nonfinite_input_is_refused(context: CheckContext) -> None:
    """NaN and infinity raise ValueError and change nothing; a NaN in a filter's y means a missing value."""

    def invalid(good: Chunk) -> Invalid:
        for value in (np.nan, np.inf, -np.inf):
            X = good.X.copy()
            X[2, 1] = X[3, 0] = value
            yield f"X with {value}", X, good.y
            if good.y is not None and good.y.dtype.kind == "f" and not (np.isnan(value) and context.method.traits.gaps):
                y = good.y.copy()
                y[2] = value
                yield f"y with {value}", good.X, y

    chunk = context.rows()
    X = np.array(chunk.X)
    X[4, 1] = X[7, 0] = np.nan
    with hint_for_checked_rows(context):
        _ensure_refused(context, invalid, ValueError)
        act = partial(context.learn, context.create(), chunk.with_rows(X))
        ensure_raises(act, ValueError, "X with NaN in two rows", "row 4, column 1")
        if context.method.traits.gaps and chunk.y is not None:
            _ensure_refused_with_gaps(context, chunk, np.full_like(chunk.y[0], np.nan)[()])


def _ensure_refused_with_gaps(context: CheckContext, chunk: Chunk, gap: Any) -> None:
    """A row that is not finite must be refused even if its target is missing."""
    learner = context.train(chunk.cut(0, 4))
    before = learner.copy()
    for value in (np.nan, np.inf):
        x = np.array(chunk.X[4])
        x[1] = value
        for act in (partial(learner.learn_one, x, gap), partial(learner.partial_fit, x[None], gap[None])):
            ensure_raises(act, ValueError, f"a row with {value} whose target is missing")
            context.ensure_identical(learner, before, f"after a row with {value} whose target is missing was refused")


@check()
def non_numeric_input_is_refused(context: CheckContext) -> None:
    """Strings, complex numbers, objects and masked arrays raise TypeError, ragged arrays ValueError.

    The error for an entry that is None names its place.
    """

    def of_values(good: Chunk) -> Invalid:
        for number in integers_that_are_rounded(context):
            yield f"X of {number}, which would be rounded", np.full(good.X.shape, number), good.y
        yield "a ragged X", [[1.0, 2.0], [3.0]], good.y

    def of_types(good: Chunk) -> Invalid:
        X, y = good.X, good.y
        yield "no X", None, y
        yield "complex X", X + 1j, y
        yield "X of strings", X.astype(str), y
        yield "X of objects", X.astype(object), y
        yield "a masked X", np.ma.masked_array(X, mask=X > 0), y
        if y is not None:
            yield "complex y", X, np.ones(len(X)) + 1j
            yield "a masked y", X, np.ma.masked_array(np.ones(len(X)), mask=[True] * len(X))
            yield "y of dates", X, np.array(["2020-01-01"] * len(X), "M8[D]")
            if y.dtype.kind == "U":
                yield "labels of two kinds", X, [*y[:-1].tolist(), 7]

    _ensure_refused(context, of_values, ValueError)
    _ensure_refused(context, of_types, TypeError)
    good, learner = context.rows().cut(0, 4), context.create()
    X = good.X.astype(object)
    X[1, 0] = None
    learn = partial(learner.partial_fit, X, *([] if good.y is None else [good.y]))
    ensure_raises(learn, TypeError, "X with None", "X[1, 0] is None")


def integers_that_are_rounded(context: CheckContext) -> list[int]:
    """Integers that a learner would round, down and up, including the smallest of both signs."""
    limit = 2 ** (np.finfo(context.dtype).nmant + 1)  # every integer up to this is exact in the dtype
    return [TOO_LARGE, 2**61 - 1, limit + 1, -limit - 1]


@check(all_variants=False, own_settings=True)
def invalid_settings_are_refused(context: CheckContext) -> None:
    """Unknown settings, and values of the wrong type or out of range, raise TypeError or ValueError in `create`."""
    tried: dict[str, list[Any]] = {"no_such_setting": [1]}
    for s in context.method.settings:
        bad: dict[str, list[Any]] = {
            "number": ["text", np.nan, np.inf, -np.inf, True],
            "integer": ["text", 1.5, True, -(10**30)],
            "schedule": ["text", np.nan, {"no_such_schedule": {}}],
            "choice": ["no such choice", 1],
            "text": [1],
            "matrix": ["text", np.nan, [[1.0], [1.0, 2.0]]],
            "transition": ["text", np.nan],
        }
        tried[s.name] = bad[s.type.kind] + numbers_outside(s.type) + ([] if s.optional else [None])
    for name, values in tried.items():
        for value in values:
            ensure_raises(partial(context.create, **{name: value}), (TypeError, ValueError), f"{name}={value!r}", name)

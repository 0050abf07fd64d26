"""Invalid rows and targets, for which every call gives the same error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import calls_that_learn
from orfit_bench.conformance.causes import describe
from orfit_bench.conformance.check import Violation, check, ensure, ensure_raises, skip_if_time_varying
from orfit_bench.conformance.checks.invalid_input import start_of_shape
from orfit_bench.conformance.checks.single_rows import needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk

ROW_NAMES = re.compile(r"\b[XxA]\b")
"""Names of the argument with the rows: X, x for a single row, A for a block."""

MISSING = "rows with None"
OBJECTS = "rows of objects"
NOT_FINITE = "NaN", "infinity"
WRONG = "TypeError", "ValueError"
"""The errors for rows and targets that no learner accepts, before a step is tried."""
WRONG_NUMBERS = "targets that are too few", "targets that are too many"
"""Inputs whose error must state the number of rows."""
ONE_ROW = "a row of one dimension"
"""An input whose error must explain how to pass a single row."""
MISSHAPEN = ONE_ROW, "rows of three dimensions", "targets of three dimensions", "labels of two columns"
"""Inputs whose error must name the shape."""


@check(all_variants=False)
def calls_give_the_same_errors(context: CheckContext) -> None:
    """Every call that learns gives the same error as `partial_fit` for invalid rows or targets, and changes nothing."""
    chunk = context.rows()
    B = context.batch_size
    for learner in (context.initialize(chunk), context.train(chunk.cut(0, 2 * B))):
        before = learner.copy()
        for what, X, y in _invalid(chunk.cut(0, 2 * B)):
            calls = calls_that_learn(context)
            errors = {name: _error_of(partial(call, learner, chunk._replace(X=X, y=y))) for name, call in calls.items()}
            want = errors["partial_fit"]
            ensure(want, f"partial_fit learns {what}")
            _ensure_located(what, X, want)
            if what in WRONG_NUMBERS:
                counts = f"y: got {len(y)} rows, want {2 * B}"
                ensure(counts in want, f"{what}: the error {want!r} does not say {counts!r}")
            if what in MISSHAPEN:
                shape = str(np.shape(X if what.startswith(("rows", ONE_ROW)) else y))
                ensure(shape in want, f"{what}: the error {want!r} does not name the shape {shape}")
                has_hint = "for one row pass" in want
                ensure(
                    has_hint == (what == ONE_ROW), f"{what}: the error {want!r} should say how to pass one row or not"
                )
            for name, got in errors.items():
                ensure(got == want, f"{what}: the error of {name} is {got or 'none'}, that of partial_fit {want}")
            context.ensure_identical(learner, before, f"after {what} was refused")
    _ensure_start_refused_alike(context, chunk.cut(0, B))
    _ensure_start_is_finite(context, chunk.X.shape[1:])
    for name, call in calls_that_learn(context).items():
        error = _error_of(partial(call, context.create(), chunk.cut(0, B)._replace(X=chunk.X[:B, :0])))
        ensure("column" in error, f"{name} of first rows without columns: want an error, got {error or 'none'}")


def _ensure_start_refused_alike(context: CheckContext, chunk: Chunk) -> None:
    """Every call must refuse rows of two outputs with initial weights (d,), which have one output."""
    learner = start_of_shape(context, chunk.X.shape[1:])
    if learner is None or chunk.y is None:
        return
    two = _with_two_outputs(chunk)
    for name, call in calls_that_learn(context).items():
        error = _error_of(partial(call, learner, two))
        what = f"{name} with initial_weights (d,) for two outputs"
        ensure("initial_weights" in error, f"{what}: want an error that names them, got {error or 'none'}")


def _ensure_start_is_finite(context: CheckContext, shape: tuple[int, ...]) -> None:
    """Initial weights that are not finite must be refused, with the place of the first one."""
    if start_of_shape(context, shape) is None:
        return
    for value in (np.nan, np.inf):
        create = partial(context.create, initial_weights=np.full(shape, value))
        ensure_raises(create, ValueError, f"initial_weights of {value}", "[0]")


def _with_two_outputs(chunk: Chunk) -> Chunk:
    """The rows with their first target twice."""
    return chunk._replace(y=np.repeat(np.asarray(chunk.y).reshape(len(chunk.X), -1)[:, :1], 2, axis=1))


@check(all_variants=False)
def questions_give_the_same_errors(context: CheckContext) -> None:
    """Every call with rows but without targets gives the same error as `partial_fit` for invalid rows."""
    skip_if_time_varying(context)
    chunk = context.rows()
    learner = context.train(chunk.cut(0, 2 * context.batch_size))
    for what, X in _invalid_rows(np.array(chunk.X[:4])):
        y = None if chunk.y is None else chunk.y[: np.shape(X)[0]]
        want = _error_of(partial(context.learn_silently, learner, chunk._replace(X=X, y=y)))
        ensure(want, f"partial_fit learns {what}")
        _ensure_located(what, X, want)
        for name in ("predict", "decision_function", "predict_proba", "transform"):
            if question := getattr(learner, name, None):
                got = _error_of(partial(question, X))
                ensure(got == want, f"{what}: the error of {name} is {got or 'none'}, that of partial_fit {want}")
        if hasattr(learner, "predict_one") and X.ndim == 2:
            want, got = _error_of(partial(learner.predict, X[1:2])), _error_of(partial(learner.predict_one, X[1]))
            ensure(
                got == want, f"{what}: the error of predict_one is {got or 'none'}, that of predict {want or 'none'}"
            )
    _ensure_coordinates_refused(context, learner)
    if hasattr(learner, "predict"):
        act = partial(learner.predict, chunk.X, no_such_argument=1)
        ensure_raises(act, TypeError, "predict with an unknown argument", "no_such_argument")


def _ensure_coordinates_refused(context: CheckContext, learner: Any) -> None:
    """Coordinates along more or fewer components than there are must be refused by their number."""
    if context.method.traits.supervised:
        return
    n = learner.components_.shape[0]
    for k in (n - 1, n + 1):
        Z = np.ones((2, k), learner.dtype)
        want = f"Z: got {k} columns, want {n}" if k else "Z: got"
        ensure_raises(partial(learner.inverse_transform, Z), ValueError, f"inverse_transform of {k} columns", want)
    for act in (learner.inverse_transform, context.initialize(context.rows()).inverse_transform):
        ensure_raises(
            partial(act, np.ones(2, learner.dtype)), ValueError, "inverse_transform of one dimension", "Z: got"
        )


@check(needs_single_rows, all_variants=False)
def single_rows_give_the_same_errors(context: CheckContext) -> None:
    """A row or target that `partial_fit` refuses gets an error of the same type from `learn_one`."""
    skip_if_time_varying(context)
    chunk = context.rows()
    for learner in (context.initialize(chunk), context.train(chunk.cut(0, 2 * context.batch_size))):
        before, good = learner.copy(), chunk.cut(0, 1)
        for what, X, y in _invalid_single(good, 1 + (context.variant.outputs or 1), context.method.traits.gaps):
            want = _refusal_of(f"{what}: partial_fit", context.learn_silently, learner, good._replace(X=X, y=y))
            got = _refusal_of(f"{what}: learn_one", learner.learn_one, X[0], *([] if y is None else [y[0]]))
            ensure(want in WRONG, f"{what}: partial_fit raises {want or 'nothing'}, want {' or '.join(WRONG)}")
            ensure(got == want, f"{what}: learn_one raises {got or 'nothing'}, partial_fit {want}")
            context.ensure_identical(learner, before, f"after {what} was refused")
    _ensure_targets_refused_alike(context, chunk)


def _ensure_targets_refused_alike(context: CheckContext, chunk: Chunk) -> None:
    """A label of another kind, and a target of two dimensions, must be refused for one row and for several."""
    x = chunk.X[0]
    if context.method.traits.labels:
        learner = context.create().partial_fit(chunk.X[:2], [2, 1])
        want, got = (
            _error_of(partial(act, *a))
            for act, a in ((learner.partial_fit, (x[None], [True])), (learner.learn_one, (x, True)))
        )
        ensure(want and got == want, f"True after the labels 2 and 1: learn_one raises {got or 'nothing'}, want {want}")
    elif chunk.y is not None:
        y = np.reshape(chunk.y[:1], (1, -1))
        got = _error_of(partial(context.train(chunk.cut(0, 2)).learn_one, x, y))
        ensure(f"got shape {y.shape}" in got, f"learn_one with y {y.shape}: want an error with this shape, got {got}")
        if context.accepts(two := _with_two_outputs(chunk)):
            learner = context.train(two.cut(0, 2 * context.batch_size))
            for name, call in calls_that_learn(context).items():
                got = _error_of(partial(call, learner, chunk.cut(0, 4)._replace(y=np.ones(4))))
                ensure("as in the first call" in got, f"{name} of y (n,) after y (n, 2): want an error, got {got}")
            for y in (np.ones(3, learner.dtype), np.ones(1, learner.dtype)):
                got, before = _error_of(partial(learner.learn_one, x, y)), learner.to_bytes()
                what = f"learn_one with {len(y)} targets for two outputs"
                ensure(got.startswith("ValueError: y: got"), f"{what}: want ValueError with the shape, got {got}")
                ensure(learner.to_bytes() == before, f"{what} changed the learner")


def _refusal_of(what: str, call: Callable[..., Any], *arguments: Any) -> str:
    """The type of the error, empty if there was none; a warning counts as an error and raises Violation."""
    try:
        call(*arguments)
    except Warning as warning:
        advice = "let the kernel refuse the row before it computes with it"
        raise Violation(f"{what} warns, which counts as an error: {describe(warning)}: {advice}") from warning
    except Exception as error:
        return type(error).__name__
    return ""


def _error_of(call: Callable[[], Any]) -> str:
    """Type and text of the error, with one name for the rows; empty if there was none."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {ROW_NAMES.sub('X', str(error))}"
    return ""


def _ensure_located(what: str, X: Any, error: str) -> None:
    """The error for an entry that is not finite must name its row and column; for objects, how to convert them."""
    if what == MISSING:
        ensure(f"[{len(X) - 1}, 0] is None" in error, f"{what}: the error {error!r} does not name its place")
    if what == OBJECTS:
        ensure("np.asarray(" in error, f"{what}: the error {error!r} does not say how to convert them")
    if what in NOT_FINITE:
        row, column = np.argwhere(~np.isfinite(X))[0]
        place = f"row {row}, column {column}"
        ensure(place in error, f"{what} in {place}: the error {error!r} does not name the place")


def _invalid(good: Chunk) -> Iterator[tuple[str, Any, Any]]:
    """Yield a description of the problem, X and y."""
    for what, X in _invalid_rows(np.array(good.X)):
        yield what, X, None if good.y is None else good.y[: np.shape(X)[0]]
    if good.y is None:
        return
    yield "a set as targets", good.X, {1, 2}
    yield WRONG_NUMBERS[0], good.X, good.y[:-1]
    yield WRONG_NUMBERS[1], good.X, np.concatenate([good.y, good.y[:1]])
    yield "the first target alone", good.X, good.y[:1]
    yield "a target of no row", good.X[:0], good.y[:1]
    yield "targets of two columns too many", good.X, np.ones((len(good.X), 99))
    yield "targets of three dimensions", good.X, good.y.reshape(-1, 1, 1)
    if good.y.dtype.kind == "U":
        yield "labels of two columns", good.X, np.array([good.y, good.y], object).T
        yield "labels of two kinds", good.X, [7, *good.y[1:].tolist()]
    yield "complex targets", good.X, np.ones(len(good.X)) + 1j
    yield "masked targets", good.X, np.ma.masked_array(np.ones(len(good.X)), mask=[True] * len(good.X))


def _invalid_single(good: Chunk, too_many: int, gaps: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield a description of the problem, X of a single row, and y."""
    for what, X in _invalid_rows(np.array(good.X)):
        if X.ndim == 2:
            yield what, X, good.y
    if good.y is None or good.y.dtype.kind == "U":
        return
    yield "a target too many", good.X, np.ones((1, too_many), good.y.dtype)
    yield "a complex target", good.X, good.y + 1j
    yield "a target of text", good.X, good.y.astype(str)
    yield "an infinite target", good.X, good.y + np.inf
    yield "a target of minus infinity", good.X, good.y - np.inf
    if not gaps:
        yield "a target of NaN", good.X, good.y + np.nan


def _invalid_rows(X: Array) -> Iterator[tuple[str, Any]]:
    """Yield a description of the problem, and rows."""
    wrong = X.copy()
    wrong[-1, 1] = wrong[-1, -1] = np.nan
    yield NOT_FINITE[0], wrong
    yield NOT_FINITE[1], np.where(np.isnan(wrong), np.inf, wrong)
    yield "complex rows", X + 1j
    yield "rows of strings", X.astype(str)
    yield OBJECTS, X.astype(object)
    missing = X.astype(object)
    missing[-1, 0] = None
    yield MISSING, missing
    yield "masked rows", np.ma.masked_array(X, mask=X > 0)
    yield "a column too many", np.hstack([X, X[:, :1]])
    yield "a column too few", X[:, :-1]
    yield "rows without columns", X[:, :0]
    yield "rows of three dimensions", X[:, None]
    yield ONE_ROW, X[0]

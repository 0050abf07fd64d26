"""Rows and targets of other numeric types than the learner's: integers, booleans, shorter floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure, ensure_raises, skip_if, skip_if_time_varying
from orfit_bench.conformance.checks.invalid_input import integers_that_are_rounded
from orfit_bench.conformance.checks.single_rows import learn_one, learn_one_by_one, needs_single_rows
from orfit_bench.conformance.checks.surroundings import Inspected, ensure_dtype
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk, frozen
from orfit_bench.errors import DivergedError

LARGE = 2**60
"""An integer that is exact as a float, unlike the integers next to it."""
TYPES: dict[str, Callable[[Array], Any]] = {
    "int64": lambda a: a.astype("int64"),
    "float32": lambda a: a.astype("float32"),
    "float16": lambda a: a.astype("float16"),
    "Python's int": lambda a: a.astype("int64").tolist(),
    "Python's float": lambda a: a.tolist(),
}
"""Numeric types that represent small integers without rounding."""


def rows_of_integers(chunk: Chunk) -> Chunk:
    """The first two rows, rounded to integers without -0, with targets that are exact in any type."""
    return chunk.cut(0, 2).numbers(lambda a: frozen(np.rint(np.nan_to_num(a)) + 0.0))


@check(all_variants=False)
def any_type_of_numbers(context: CheckContext) -> None:
    """Rows of integers, booleans and other floats give the same state as these numbers in the learner's dtype."""
    skip_if_time_varying(context)
    chunk = rows_of_integers(context.rows())
    skip_if(not context.accepts(chunk), "it does not take integers as targets")
    _ensure_equal(context, chunk, TYPES, context.learn_silently)
    signs = chunk.with_rows((chunk.X > 0).astype(context.dtype))
    _ensure_equal(context, signs, {"bool": lambda a: a.astype(bool)}, context.learn_silently, rows_only=True)
    large = chunk.with_rows(np.full_like(chunk.X, LARGE))
    _ensure_equal(context, large, {"large int64": TYPES["int64"]}, context.learn_silently, rows_only=True)


@check(needs_single_rows, all_variants=False)
def any_type_of_numbers_in_one_row(context: CheckContext) -> None:
    """`learn_one` gives the same state for integers, booleans and other floats as for the learner's dtype."""
    skip_if_time_varying(context)
    chunk = rows_of_integers(context.rows())
    skip_if(not context.accepts(chunk), "it does not take integers as targets")
    _ensure_equal(context, chunk, TYPES, learn_one_by_one)
    if context.method.traits.numbers and chunk.y is not None and chunk.y.ndim == 1:
        two = chunk._replace(y=frozen(np.column_stack([chunk.y, 2 * chunk.y])))
        _ensure_equal(context, two, TYPES, learn_one_by_one)
    large = chunk.with_rows(np.full_like(chunk.X, LARGE))
    _ensure_equal(context, large, {"large int64": TYPES["int64"]}, learn_one_by_one, rows_only=True)
    learner = context.train(context.rows())
    for number in integers_that_are_rounded(context):
        act = partial(learn_one, learner, np.full(chunk.X.shape[1], number), chunk, 0)
        ensure_raises(act, ValueError, f"learn_one of {number}, which would be rounded")


def _ensure_equal(
    context: CheckContext,
    chunk: Chunk,
    types: dict[str, Callable[[Array], Any]],
    learn: Callable[[Any, Chunk], None],
    *,
    rows_only: bool = False,
) -> None:
    """The rows in each type must give the same state, or error, as the original rows."""
    if not context.accepts(chunk):
        return
    want = _outcome(context, chunk, learn)
    for name, convert in types.items():
        given = chunk._replace(X=convert(np.asarray(chunk.X))) if rows_only else chunk.numbers(convert)
        got = _outcome(context, given, learn)
        if isinstance(want, str) or isinstance(got, str):
            ensure(got == want, f"rows of {name} gave {_described(got)}, of {context.dtype} {_described(want)}")
        else:
            context.ensure_identical(got, want, f"with rows of {name}")


def _outcome(context: CheckContext, chunk: Chunk, learn: Callable[[Any, Chunk], None]) -> Any:
    """The learner after the rows, or the error of the first refused row."""
    learner = replace(context, wrap=lambda kernel: Inspected(kernel, partial(ensure_dtype, context))).create()
    try:
        with np.errstate(all="ignore"):
            learn(learner, chunk)
    except DivergedError as error:
        return str(error)
    return learner


def _described(outcome: Any) -> str:
    return f"the error {outcome!r}" if isinstance(outcome, str) else "no error"

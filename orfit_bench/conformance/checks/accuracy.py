"""Warnings of lost precision: issued once, at the row that loses digits, by every call that learns rows."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import rows_until_refusal
from orfit_bench.conformance.check import check, ensure, skip_if, skip_if_time_varying
from orfit_bench.conformance.checks.merging import merges_by_default
from orfit_bench.conformance.checks.single_rows import learn_one, needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.precision_marks import FIRST, GROWING, GROWTH, mark_of, needs_mark, with_growing_rows
from orfit_bench.conformance.rows import Chunk
from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.learners.restoring import from_bytes, restore
from orfit_bench.spec import LINEAR


def needs_warning(context: CheckContext) -> str:
    """The state must have a mark of lost precision, or weights that are computed by solving a system."""
    state = context.method.state
    return "" if state.solution or needs_mark(context) == "" else "it never warns of lost precision"


@check(needs_warning)
def lost_precision_is_warned_of_once(context: CheckContext) -> None:
    """Rows of ordinary size give no AccuracyWarning; the first row that loses half of the digits gives the only one."""
    chunk = _growing(context)
    for name, learn in _ways(context).items():
        learner = context.initialize(chunk)
        given = 0
        for i in range(FIRST + GROWING):
            row = chunk.cut(i, i + 1)
            found, refused = _count(context, learner, row, learn)
            given += found
            lost = mark_of(context, learner)
            when = f"after {name} of row {i}"
            ensure(given <= 1 and (given == 0 or i >= FIRST), f"{when} {given} warnings were given")
            ensure(lost is None or bool(lost) == given, f"{when} {given} warnings were given, the mark is {lost}")
            if refused:
                break
        else:
            silent = given == 0 and lost is None and bool(context.method.state.solution)
            ensure(not silent, f"{name}: no warning was given for rows that grow")
        if given and merges_by_default(context, learner):
            _ensure_merge_is_silent(context, learner, context.train(chunk.cut(0, FIRST)), chunk.cut(0, 1))


def _ensure_merge_is_silent(context: CheckContext, warned: Any, clean: Any, row: Chunk) -> None:
    """A merge with a learner that has warned must not warn again, in either order."""
    for one, other in ((warned, clean), (clean, warned)):
        with suppress(ValueError):  # too few digits are left
            given = _count(context, one.copy(), row, partial(_merge, other))[0]
            ensure(given == 0, f"a merge with a learner that has warned of lost precision gave {given} warnings")


def needs_single_rows_and_warning(context: CheckContext) -> str:
    """The learners must have `learn_one`, and it must be possible that they lose digits."""
    return needs_single_rows(context) or needs_warning(context)


@check(needs_single_rows_and_warning)
def learn_one_warns_as_partial_fit(context: CheckContext) -> None:
    """`learn_one` gives as many AccuracyWarnings at each row as `partial_fit`, with a prediction after each row."""
    chunk = _growing(context)
    one, rows = context.initialize(chunk), context.initialize(chunk)
    given = 0
    for i in range(FIRST + GROWING):
        row = chunk.cut(i, i + 1)
        got, want = (_count(context, *by) for by in ((one, row, _learn_one), (rows, row, context.learn_silently)))
        ensure(
            got == want,
            f"row {i}: learn_one gave {got[0]} warnings and {'refused' if got[1] else 'learned'} it, partial_fit "
            f"{want[0]} and {'refused' if want[1] else 'learned'} it",
        )
        if i == 0 and context.is_exact:
            context.ensure_identical(one, rows, "after learn_one of the first row")
        given += got[0]
        ensure(given or not mark_of(context, one), f"row {i} marks lost precision, and learn_one gave no warning")
        if got[1]:
            break


def _learn_one(learner: Any, row: Chunk) -> None:
    learn_one(learner, row.X[0], row, 0)


@check(needs_mark)
def copies_do_not_warn_again(context: CheckContext) -> None:
    """A learner that has warned of lost precision does not warn again, nor do its copies, bytes and pickles."""
    for growth in (GROWTH, GROWTH**2, GROWTH**0.5):  # slow growth may not mark rows, fast growth may refuse them
        learner, chunk = _marked(context, growth)
        if mark_of(context, learner):
            break
    skip_if(mark_of(context, learner) is None, "with these settings the state has no mark")
    if not mark_of(context, learner):  # other rows may lose digits, or rows that grow are refused before they do
        learner = _with_mark(context, learner)
    row, learn = chunk.cut(0, 1), _ways(context)["partial_fit"]
    restored = {"from_bytes": from_bytes(learner.to_bytes(), **context.model), "copy": learner.copy()}
    if context.variant.model is LINEAR:
        restored["pickle"] = pickle.loads(pickle.dumps(learner))
    for name, other in restored.items():
        given = sum(_count(context, other, row, learn)[0] for _ in range(2))
        ensure(given == 0, f"after {name}, a learner that had warned of lost precision gave {given} more warnings")
    if merges_by_default(context, learner):
        _ensure_merge_is_silent(context, learner, context.train(chunk.cut(0, FIRST)), row)


def _merge(other: Any, learner: Any, row: Chunk) -> Any:
    return learner.merge(other)


def _with_mark(context: CheckContext, learner: Any) -> Any:
    """A learner of the same state that has warned."""
    state, warning = learner.state(), context.method.state.warning
    assert warning
    state[warning.field].values[...] = 1
    return restore(state, **context.model)


def _marked(context: CheckContext, growth: float) -> tuple[Any, Chunk]:
    """A learner of growing rows, up to the first that is marked or refused, and all rows."""
    learner, chunk = context.create(), _growing(context, growth)
    for i in range(FIRST + GROWING):
        if rows_until_refusal(context, learner, chunk.cut(i, i + 1)) == 0 or mark_of(context, learner):
            break
    return learner, chunk


def _growing(context: CheckContext, growth: float = GROWTH) -> Chunk:
    """Rows of ordinary size, then rows that grow."""
    skip_if_time_varying(context)
    skip_if(context.batch_size > 1, "digits are lost when a batch is complete")
    chunk = context.rows(n=FIRST + GROWING)
    is_solved = bool(context.method.state.solution)  # weights that are solved for lose digits later
    return with_growing_rows(context, chunk, growth**2 if is_solved else growth)


def _ways(context: CheckContext) -> dict[str, Callable[[Any, Chunk], Any]]:
    """The calls that learn a row."""
    ways: dict[str, Callable[[Any, Chunk], Any]] = {"partial_fit": context.learn}
    if context.supports("blocks"):
        ways["step"] = context.step
    if not needs_single_rows(context):
        ways["learn_one"] = _learn_one
    return ways


def _count(context: CheckContext, learner: Any, row: Chunk, learn: Callable[[Any, Chunk], Any]) -> tuple[int, bool]:
    """The warnings of a row and of a prediction, and whether the row was refused."""
    refused = False
    with warnings.catch_warnings(record=True) as given, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            learn(learner, row)
            if not context.method.traits.labels:
                context.predict(learner, row.X)
        except DivergedError:
            refused = True
    return sum(issubclass(one.category, AccuracyWarning) for one in given), refused

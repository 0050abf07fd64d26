"""Rows and targets that are refused, in the same way by every call that takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure, skip_if
from orfit_bench.conformance.checks.single_rows import learn_one, needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk

REFUSED = (TypeError, ValueError)
WRONG_TARGETS = (0.5, 3.0, -2.0)
"""Targets that are no sign, no probability, or neither."""


def needs_targets_of_a_kind(context: CheckContext) -> str:
    """The method must refuse some numbers as targets."""
    return "" if context.method.kernel.validate_rows else "its targets are numbers of any size"


def refused_targets(context: CheckContext, chunk: Chunk) -> Iterator[Chunk]:
    """The rows with targets that the method does not accept, if there are any."""
    if chunk.y is None or chunk.y.dtype.kind != "f":
        return
    for value in WRONG_TARGETS:
        wrong = chunk._replace(y=np.full_like(chunk.y, value))
        if not context.accepts(wrong):
            yield wrong


@check(needs_targets_of_a_kind)
def invalid_targets_are_refused(context: CheckContext) -> None:
    """Targets of another kind than the loss has are refused by every call that learns, and change nothing."""
    chunk = context.rows()
    for n in (0, 2 * context.batch_size):
        for wrong in refused_targets(context, chunk.cut(n, n + context.batch_size)):
            for name, act in _calls(context).items():
                learner = context.train(chunk.cut(0, n)) if n else context.initialize(chunk)
                before = learner.copy()
                ensure(_is_refused(lambda: act(learner, wrong)), f"{name} learns targets {wrong.y}")  # noqa: B023
                context.ensure_identical(learner, before, f"after {name} refused targets")


def _calls(context: CheckContext) -> dict[str, Callable[[Any, Chunk], Any]]:
    """The calls that learn rows."""
    calls: dict[str, Callable[[Any, Chunk], Any]] = {
        "partial_fit": lambda learner, rows: learner.partial_fit(rows.X, rows.y),
        "prequential": lambda learner, rows: learner.prequential(rows.X, rows.y),
    }
    if context.supports("blocks"):
        calls["step"] = lambda learner, rows: learner.step(rows.X, rows.y)
    if not needs_single_rows(context):
        calls["learn_one"] = lambda learner, rows: learn_one(learner, rows.X[0], rows, 0)
    return calls


def _is_refused(act: Callable[[], Any]) -> bool:
    try:
        with np.errstate(invalid="ignore"):  # a product with a number that is not finite, which is refused next
            act()
    except REFUSED:
        return True
    return False


def needs_targets(context: CheckContext) -> str:
    """The method must learn targets."""
    return "" if context.method.traits.supervised else "it learns rows without targets"


@check(needs_targets, all_variants=False)
def missing_targets_are_of_a_wrong_type(context: CheckContext) -> None:
    """None, a set or a generator as the targets raise TypeError in every call that learns rows, and change nothing."""
    chunk = context.rows(n=2 * context.batch_size)
    calls = {name: act for name, act in _calls(context).items() if name != "learn_one"}
    wrong: tuple[Any, ...] = (None, {1.0, 2.0}, (1.0 for _ in chunk.X))
    for learner in (context.initialize(chunk), context.train(chunk)):
        before = learner.copy()
        for name, act in calls.items():
            for missing in wrong:
                what = f"{type(missing).__name__} as y"
                try:
                    act(learner, chunk._replace(y=missing))
                except TypeError as error:
                    ensure("y" in str(error), f"{name} with {what}: the error does not name it: {error}")
                except ValueError as error:
                    ensure(False, f"{name} with {what} raises ValueError ({error}), want TypeError")
                else:
                    ensure(False, f"{name} learns {what}")
                context.ensure_identical(learner, before, f"after {name} refused {what}")


@check(needs_single_rows)
def single_rows_are_refused_like_rows(context: CheckContext) -> None:
    """`learn_one` and `predict_one` refuse what `partial_fit` and `predict` refuse of a row, and change nothing."""
    skip_if(context.variant.time_varying, "the transition varies with the rows")
    chunk = context.rows()
    learner = context.train(chunk.cut(0, 2 * context.batch_size))
    before = learner.copy()
    for what, x in _wrong_rows(np.array(chunk.X[0])):
        ensure(_is_refused(lambda: learn_one(learner, x, chunk, 0)), f"learn_one learns {what}")  # noqa: B023
        if context.method.traits.supervised:
            for name, act in (("predict_one", learner.predict_one), ("predict", lambda x: learner.predict(x[None]))):
                ensure(_is_refused(lambda: act(x)), f"{name} takes {what}")  # noqa: B023
        context.ensure_identical(learner, before, f"after {what} was refused")


def _wrong_rows(x: Array) -> Iterator[tuple[str, Array]]:
    """What is wrong, and a row."""
    yield "complex numbers", x + 1j
    yield "numbers of a complex dtype", x.astype(complex)
    yield "strings", x.astype(str)
    yield "a masked row", np.ma.masked_array(x, mask=np.arange(len(x)) == 1)
    yield "a row that is too short", x[:-1]
    yield "a row that is too long", np.append(x, x[:1])
    yield "a row of two dimensions", x[:, None]
    for value in (np.nan, np.inf, -np.inf):
        y = x.copy()
        y[-1] = value
        yield f"a row with {value}", y

"""Rows and targets that every call refuses in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import calls_that_learn, ensure_finite_state, rows_until_refusal
from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if_time_varying, worst
from orfit_bench.conformance.checks.chunks import needs_predictions
from orfit_bench.conformance.checks.invalid_input import TOO_LARGE
from orfit_bench.conformance.checks.single_rows import learn_one, needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk, frozen

WRONG_TARGETS = (0.5, 3.0, -2.0)
"""Targets that are not signs, or not probabilities."""
PLACES = 10
"""Number of places in a call to try: more than two blocks of four rows have."""


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
    """Every call that learns refuses targets that the loss does not allow, without changing anything."""
    chunk = context.rows()
    for n in (0, 2 * context.batch_size):
        for wrong in refused_targets(context, chunk.cut(n, n + context.batch_size)):
            for name, act in _calls(context).items():
                learner = context.train(chunk.cut(0, n)) if n else context.initialize(chunk)
                before = learner.copy()
                _ensure_refused(partial(act, learner, wrong), f"{name} with targets {wrong.y}")
                context.ensure_identical(learner, before, f"after {name} refused targets")


def _calls(context: CheckContext) -> dict[str, Callable[[Any, Chunk], Any]]:
    """The calls that learn rows."""
    calls = calls_that_learn(context)
    if not needs_single_rows(context):
        calls["learn_one"] = lambda learner, rows: learn_one(learner, rows.X[0], rows, 0)
    return calls


def _ensure_refused(act: Callable[[], Any], what: str) -> None:
    with np.errstate(invalid="ignore"):  # a product with a number that is not finite, which is then refused
        ensure_raises(act, (TypeError, ValueError), what)


@check(needs_predictions, all_variants=False)
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
                ensure_raises(partial(act, learner, chunk._replace(y=missing)), TypeError, f"{name} with {what}", "y")
                context.ensure_identical(learner, before, f"after {name} refused {what}")


@check(needs_single_rows)
def single_rows_are_refused_like_rows(context: CheckContext) -> None:
    """`learn_one` and `predict_one` refuse the rows that `partial_fit` and `predict` refuse, and change nothing."""
    skip_if_time_varying(context)
    chunk = context.rows()
    learner = context.train(chunk.cut(0, 2 * context.batch_size))
    before = learner.copy()
    for what, x in _wrong_rows(np.array(chunk.X[0])):
        _ensure_refused(partial(learn_one, learner, x, chunk, 0), f"learn_one of {what}")
        if context.method.traits.supervised:
            for name, act in (("predict_one", learner.predict_one), ("predict", lambda x: learner.predict(x[None]))):
                _ensure_refused(partial(act, x), f"{name} of {what}")
        context.ensure_identical(learner, before, f"after {what} was refused")
    for x, words in ((chunk.X[0, 0], "ob.DelayLine makes rows of samples"), (chunk.X[:2], "for several rows use")):
        act = partial(learn_one, learner, x, chunk, 0)
        ensure_raises(act, ValueError, f"learn_one of shape {x.shape}", words)
        context.ensure_identical(learner, before, f"after a row of shape {x.shape} was refused")
    if context.method.traits.numbers:
        too_many = np.ones(1 + (context.variant.outputs or 1))
        _ensure_refused(lambda: learner.learn_one(chunk.X[0], too_many), "learn_one with a target too many")
        context.ensure_identical(learner, before, "after a target too many was refused")
    if context.method.traits.numbers and not context.variant.outputs:
        for value in (np.inf, -np.inf):
            _ensure_refused(partial(learner.learn_one, chunk.X[0], value), f"learn_one with the target {value}")
            context.ensure_identical(learner, before, f"after a target of {value} was refused")


def _wrong_rows(x: Array) -> Iterator[tuple[str, Array]]:
    """Yield a description of the problem, and a row."""
    yield "complex numbers", x + 1j
    yield "numbers of a complex dtype", x.astype(complex)
    yield "strings", x.astype(str)
    yield "integers that would be rounded", np.full(len(x), TOO_LARGE)
    yield "a masked row", np.ma.masked_array(x, mask=np.arange(len(x)) == 1)
    yield "a row that is too short", x[:-1]
    yield "a row that is too long", np.append(x, x[:1])
    yield "a row of two dimensions", x[:, None]
    for value in (np.nan, np.inf, -np.inf):
        y = x.copy()
        y[-1] = value
        yield f"a row with {value}", y


# ---------------------------------------------------------------------- rows that overflow


@check()
def refused_rows_leave_no_trace(context: CheckContext) -> Deviation | None:
    """After a row near the largest number is refused at any place of a call, the state equals that of earlier rows.

    Kernels that learn several rows together get it at each place of their blocks, after rows of several sizes.
    """
    B, found, state = context.batch_size, [], context.method.state
    may_overflow = state.weights if state.solution and not context.variant.guaranteed else ""
    places = range(PLACES) if context.variant.guaranteed else range(1, PLACES, 4)
    for what, (power, enlarge) in OVERFLOWING.items():
        chunk = context.rows(n=PLACES * B).scale_rows(power)
        for at in (place * B for place in places):
            before, rows = chunk.cut(0, at), enlarge(chunk, at, float(np.finfo(context.dtype).max))
            if not context.accepts(rows):
                continue
            learner = context.create()
            n = rows_until_refusal(context, learner, rows)
            ensure_finite_state(learner, f"row {at} has {what}, and {n} rows were learned", may_overflow)
            if n == at and power == 0:
                want, waiting = context.train(before), context.create()
                rows_until_refusal(context, waiting, rows.cut(0, at + 1))  # here it is the first row of a batch
                rows_until_refusal(context, waiting, rows.cut(at + 1, at + B))
                pairs = (learner, want), (waiting, want)
                found.append(context.compare(before, *pairs, of=f"after row {at} was refused:"))
                ensure(waiting.pending == 0, f"{waiting.pending} rows are pending after their step was refused")
    return worst(found) if found else None


def _with_large_entries(chunk: Chunk, at: int, size: float, entries: int | None = None) -> Chunk:
    """The rows with `entries` consecutive numbers of this size (None: all that follow) and zeros in one of them."""
    X = np.array(chunk.X)
    X[at] = 0
    X[at, at % X.shape[1] :][:entries] = size
    return chunk.with_rows(frozen(X))


def _with_large_last_entry(chunk: Chunk, at: int, size: float) -> Chunk:
    """The rows with a number of this size at the end of one of them, after ordinary entries."""
    X = np.array(chunk.X)
    X[at, -1] = size
    return chunk.with_rows(frozen(X))


def _with_large_target(chunk: Chunk, at: int, size: float) -> Chunk:
    """The rows with a target of this size in one of them; unchanged if targets are limited in size."""
    if not chunk.has_any_numbers:
        return chunk
    y = np.array(chunk.y)
    y[at] = size
    return chunk._replace(y=frozen(y))


OVERFLOWING: dict[str, tuple[int, Callable[[Chunk, int, float], Chunk]]] = {
    "one large entry": (0, partial(_with_large_entries, entries=1)),
    "one large entry, after larger rows": (2, partial(_with_large_entries, entries=1)),
    "large entries": (0, _with_large_entries),
    "a large last entry": (0, _with_large_last_entry),
    "a large target": (0, _with_large_target),
}
"""The large part of one row: the size of the other rows as a power of two, and the function that enlarges the part."""

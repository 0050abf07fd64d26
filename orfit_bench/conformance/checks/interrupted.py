"""Calls that are interrupted, as by Ctrl-C, while a kernel writes to the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from orfit_bench.conformance.acceptance import calls_that_learn
from orfit_bench.conformance.check import check, ensure, ensure_raises, skip_if_time_varying
from orfit_bench.conformance.checks.single_rows import learn_one, learn_one_by_one, needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import WatchedKernel
from orfit_bench.conformance.rows import Chunk

KNOWN = 8
"""Number of rows learned before, in whole batches."""


class Interruption:
    """Raises KeyboardInterrupt after a function of a kernel wrote to the state, while it is `armed`."""

    armed = False

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of a kernel."""
        result = function(*arguments)
        if self.armed:
            raise KeyboardInterrupt
        return result


def _interrupt(context: CheckContext, chunk: Chunk, learn: Callable[[Any, Chunk], Any]) -> tuple[Any, Any]:
    """A learner whose next call was interrupted, and a copy from before it."""
    interruption, known = Interruption(), chunk.cut(0, KNOWN * context.batch_size)
    learner = replace(context, wrap=partial(WatchedKernel, call=interruption.call)).train(known)
    before = learner.copy()
    interruption.armed = True
    try:
        learn(learner, chunk.cut(KNOWN * context.batch_size, len(chunk.X)))
    except KeyboardInterrupt:
        pass
    else:
        ensure(False, "a KeyboardInterrupt in the kernel was lost")
    interruption.armed = False
    return learner, before


@check(all_variants=False)
def interrupted_learners_refuse_calls(context: CheckContext) -> None:
    """After an interrupted call, every call raises RuntimeError, unless the learner has the state from before it."""
    skip_if_time_varying(context)
    chunk = context.rows(n=(KNOWN + 4) * context.batch_size)
    for name, call in calls_that_learn(context).items():
        learner, before = _interrupt(context, chunk, call)
        _ensure_refuses(context, learner, before, chunk, f"after {name} was interrupted")


@check(needs_single_rows, all_variants=False)
def interrupted_learn_one_ends_a_learner(context: CheckContext) -> None:
    """After an interrupted `learn_one`, every call raises RuntimeError; a copy from before it continues normally."""
    skip_if_time_varying(context)
    chunk = context.rows(n=(KNOWN + 1) * context.batch_size)

    learner, before = _interrupt(context, chunk, learn_one_by_one)
    _ensure_refuses(context, learner, before, chunk, "after learn_one was interrupted")
    at = KNOWN * context.batch_size
    rest, known = chunk.cut(at, len(chunk.X)), context.train(chunk.cut(0, at))
    for one in (before, known):
        learn_one_by_one(one, rest)
    context.ensure_identical(before, known, "the copy from before the interrupted call")


def _ensure_refuses(context: CheckContext, learner: Any, before: Any, chunk: Chunk, when: str) -> None:
    """Every call must raise RuntimeError, unless the learner has the state from before."""
    try:
        learner.to_bytes()
    except RuntimeError:
        for name, act in _calls(context, learner, chunk.cut(0, 1)).items():
            ensure_raises(act, RuntimeError, f"{name} {when}", "interrupted")
    else:
        context.ensure_identical(learner, before, when)


def _calls(context: CheckContext, learner: Any, row: Chunk) -> dict[str, Callable[[], Any]]:
    """The calls of a learner."""
    calls: dict[str, Callable[[], Any]] = {
        n: partial(call, learner, row) for n, call in calls_that_learn(context).items()
    }
    calls |= {"copy": learner.copy, "state": learner.state, "a prediction": partial(context.predict, learner, row.X)}
    if not needs_single_rows(context):
        calls["learn_one"] = partial(learn_one, learner, row.X[0], row, 0)
    if hasattr(learner, "predict_one"):
        calls["predict_one"] = partial(learner.predict_one, row.X[0])
    return calls

"""Learners that two threads use at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from orfit_bench.conformance.acceptance import calls_that_learn
from orfit_bench.conformance.check import check, ensure, skip_if_time_varying
from orfit_bench.conformance.checks.single_rows import learn_one, learn_one_by_one, needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import WatchedKernel
from orfit_bench.conformance.rows import Chunk

KNOWN = 4
"""Number of rows learned before, in whole batches."""
Call = Callable[[Any, Chunk], Any]


class Meeting:
    """Runs a function once, in another thread, before a kernel learns."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of a kernel."""
        act, self.meanwhile = self.meanwhile, None
        if act:
            thread = threading.Thread(target=act)
            thread.start()
            thread.join()
        return function(*arguments)


@check(all_variants=False)
def a_learner_that_learns_refuses_other_threads(context: CheckContext) -> None:
    """While a call learns rows, calls that learn raise RuntimeError in other threads, and the rows are kept."""
    skip_if_time_varying(context)
    for name, call in calls_that_learn(context).items():
        _ensure_alone(context, name, call)


@check(needs_single_rows, all_variants=False)
def learn_one_refuses_other_threads(context: CheckContext) -> None:
    """While `learn_one` learns a row, calls that learn raise RuntimeError in other threads."""
    skip_if_time_varying(context)

    _ensure_alone(context, "learn_one", learn_one_by_one)


def _ensure_alone(context: CheckContext, name: str, call: Call) -> None:
    """All calls must be refused while this call learns, and must not change its result."""
    B, meeting = context.batch_size, Meeting()
    chunk = context.rows(n=(KNOWN + 2) * B)
    learner = replace(context, wrap=partial(WatchedKernel, call=meeting.call)).train(chunk.cut(0, KNOWN * B))
    alone, found, copied = learner.copy(), dict[str, str](), learner.copy()
    meeting.meanwhile = partial(_try_all, context, learner, copied, chunk.cut(0, B), found)
    call(learner, chunk.cut(KNOWN * B, len(chunk.X)))
    ensure(found, f"{name} called no function of the kernel that learns")
    meeting.meanwhile = None
    call(alone, chunk.cut(KNOWN * B, len(chunk.X)))
    of_copy = found.pop("a copy", "")
    ensure(not of_copy, f"a copy that learned in another thread while {name} learned raised {of_copy}")
    for other, error in found.items():
        ensure(
            error.startswith("RuntimeError") and "another thread" in error,
            f"{other} in another thread while {name} learned: want RuntimeError, got {error or 'no error'}",
        )
    context.ensure_identical(learner, alone, f"{name} while another thread was refused: the learner")
    call(learner, chunk.cut(0, B))  # this is not refused


def _try_all(context: CheckContext, learner: Any, copied: Any, rows: Chunk, found: dict[str, str]) -> None:
    """Try every call that learns, and one of a copy, and keep their errors."""
    calls: dict[str, Call] = dict(calls_that_learn(context))
    if learner.pending:  # pending rows make a step fail first
        calls.pop("step", None)
    if not needs_single_rows(context):
        calls["learn_one"] = lambda learner, rows: learn_one(learner, rows.X[0], rows, 0)
    tried = {name: (call, learner) for name, call in calls.items()} | {"a copy": (context.learn_silently, copied)}
    for name, (call, one) in tried.items():
        found[name] = ""
        try:
            call(one, rows)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"

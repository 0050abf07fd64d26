"""Random sequences of operations on a learner, compared with a plain learner of the same rows."""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from orfit_bench.conformance.check import Violation, check, ensure
from orfit_bench.conformance.checks.merging import merges_by_default
from orfit_bench.conformance.checks.unchanging import UNCHANGED, needs, to_buffer
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import ROWS, Chunk

LEARNED, OTHERS = 9, 8
"""Number of times that rows are learned, and that other operations change the learner."""


class Operation(NamedTuple):
    """An operation, and the rows `begin` to `end` that it uses, if any."""

    name: str
    begin: int = 0
    end: int = 0

    def __str__(self) -> str:
        return f"{self.name} {self.begin}:{self.end}" if self.end else self.name


@check(numbers="any")
def any_order_of_operations(context: CheckContext) -> None:
    """Copies, saved and restored states, refused calls and predictions between rows do not change the result.

    The sequence is random; steps, flushes and merges are part of it if the method has them. A plain learner only gets
    the same rows, steps and merges: both have the same state, bit by bit. Each operation that must not change anything
    is also done at the start, and changes no bit.
    """
    chunk = context.rows()
    done: list[Operation] = []
    try:
        learner = _perform(context, chunk, done)
        context.ensure_identical(learner, _learn_plainly(context, chunk, done), "after all operations")
        rows = sum(operation.end - operation.begin for operation in done)
        ensure(learner.n_samples_seen_ == rows, f"{learner.n_samples_seen_} rows were counted, want {rows}")
    except Violation as violation:
        shortest = _shortest(context, chunk, done)
        raise Violation(f"after {', '.join(map(str, shortest))}: {violation}") from violation


def _perform(context: CheckContext, chunk: Chunk, done: list[Operation]) -> Any:
    """The learner after random operations, which are appended to `done`; those that change nothing occur twice."""
    rng = np.random.default_rng([context.seed, crc32(str(context.variant).encode())])  # another order for every variant
    learner, at = context.create(), 0
    unchanged = [name for name in UNCHANGED if not needs(name, context)]
    first = [*rng.permutation(unchanged), "no rows", "predict"]
    for drawn in [*first, *rng.permutation([*unchanged, *["learn"] * LEARNED, *["other"] * OTHERS])]:
        name = str(drawn) if drawn != "other" else str(rng.choice(_others(context, learner)))
        if name in UNCHANGED or name == "flush":
            if name == "flush":  # on a copy, which knows the pending rows
                done.append(Operation("copy"))
                learner = _apply(context, chunk, learner, done[-1])
            done.append(Operation(name))
        else:
            end = min(at + int(rng.integers(1, 4)), ROWS)
            if at == ROWS:
                continue
            done.append(Operation(name, at, end))
            at = end
        learner = _apply(context, chunk, learner, done[-1])
    return learner


def _others(context: CheckContext, learner: Any) -> list[str]:
    """The operations that can follow, except learning rows one by one; only that if there are no others."""
    if not learner.n_samples_seen_ or context.variant.time_varying:
        return ["learn"]
    blocks = context.supports("blocks")
    if learner.pending:
        return ["flush"] if blocks else ["learn"]
    names = ["step"] * 2 if blocks else ["learn"]
    if merges_by_default(context, learner):
        names.append("merge")
    return names


def _learn_plainly(context: CheckContext, chunk: Chunk, done: list[Operation]) -> Any:
    """A learner of the same rows in the same calls, without other operations; the rows of a flush are a step."""
    learner, calls = context.create(), list[Operation]()  # calls since the last step, flush or merge
    if any(operation.name == "no rows" for operation in done):
        context.learn(learner, chunk.cut(0, 0))
    for operation in done:
        if operation.name == "learn":
            calls.append(operation)
        elif operation.name not in UNCHANGED:
            rows = sum(call.end - call.begin for call in calls)
            rest = rows % context.batch_size if operation.name == "flush" else 0
            end = max((call.end for call in calls), default=0)
            _learn_calls(context, chunk, learner, calls, end - rest)
            if rest:
                context.step(learner, chunk.cut(end - rest, end))
            else:
                _change(context, chunk, learner, operation)
            calls = []
    _learn_calls(context, chunk, learner, calls, len(chunk.X))
    return learner


def _learn_calls(context: CheckContext, chunk: Chunk, learner: Any, calls: list[Operation], end: int) -> None:
    """Learn the rows of these calls before row `end`."""
    for call in calls:
        if call.begin < end:
            context.learn(learner, chunk.cut(call.begin, min(call.end, end)))


def _shortest(context: CheckContext, chunk: Chunk, done: list[Operation]) -> list[Operation]:
    """The first operations after which the learner differs from a plain one."""
    learner = context.create()
    for i, operation in enumerate(done):
        try:
            learner = _apply(context, chunk, learner, operation)
            context.ensure_identical(learner, _learn_plainly(context, chunk, done[: i + 1]), "")
        except Violation:
            return done[: i + 1]
    return done


def _apply(context: CheckContext, chunk: Chunk, learner: Any, operation: Operation) -> Any:
    """The learner that continues after an operation; its arguments are changed afterwards."""
    if operation.name in UNCHANGED:
        before = learner.to_bytes()
        same = UNCHANGED[operation.name](context, learner, chunk)
        ensure(
            same.to_bytes() == before or operation.name == "no rows",  # by which a new learner gets its sizes
            "the last of these changed the learner",
        )
        return same
    if operation.name == "learn":
        _learn_from_buffer(context, learner, chunk.cut(operation.begin, operation.end), operation.begin)
    elif merged := _change(context, chunk, learner, operation):
        context.learn(merged, chunk.cut(0, 3))
    return learner


def _learn_from_buffer(context: CheckContext, learner: Any, rows: Chunk, number: int) -> None:
    """Learn rows from arrays of the caller, check that they are unchanged, and then overwrite them."""
    given = rows.numbers(lambda a: to_buffer(a, number))
    context.learn(learner, given)
    for now, before in ((given.X, rows.X), (given.y, rows.y)):
        if now is not None and before is not None and now is not before:
            ensure(np.array_equal(now, before, equal_nan=True), "the rows of the caller were changed")
            now[...] = 7


def _change(context: CheckContext, chunk: Chunk, learner: Any, operation: Operation) -> Any:
    """Step, flush or merge; returns the other learner of a merge."""
    rows = chunk.cut(operation.begin, operation.end)
    match operation.name:
        case "step":
            context.step(learner, rows)
        case "flush":
            learner.flush()
        case "merge":
            learner.merge(other := context.train(rows))
            return other
    return None

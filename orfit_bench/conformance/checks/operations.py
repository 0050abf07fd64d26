"""Random sequences of everything that a learner can do, against a plain learner of the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.conformance.check import Violation, check, ensure
from orfit_bench.conformance.context import ROWS, CheckContext
from orfit_bench.conformance.rows import Chunk
from orfit_bench.learners.restoring import from_bytes, load, restore
from orfit_bench.spec import LINEAR, REFERENCE

LEARNED, OTHERS = 9, 8
"""How often rows are learned, and how often something else that changes the learner is done."""


class Operation(NamedTuple):
    """What is done, and the rows `begin` to `end` that it takes, if any."""

    name: str
    begin: int = 0
    end: int = 0

    def __str__(self) -> str:
        return f"{self.name} {self.begin}:{self.end}" if self.end else self.name


@check(numbers="any")
def any_order_of_operations(context: CheckContext) -> None:
    """Rows learned between copies, saved and restored states, refused calls and predictions are learned as if alone.

    The sequence is random; steps, flushes and merges are part of it where the method has them. A plain learner gets the
    same rows, steps and merges, and nothing else: both have the same state, bit by bit.
    """
    chunk = context.rows()
    done: list[Operation] = []
    try:
        learner = _perform(context, chunk, done)
        context.ensure_identical(learner, _learn_plainly(context, chunk, done), "after all operations")
    except Violation as violation:
        shortest = _shortest(context, chunk, done)
        raise Violation(f"after {', '.join(map(str, shortest))}: {violation}") from violation


def _perform(context: CheckContext, chunk: Chunk, done: list[Operation]) -> Any:
    """The learner after random operations, which are appended to `done`: each that changes nothing occurs once."""
    rng = np.random.default_rng(context.seed)
    learner, at = context.create(), 0
    unchanged = [name for name in UNCHANGED if name != THROUGH_REFERENCE or not context.reference_missing]
    for drawn in rng.permutation([*unchanged, *["learn"] * LEARNED, *["other"] * OTHERS]):
        name = str(drawn) if drawn != "other" else str(rng.choice(_others(context, learner)))
        if name in UNCHANGED or name == "flush":
            done.append(Operation(name))
        else:
            end = min(at + int(rng.integers(0 if name == "learn" else 1, 4)), ROWS)
            if at == ROWS:
                continue
            done.append(Operation(name, at, end))
            at = end
        learner = _apply(context, chunk, learner, done[-1])
    return learner


def _others(context: CheckContext, learner: Any) -> list[str]:
    """What can follow beside learning rows one by one, or else that."""
    if not learner.n_samples_seen_ or context.variant.time_varying:
        return ["learn"]
    blocks = context.supports("blocks")
    if learner.pending:
        return ["flush"] if blocks else ["learn"]
    names = ["step"] * 2 if blocks else ["learn"]
    rule, settings = context.method.combine.merge, context.variant.settings  # other settings may refuse for precision
    if rule and not settings and not rule.refuses(learner.settings, context.variant.model is LINEAR):
        names.append("merge")
    return names


def _learn_plainly(context: CheckContext, chunk: Chunk, done: list[Operation]) -> Any:
    """A learner of the same rows in the same calls, which does nothing else; the rows of a flush are a step."""
    learner, calls = context.create(), list[Operation]()  # those since the last step, flush or merge
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
                learner = _apply(context, chunk, learner, operation)
            calls = []
    _learn_calls(context, chunk, learner, calls, len(chunk.X))
    return learner


def _learn_calls(context: CheckContext, chunk: Chunk, learner: Any, calls: list[Operation], end: int) -> None:
    """Learn the rows of these calls, without those from `end` on."""
    for call in calls:
        if call.begin <= end:
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
    """The learner that continues after an operation."""
    rows = chunk.cut(operation.begin, operation.end)
    match operation.name:
        case "learn":
            context.learn(learner, rows)
        case "step":
            context.step(learner, rows)
        case "flush":
            learner.flush()
        case "merge":
            learner.merge(context.train(rows))
        case name:
            return UNCHANGED[name](context, learner, chunk)
    return learner


def _copy(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """A copy, after which the original learns something else."""
    copy = learner.copy()
    context.learn(learner, chunk.cut(0, 3))
    return copy


def _through_file(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder, "state.npz"))
        return load(Path(folder, "state.npz"), **context.model)


def _through_reference(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    moved = restore(learner.state(), backend=REFERENCE, **context.model)
    return restore(moved.state(), backend=context.backend.name, **context.model)


def _refuse(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """The learner after rows with NaN, which it refuses."""
    X = np.full((2, chunk.X.shape[1]), np.nan, chunk.X.dtype)
    wrong = Chunk(X, None if chunk.y is None else chunk.y[:2], {n: a[:2] for n, a in chunk.time_varying.items()})
    try:
        context.learn(learner, wrong)
    except ValueError:
        return learner
    ensure(False, "rows with NaN were learned")
    return learner


def _predict(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    if learner.n_samples_seen_ and not context.variant.time_varying:
        context.predict(learner, chunk.X[:3])
    return learner


THROUGH_REFERENCE = "reference and back"
UNCHANGED: dict[str, Callable[[CheckContext, Any, Chunk], Any]] = {
    "copy": _copy,
    "file": _through_file,
    "bytes": lambda context, learner, chunk: from_bytes(learner.to_bytes(), **context.model),
    "restore": lambda context, learner, chunk: restore(learner.state(), **context.model),
    THROUGH_REFERENCE: _through_reference,
    "refused rows": _refuse,
    "predict": _predict,
}
"""Operations after which a learner continues as before."""

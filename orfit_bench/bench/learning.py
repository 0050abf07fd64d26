"""Learning a stream as the protocol says, and once more with the errors recorded; measuring.py holds the clock.

Separate runs, because looking at the learner would cut a short stream into pieces of a few rows, and then the host's
work for each call would be most of the time measured. Chunking never matters, so both end in the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.bench.error import ERRORS, Array, squared
from orfit_bench.bench.protocol import Protocol
from orfit_bench.learners.averaging import average
from orfit_bench.spec import Data

CreateLearner = Callable[[], Any]

POINTS = 25
"""Most points of a trajectory."""


class RecordedErrors(NamedTuple):
    """What was seen of a run: see `orfit_bench.spec.Record`."""

    rows: Array
    test_error: Array
    task_error: Array
    stream_error: float
    a_priori: Array | None


def initialize(make: CreateLearner, data: Data, protocol: Protocol) -> list[Any]:
    """The protocol's learners, sizes fixed and start drawn by a chunk of no rows."""
    return [make().partial_fit(*data.cut(0, 0)) for _ in range(protocol.learners)]


def learn(
    learners: list[Any],
    data: Data,
    protocol: Protocol,
    stops: Collection[int] = (),
    look: Callable[[int], None] | None = None,
    a_priori: Array | None = None,
) -> None:
    """Learn all passes. look(rows learned so far) is called wherever the stream is cut, which `stops` surely are.

    Rows that wait for a full batch are learned before an average and after the last row. a_priori (n,) takes the
    squared error on each row of the first pass just before it was learned, by the learner that learned it.
    """
    n, M = len(data.X), len(learners)
    total = protocol.passes * n
    for done in range(0, total, n):
        for a, b, round_ends in protocol.stretches(n, [s - done for s in stops]):
            X, y = data.cut(a, b)
            for j, learner in enumerate(learners):
                mine = slice((j - a) % M, None, M)
                rows = X[mine], None if y is None else y[mine]
                if a_priori is None or done:
                    learner.partial_fit(*rows)
                else:
                    a_priori[a:b][mine] = squared(learner, learner.prequential(*rows), rows[1])
            if M > 1 and round_ends:
                average_in_place(learners)
            elif done + b == total:
                learners[0].flush()
            if look:
                look(done + b)


def average_in_place(learners: list[Any]) -> None:
    """End a round: every learner learns its pending rows, and all go on from the mean of their weights."""
    for learner in learners:
        learner.flush()
    average(learners)


def learn_and_record(learners: list[Any], data: Data, protocol: Protocol) -> RecordedErrors:
    """Learn, looking at the errors: between rounds those of the learners' average, by tasks those of the last pass."""
    n, tasks = len(data.X), len(data.tasks[1:])
    total = protocol.passes * n
    points = np.unique(np.linspace(0, total, POINTS + 1).astype(int))[1:]
    ends = [total - n + end for end in data.tasks[1:]]
    test_error, task_error = np.full(len(points), np.nan), np.full((tasks, tasks), np.nan)
    error = ERRORS[learners[0].method.kind]
    a_priori = np.full(n, np.nan) if error.prequential else None

    def look(done: int) -> None:
        learner = average_of(learners)
        if data.test is not None and done in points:
            test_error[points == done] = error.shown(learner, data.test)
        for i in [i for i, end in enumerate(ends) if end == done]:
            task_error[i, : i + 1] = [error.mean(learner, data.cut(*data.tasks[j : j + 2])) for j in range(i + 1)]

    learn(learners, data, protocol, {*points.tolist(), *ends}, look, a_priori)
    return RecordedErrors(points, test_error, task_error, error.mean(learners[0], data.cut(0, n)), a_priori)


def average_of(learners: list[Any]) -> Any:
    """The one learner, or a new one that is the average of several; these go on as they were."""
    if len(learners) == 1:
        return learners[0]
    copies = [learner.copy() for learner in learners]
    average_in_place(copies)
    return copies[0]

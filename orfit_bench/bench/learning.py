"""Learning a stream according to a protocol, and recording the errors; `measuring` measures the time.

Errors are recorded in a separate run: it cuts the stream into short chunks, so the overhead of calls would dominate the
time. Both runs end in the same state, since chunking does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.bench.error import ERRORS, Array, squared_error
from orfit_bench.bench.protocol import Protocol
from orfit_bench.learners.averaging import average
from orfit_bench.spec import Data

CreateLearner = Callable[[], Any]

POINTS = 25
"""Largest number of points of a trajectory."""


class RecordedErrors(NamedTuple):
    """The errors during a run, see `orfit_bench.spec.Record`."""

    rows: Array
    test_error: Array
    task_error: Array
    stream_error: float
    a_priori: Array | None


def initialize(make: CreateLearner, data: Data, protocol: Protocol) -> list[Any]:
    """Create the learners of the protocol and initialize them with an empty chunk."""
    return [make().partial_fit(*data.cut(0, 0)) for _ in range(protocol.learners)]


def learn(
    learners: list[Any],
    data: Data,
    protocol: Protocol,
    stops: Collection[int] = (),
    observe: Callable[[int], None] | None = None,
    a_priori: Array | None = None,
) -> float:
    """Learn all passes of the protocol.

    Parameters
    ----------
    learners : list
        Initialized learners; after the last row, `learners[0]` is the result.
    data : Data
        The rows.
    protocol : Protocol
        Number of passes, of learners and of rows per round.
    stops : collection of int
        Numbers of learned rows at which to cut chunks.
    observe : callable, optional
        Called with the number of learned rows after every chunk.
    a_priori : array (n,), optional
        Receives the squared error on each row of the first pass just before it is learned.

    Returns
    -------
    float
        Seconds for reading the rows.

    Notes
    -----
    Pending rows are learned before learners are averaged and after the last row.
    """
    n, M = len(data.X), len(learners)
    total = protocol.passes * n
    reading = 0.0
    for done in range(0, total, n):
        for a, b, round_ends in protocol.chunks(n, [s - done for s in stops]):
            begin = perf_counter()
            X, y = data.cut(a, b)
            reading += perf_counter() - begin
            for j, learner in enumerate(learners):
                mine = slice((j - a) % M, None, M)
                rows = X[mine], None if y is None else y[mine]
                if a_priori is None or done:
                    learner.partial_fit(*rows)
                else:
                    a_priori[a:b][mine] = squared_error(learner, learner.prequential(*rows), rows[1])
            if M > 1 and round_ends:
                average_in_place(learners)
            elif done + b == total:
                learners[0].flush()
            if observe:
                observe(done + b)
    return reading


def average_in_place(learners: list[Any]) -> None:
    """End a round: learn the pending rows, and replace the weights of all learners by their mean."""
    for learner in learners:
        learner.flush()
    average(learners)


def learn_and_record(learners: list[Any], data: Data, protocol: Protocol) -> RecordedErrors:
    """Learn and record the errors of the (averaged) learner; errors by task are those of the last pass."""
    n, tasks = len(data.X), len(data.tasks[1:])
    total = protocol.passes * n
    points = np.unique(np.linspace(0, total, POINTS + 1).astype(int))[1:]
    ends = [total - n + end for end in data.tasks[1:]]
    test_error, task_error = np.full(len(points), np.nan), np.full((tasks, tasks), np.nan)
    error = ERRORS[learners[0].method.kind]
    a_priori = np.full(n, np.nan) if error.prequential else None

    def observe(done: int) -> None:
        test, ended = data.test if done in points else None, [i for i, end in enumerate(ends) if end == done]
        if test is None and not ended:
            return
        learner = average_of(learners)
        if test is not None:
            test_error[points == done] = error.summary(learner, test, "test y")
        for i in ended:
            task_error[i, : i + 1] = [error.mean(learner, data.cut(*data.tasks[j : j + 2])) for j in range(i + 1)]

    learn(learners, data, protocol, {*points.tolist(), *ends}, observe, a_priori)
    return RecordedErrors(points, test_error, task_error, error.mean(learners[0], (data.X, data.y)), a_priori)


def average_of(learners: list[Any]) -> Any:
    """Return the only learner, or the average of copies of several learners, which are not changed."""
    if len(learners) == 1:
        return learners[0]
    copies = [learner.copy() for learner in learners]
    average_in_place(copies)
    return copies[0]

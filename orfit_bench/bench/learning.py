"""Learning a stream as the protocol says: against the clock, and once more with the errors recorded.

Two runs, because looking at the learner would cut a short stream into pieces of a few rows, and then the host's
work for each call would be most of the time measured. Chunking never matters, so both end in the same state.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.bench.protocol import Protocol
from orfit_bench.host.merging import average
from orfit_bench.spec import Data

Array = NDArray[Any]
Make = Callable[[], Any]

POINTS = 25
"""Most points of a trajectory."""
WARM_ROWS = 8
ENOUGH_SECONDS, MOST_RUNS = 0.2, 9
"""A run too short for the clock is repeated until this much time is spent, but not more often than this."""


def warmed(make: Make, data: Data) -> float:
    """Seconds that a first learner takes for a few rows: mostly importing and compiling its kernel."""
    begin = perf_counter()
    learner = make().partial_fit(data.X[:WARM_ROWS], data.y[:WARM_ROWS]).flush()
    learner.predict(data.X[:1])
    learner.backend.synchronize()
    return perf_counter() - begin


def timed(make: Make, data: Data, protocol: Protocol) -> tuple[float, int]:
    """Seconds of learning alone, the median of some runs of fresh learners; and how many runs."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < ENOUGH_SECONDS and len(seconds) < MOST_RUNS):
        learners = started(make, data, protocol)
        begin = perf_counter()
        learn(learners, data, protocol)
        learners[0].backend.synchronize()
        seconds.append(perf_counter() - begin)
    return statistics.median(seconds), len(seconds)


def started(make: Make, data: Data, protocol: Protocol) -> list[Any]:
    """The protocol's learners, sizes fixed and start drawn by a chunk of no rows."""
    return [make().partial_fit(data.X[:0], data.y[:0]) for _ in range(protocol.learners)]


def learn(
    learners: list[Any],
    data: Data,
    protocol: Protocol,
    stops: Collection[int] = (),
    look: Callable[[int], None] | None = None,
) -> None:
    """Learn all passes. look(rows learned so far) is called wherever the stream is cut, which `stops` surely are.

    Rows that wait for a full batch are learned before an average and after the last row.
    """
    n, M = len(data.X), len(learners)
    total = protocol.passes * n
    for done in range(0, total, n):
        for a, b, round_ends in protocol.stretches(n, [s - done for s in stops]):
            X, y = data.X[a:b], data.y[a:b]
            for j, learner in enumerate(learners):
                first = (j - a) % M
                learner.partial_fit(X[first::M], y[first::M])
            if M > 1 and round_ends:
                merge(learners)
            elif done + b == total:
                learners[0].flush()
            if look:
                look(done + b)


def merge(learners: list[Any]) -> None:
    """End a round: all learners go on from the mean of their weights."""
    for learner in learners:
        learner.flush()
    average(learners)


def recorded(learners: list[Any], data: Data, protocol: Protocol) -> tuple[Array, Array, Array]:
    """Learn, and return rows (points,), test_error (points,) and task_error (tasks, tasks), as `Record` has them.

    Between rounds the average of the learners is looked at. The tasks are those of the last pass.
    """
    n, tasks = len(data.X), len(data.tasks[1:])
    total = protocol.passes * n
    points = np.unique(np.linspace(0, total, POINTS + 1).astype(int))[1:]
    ends = [total - n + end for end in data.tasks[1:]]
    test_error, task_error = np.full(len(points), np.nan), np.full((tasks, tasks), np.nan)

    def look(done: int) -> None:
        learner = merged(learners)
        if data.test is not None:
            test_error[points == done] = np.sqrt(mean_square(learner, *data.test)) if done in points else np.nan
        for i in [i for i, end in enumerate(ends) if end == done]:
            rows = [slice(*data.tasks[j : j + 2]) for j in range(i + 1)]
            task_error[i, : i + 1] = [mean_square(learner, data.X[r], data.y[r]) for r in rows]

    learn(learners, data, protocol, {*points.tolist(), *ends}, look)
    return points, test_error, task_error


def merged(learners: list[Any]) -> Any:
    """The one learner, or a new one that is the average of several; these go on as they were."""
    if len(learners) == 1:
        return learners[0]
    copies = [learner.copy() for learner in learners]
    merge(copies)
    return copies[0]


def mean_square(learner: Any, X: Array, y: Array) -> float:
    """Mean over the rows of |y - f(x)|^2."""
    predicted = learner.backend.asnumpy(learner.predict(X))
    error = np.asarray(y, float) - np.asarray(predicted, float)
    with np.errstate(over="ignore"):  # an error too large for a number is infinite, and says so
        return float(np.sum(error**2) / len(error))

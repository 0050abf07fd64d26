"""Time and memory of learning, each in a run of its own: what is traced is slow, what is looked at is cut."""

from __future__ import annotations

import statistics
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

import numpy as np

from orfit_bench.bench.error import Array
from orfit_bench.bench.learning import CreateLearner, initialize, learn
from orfit_bench.bench.protocol import Protocol
from orfit_bench.spec import Data

WARM_ROWS = 8
BLOCK_ROWS = 64
"""Rows after which a kernel that works in blocks has worked in one: it may be compiled only then."""
ENOUGH_SECONDS, MOST_RUNS = 0.2, 9
"""A run too short for the clock is repeated until this much time is spent, but not more often than this."""
CALLS = 1000
"""Most calls of a single row that are timed."""


def warm_up(make: CreateLearner, data: Data) -> float:
    """Seconds that a first learner takes for a few rows: mostly importing and compiling its kernel."""
    begin = perf_counter()
    rows = data.cut(0, BLOCK_ROWS)
    learner = make().partial_fit(*rows).flush()
    (learner.transform if not learner.method.traits.supervised else learner.predict)(rows[0][:1])
    learner.backend.synchronize()
    return perf_counter() - begin


def time_run(make: CreateLearner, data: Data, protocol: Protocol) -> tuple[float, int]:
    """Seconds of learning alone, the median of some runs of fresh learners; and how many runs."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < ENOUGH_SECONDS and len(seconds) < MOST_RUNS):
        learners = initialize(make, data, protocol)
        begin = perf_counter()
        learn(learners, data, protocol)
        learners[0].backend.synchronize()
        seconds.append(perf_counter() - begin)
    return statistics.median(seconds), len(seconds)


def transfer_time(make: CreateLearner, data: Data) -> float | None:
    """Seconds that the way of all rows to the backend's device takes, a part of `time_run`; None on the host."""
    backend = make().backend
    if backend.namespace() is np:
        return None
    rows = [part for part in data.cut(0, len(data.X)) if part is not None]
    seconds = []
    for _ in range(2):  # the first finds no memory taken yet
        backend.synchronize()
        begin = perf_counter()
        there = [backend.asarray(part) for part in rows if part.dtype.kind in "buif"]  # labels stay on the host
        backend.synchronize()
        seconds.append(perf_counter() - begin)
        del there
    return min(seconds)


def latency(make: CreateLearner, data: Data) -> Array:
    """(calls,) seconds of calls with the first rows of the stream, one row each; none is a first call.

    Of a method with a batch size one call in that many learns, and the others only take their row in.
    """
    rows = [data.cut(i, i + 1) for i in range(min(CALLS, len(data.X)))]
    seconds = np.empty(len(rows))
    for calls in (rows[:WARM_ROWS], rows):
        learner = make().partial_fit(*data.cut(0, 0))
        for i, row in enumerate(calls):
            begin = perf_counter()
            learner.partial_fit(*row)
            learner.backend.synchronize()
            seconds[i] = perf_counter() - begin
    return seconds


def peak_memory(make: CreateLearner, data: Data, protocol: Protocol) -> tuple[float, float | None]:
    """Most bytes held during one pass, of the host and of the backend's device; None where it has none.

    Of the host, those that Python and NumPy ask for: not those of libraries that fetch memory by themselves, and not
    the process's pages, which imports and the page cache move.
    """
    once = replace(protocol, passes=1)
    with _tracing():
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        memory = make().backend.memory or (lambda: None)
        memory()  # begins the count
        learners = initialize(make, data, once)
        learn(learners, data, once)
        learners[0].backend.synchronize()
        return float(tracemalloc.get_traced_memory()[1] - before), memory()


@contextmanager
def _tracing() -> Iterator[None]:
    """Trace allocations; leave on what somebody else has turned on."""
    mine = not tracemalloc.is_tracing()
    if mine:
        tracemalloc.start()
    try:
        yield
    finally:
        if mine:
            tracemalloc.stop()

"""Time and memory of learning, measured in separate runs because tracing slows down learning."""

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
"""Rows of the warm-up: enough for a kernel to process, and compile, a block."""
ENOUGH_SECONDS, MOST_RUNS = 0.2, 9
"""Short runs are repeated until this time has passed, at most this number of times."""
CALLS = 1000
"""Largest number of single-row calls that are timed."""


def warm_up(make: CreateLearner, data: Data) -> float:
    """Return the seconds that a first learner needs for a few rows, mainly to import and compile its kernel."""
    begin = perf_counter()
    rows = data.cut(0, BLOCK_ROWS)
    learner = make().partial_fit(*rows).flush()
    (learner.transform if not learner.method.traits.supervised else learner.predict)(rows[0][:1])
    learner.backend.synchronize()
    return perf_counter() - begin


def time_run(make: CreateLearner, data: Data, protocol: Protocol) -> tuple[float, int]:
    """Return the seconds of learning without reading, the median over runs with new learners, and their number."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < ENOUGH_SECONDS and len(seconds) < MOST_RUNS):
        learners = initialize(make, data, protocol)
        begin = perf_counter()
        reading = learn(learners, data, protocol)
        learners[0].backend.synchronize()
        seconds.append(perf_counter() - begin - reading)
    return statistics.median(seconds), len(seconds)


def transfer_time(make: CreateLearner, data: Data) -> float | None:
    """Return the seconds to transfer all rows to the device, which is part of `time_run`; None on the CPU."""
    backend = make().backend
    if backend.namespace() is np:
        return None
    rows = [part for part in data.cut(0, len(data.X)) if part is not None]
    seconds = []
    for _ in range(2):  # the first also allocates memory
        backend.synchronize()
        begin = perf_counter()
        there = [backend.asarray(part) for part in rows if part.dtype.kind in "buif"]  # labels stay in host memory
        backend.synchronize()
        seconds.append(perf_counter() - begin)
        del there
    return min(seconds)


def latency(make: CreateLearner, data: Data) -> Array:
    """Return the seconds (calls,) of single-row calls with the first rows of the stream, after a warm-up.

    With a batch size b, only one call in b learns; the others store a pending row.
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
    """Return the peak of host memory and of device memory (None without a device) during one pass, in bytes.

    Host memory is what Python and NumPy allocate (tracemalloc). Allocations by other libraries are not included.
    """
    once = replace(protocol, passes=1)
    with _tracing():
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        memory = make().backend.memory or (lambda: None)
        memory()  # resets the peak
        learners = initialize(make, data, once)
        learn(learners, data, once)
        learners[0].backend.synchronize()
        return float(tracemalloc.get_traced_memory()[1] - before), memory()


@contextmanager
def _tracing() -> Iterator[None]:
    """Trace allocations; tracing that was already active stays active."""
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        yield
    finally:
        if started:
            tracemalloc.stop()

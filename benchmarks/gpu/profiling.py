"""Where the host spends its time while a method learns on a device."""

from __future__ import annotations

import cProfile
import pstats
import time
from typing import Any

from benchmarks.gpu.cases import by_name, data
from benchmarks.gpu.measuring import turned
from benchmarks.gpu.workers import Tell
from orfit_bench import backends, create

CHUNKS = 20
LINES = 15
PROFILED = [("rls", 1_000), ("orfit", 10**5), ("kalman", 1_000), ("implicit_krasulina, 50 components", 3072)]
"""Cases and sizes, in float64."""


def profile(tell: Tell, backend: str, case: str, d: int, small: bool) -> None:
    """Learn chunks with and without the profiler; the functions with the largest own times."""
    one = by_name()[case].shrunk() if small else by_name()[case]
    device, rows = backends()[backend], data(one, d, one.rows, "float64")
    learner = create(one.method, backend=backend, **one.settings(d))
    there = device.asarray(rows[0])
    chunks = [turned(there, turn) for turn in range(3 if small else CHUNKS)]

    def learn() -> None:
        for X in chunks:
            learner.partial_fit(X, *rows[1:])
        device.synchronize()

    learn()
    begin = time.perf_counter()
    learn()
    tell(ms=1e3 * (time.perf_counter() - begin) / len(chunks), rows=one.rows)
    profiler = cProfile.Profile()
    profiler.runcall(learn)
    tell(top=most(pstats.Stats(profiler), len(chunks)))


def most(stats: Any, chunks: int) -> list[dict[str, Any]]:
    """Functions in the order of their own times, with calls and milliseconds per chunk."""
    timed = sorted(stats.stats.items(), key=lambda one: -one[1][2])[:LINES]
    scale = 1e3 / chunks
    return [
        {"function": place(*where), "calls": calls / chunks, "ms": own * scale, "ms with calls": cumulative * scale}
        for where, (_, calls, own, cumulative, _) in timed
    ]


def place(file: str, line: int, function: str) -> str:
    """The name of a function, and of its file without folders."""
    return function if file == "~" else f"{function} ({file.rpartition('/')[2]}, line {line})"

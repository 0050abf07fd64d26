"""Many rows from generated shards: rows per second, parallel speed-up, peak memory, and the cost of a merge.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.shards [--method NAME] [--rows N ...] [--shards K] [--features D]

Each number of rows is learned by `orfit_bench.learn` in a separate process, with one worker and with one per core: y =
x'w + noise, x and the noise normally distributed, in chunks of 8,192 rows that each task generates itself. The weights
of one worker and of several must be bitwise equal, and close to the true weights. Times are wall times. The peak is the
resident memory (`ru_maxrss`) of the calling process, and of the largest worker.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import orfit_bench as ob

CHUNK = 8192
NOISE = 0.1
Rows = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def draw_rows(shard: int, n: int, d: int) -> Iterator[Rows]:
    """The n rows of a shard, in chunks."""
    rng, w = np.random.default_rng([1, shard]), true_weights(d)
    for begin in range(0, n, CHUNK):
        X = rng.standard_normal((min(CHUNK, n - begin), d))
        yield X, X @ w + NOISE * rng.standard_normal(len(X))


def true_weights(d: int) -> np.ndarray[Any, Any]:
    """The true weights (d,) for the targets of all shards."""
    return np.random.default_rng(0).standard_normal(d)


def measure(method: str, n: int, shards: int, d: int, workers: int) -> dict[str, Any]:
    """Learn n rows once, in this process and its workers."""
    parts = [partial(draw_rows, i, n // shards, d) for i in range(shards)]
    settings = {"backend": "numba"}
    ob.create(method, **settings).partial_fit(*next(draw_rows(0, CHUNK, d)))  # compiles
    begin = time.perf_counter()
    learner = ob.learn(method, parts, workers=workers, **settings)
    taken = time.perf_counter() - begin
    w = np.asarray(learner.predict(np.eye(d)))
    peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    error = float(np.abs(w - true_weights(d)).max())
    return {"seconds": taken, "weights": w.tobytes().hex(), "error": error, "peaks": peaks, "bound": bound(n, d)}


def bound(n: int, d: int) -> float:
    """Six standard deviations of the largest error of a weight."""
    return 6 * NOISE * float(np.sqrt(np.log(d + 1) / n))


def in_a_process(*given: object) -> dict[str, Any]:
    """Call `measure` in a new process, so that its memory peak is separate."""
    command = [sys.executable, "-m", "benchmarks.shards", "--measure", *map(str, given)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def merge_cost(method: str, d: int) -> tuple[int, float]:
    """The bytes of a state and the median seconds of a merge, with both states read from bytes."""
    states = [ob.create(method, backend="numba").partial_fit(*next(draw_rows(i, CHUNK, d))).to_bytes() for i in (0, 1)]
    times = []
    for _ in range(31):
        begin = time.perf_counter()
        one, other = map(ob.from_bytes, states)
        one.merge(other).to_bytes()
        times.append(time.perf_counter() - begin)
    return len(states[0]), median(times)


def main() -> None:
    """Print a table with a line for each number of rows and of workers, and the cost of a merge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="rls")
    parser.add_argument("--rows", type=float, nargs="+", default=(1e6, 1e7, 1e8))
    parser.add_argument("--shards", type=int, default=64)
    parser.add_argument("--features", type=int, default=4)
    parser.add_argument("--measure", nargs=5, metavar=("METHOD", "N", "SHARDS", "D", "WORKERS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        method, *numbers = given.measure
        print(json.dumps(measure(method, *map(int, numbers))))
        return
    method, d = given.method, given.features
    for features in (d, 128, 1024):
        size, seconds = merge_cost(method, features)
        print(f"a merge of two states of {features} features: {size:,} bytes each, {1e3 * seconds:.2f} ms", flush=True)
    print(f"{'rows':>8} {'workers':>7} {'seconds':>8} {'rows/s':>10} {'speed-up':>8}   peak MB: caller, worker")
    for n in map(int, given.rows):
        alone = in_a_process(method, n, given.shards, d, 1)
        for workers in sorted({1, os.cpu_count() or 1}):
            found = in_a_process(method, n, given.shards, d, workers) if workers > 1 else alone
            if found["weights"] != alone["weights"] or not found["error"] < found["bound"]:
                raise AssertionError(f"{n} rows, {workers} workers: error {found['error']}, or other bits")
            rate, peaks = n / found["seconds"], ", ".join(f"{peak:.0f}" for peak in found["peaks"])
            speed_up = alone["seconds"] / found["seconds"]
            line = f"{n:>8.0e} {workers:>7} {found['seconds']:>8.1f} {rate:>10.2e} {speed_up:>8.2f}   {peaks}"
            print(line, flush=True)


if __name__ == "__main__":
    main()

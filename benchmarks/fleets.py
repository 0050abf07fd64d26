"""Time of a tick of a fleet of rls, one row per member, compared with a loop over learners and the memory limit.

    ORFIT_BENCH_THREADS=2 python benchmarks/fleets.py

Wall times, the median of interleaved repetitions. A loaded machine makes them longer, so ratios are more reliable.
Calls of the smaller fleets are repeated a few times in each turn, as on a stream, where their data stay in the caches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from statistics import median
from typing import Any

import numpy as np

import orfit_bench as ob

CALLS = 10
"""Number of calls of a smaller fleet in each turn."""


def seconds(act: Callable[[], object], calls: int) -> float:
    """The wall time per call, for several calls in a row."""
    begin = time.perf_counter()
    for _ in range(calls):
        act()
    return (time.perf_counter() - begin) / calls


def measure(acts: dict[str, Callable[[], object]], repetitions: int, calls: int = 1) -> dict[str, float]:
    """The median time per call of each function, in turns; the first turn warms up."""
    times: dict[str, list[float]] = {name: [] for name in acts}
    for turn in range(repetitions + 1):
        for name, act in acts.items():
            taken = seconds(act, calls)
            if turn:
                times[name].append(taken)
    return {name: median(taken) for name, taken in times.items()}


def rows(members: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """A row for each member."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((members, 1, features)), rng.standard_normal((members, 1))


def small() -> None:
    """1,000 members of 8 features: fleets on both backends, and a loop over learners."""
    X, y = rows(1000, 8)
    fleets = {name: ob.fleet("rls", 1000, backend=name) for name in ("numpy", "numba")}
    learners = [ob.create("rls", backend="numba") for _ in range(1000)]

    def loop() -> None:
        for learner, x, target in zip(learners, X, y, strict=True):
            learner.partial_fit(x, target)

    acts = {f"fleet, {name}": lambda fleet=fleet: fleet.partial_fit(X, y) for name, fleet in fleets.items()}
    found = measure({**acts, "loop over learners, numba": loop}, 30, CALLS)
    for name, taken in found.items():
        ratio = found["loop over learners, numba"] / taken
        print(f"N = 1,000, d = 8, {name}: {1e3 * taken:.3f} ms per tick, {ratio:.1f} x")


def large() -> None:
    """100,000 members of 16 features, compared with a pass of two threads that reads and writes P."""
    X, y = rows(100_000, 16)
    fleet = ob.fleet("rls", 100_000, backend="numba").partial_fit(X, y)
    P = np.ones(100_000 * 256)
    parts = [P[: len(P) // 2], P[len(P) // 2 :]]

    def scale() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda part: np.multiply(part, 1.0, out=part), parts))

    found = measure({"fleet": lambda: fleet.partial_fit(X, y), "memory": scale}, 15)
    share = 100 * found["memory"] / found["fleet"]
    print(f"N = 100,000, d = 16: {1e3 * found['fleet']:.1f} ms per tick; P read and written by two threads takes")
    print(f"{1e3 * found['memory']:.1f} ms: {share:.0f} % of the memory limit")


METHODS: dict[str, dict[str, Any]] = {
    "lms": {"step_size": 0.05},
    "nlms": {},
    "apa": {"projection_order": 3},
    "rls": {},
    "ridge": {},
    "kalman": {"transition": 0.99, "process_noise": 0.1},
    "class_rls": {},
    "sgd": {"loss": "logistic", "ridge": 1e-3},
    "softmax": {},
    "oja": {"n_components": 2},
}
"""Methods that learn fleets, with settings."""


def ticks(method: str, backend: str) -> Callable[[], object]:
    """A function that learns a row for each of 1,000 members with 8 features, with new rows in each call."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 1000, 1, 8)), rng.standard_normal((8, 1000, 1))
    targets: Any = {"oja": [None] * 8, "class_rls": y > 0, "softmax": y > 0, "sgd": np.sign(y)}.get(method, y)
    fleet, turns = ob.fleet(method, 1000, backend=backend, **METHODS[method]), cycle(zip(X, targets, strict=True))
    return lambda: fleet.partial_fit(*next(turns))


def methods() -> None:
    """1,000 members of 8 features: a row for each, by every method that learns fleets."""
    for method in METHODS:
        found = measure({backend: ticks(method, backend) for backend in ("numpy", "numba")}, 20, CALLS)
        print(f"N = 1,000, d = 8, {method}: " + ", ".join(f"{n} {1e3 * t:.3f} ms" for n, t in found.items()))


def chunks() -> None:
    """10,000 members with 8 features and 64 rows per call, on every backend that supports it, including transfers."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10_000, 64, 8)), rng.standard_normal((10_000, 64))
    fleets = {name: ob.fleet("rls", 10_000, backend=name) for name, found in ob.backends().items() if found.available}
    found = measure({name: lambda fleet=fleet: fleet.partial_fit(X, y) for name, fleet in fleets.items()}, 5)
    for name, taken in found.items():
        print(f"N = 10,000, d = 8, 64 rows a call, {name}: {X.size / 8 / taken:.2e} rows per second")


if __name__ == "__main__":
    small()
    methods()
    large()
    chunks()

"""Fleets and end states on a device: the rates of whole calls, for rows on the device and for rows on the host."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gpu.measuring import seconds
from benchmarks.gpu.units import Found
from benchmarks.gpu.workers import Tell
from orfit_bench import backends, create, fleet

FLEETS: dict[str, tuple[str, dict[str, Any], int, int, int]] = {
    "rls, a row each": ("rls", {}, 100_000, 16, 1),
    "rls, 64 rows each": ("rls", {}, 100_000, 16, 64),
    "rls, few members": ("rls", {}, 1_000, 8, 1),
    "rls, few members, 256 rows each": ("rls", {}, 1_000, 8, 256),
    "rls, 64 features": ("rls", {}, 10_000, 64, 64),
    "kalman": ("kalman", {"transition": 0.99, "process_noise": 0.1}, 100_000, 8, 64),
    "ridge": ("ridge", {}, 100_000, 16, 64),
    "class_rls": ("class_rls", {}, 10_000, 16, 64),
    "lms": ("lms", {"step_size": 0.01}, 100_000, 16, 64),
    "nlms": ("nlms", {"step_size": 0.5}, 100_000, 16, 64),
    "apa": ("apa", {"projection_order": 4, "step_size": 0.5}, 10_000, 16, 64),
    "oja": ("oja", {"n_components": 4, "step_size": 1e-3}, 10_000, 64, 64),
}
"""Method, settings, members, features, and rows of each member in a call."""
END_STATES = {"ridge, d = 2,048": 2048, "ridge, d = 4,096": 4096, "ridge, d = 8,192": 8192}
"""Number of features."""
CHUNK, CHUNKS = 16_384, 8
"""Rows of a chunk, and chunks before the weights are requested."""
FLEET_HEAD = (
    "| fleet | members | d | rows each | rows on the device, rows/s | rows on the host, rows/s | Numba, rows/s "
    "| share of the memory's rate |\n|---|--:|--:|--:|--:|--:|--:|--:|\n"
)
END_HEAD = (
    "| end state | rows on the device, rows/s | share of products | rows on the host, rows/s |\n|---|--:|--:|--:|\n"
)


class Rows(NamedTuple):
    """The rows of a call of a fleet, and the least size of its state: numbers for each member."""

    X: Any
    y: tuple[Any, ...]
    state: int


def rows_of(method: str, members: int, d: int, n: int, settings: dict[str, Any]) -> Rows:
    """Random rows; labels for a classifier, none for a subspace."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((members, n, d), np.float32).astype("float64")
    if method == "oja":
        return Rows(X, (), d * settings["n_components"])
    state = d if method in ("lms", "nlms", "apa") else d * d + d
    return Rows(X, (np.arange(members * n).reshape(members, n) % 2 if method == "class_rls" else X.sum(axis=2),), state)


def measure_fleet(tell: Tell, backend: str, name: str, small: bool) -> None:
    """Rows per second of a call, including all transfers and checks."""
    method, settings, members, d, n = FLEETS[name]
    members, d = (20, 6) if small else (members, d)
    rows, device = rows_of(method, members, d, n, settings), backends()[backend]
    there = device.asarray(rows.X)
    targets = rows.y if method == "class_rls" else tuple(map(device.asarray, rows.y))
    least = 8 * members * (2 * rows.state + n * (d + 1))
    tell(rows=n * members, bytes=least)
    for label, one, X, y in (
        ("rows there", backend, there, targets),
        ("rows here", backend, rows.X, rows.y),
        ("numba", "numba", rows.X, rows.y),
    ):
        learners = fleet(method, members, backend=one, **settings)
        took = seconds(device, lambda _, own=learners, a=X, b=y: own.partial_fit(a, *b))
        tell(**{f"{label}, rows/s": n * members / took})


def measure_end_state(tell: Tell, backend: str, name: str, small: bool) -> None:
    """Rows per second when chunks are learned and the weights are requested once."""
    d, n = (20, 64) if small else (END_STATES[name], CHUNK)
    rng, device = np.random.default_rng(0), backends()[backend]
    X, y = rng.standard_normal((n, d), np.float32).astype("float64"), rng.standard_normal(n)
    for label, a, b in (("rows there", device.asarray(X), device.asarray(y)), ("rows here", X, y)):

        def learn(_: int, rows: Any = a, targets: Any = b) -> None:
            learner = create("ridge", backend=backend)
            for _ in range(CHUNKS):
                learner.partial_fit(rows, targets)
            learner.predict(rows[:1])

        tell(**{f"{label}, rows/s": CHUNKS * n / seconds(device, learn)}, d=d)


def fleet_table(found: dict[str, Found], limits: dict[str, Any]) -> Iterator[str]:
    """Every fleet that was measured."""
    shown = {name: one.results for name, one in found.items() if "rows there, rows/s" in one.results}
    if shown:
        yield f"\n{FLEET_HEAD}"
    for name, results in shown.items():
        _, _, members, d, n = FLEETS[name]
        rate = results["rows there, rows/s"]
        share = share_of(results["bytes"] / results["rows"] * rate, limits.get("bandwidth"))
        cells = [name, f"{members:,}", d, n, f"{rate:.2g}"]
        cells += [f"{results.get(key, math.nan):.2g}" for key in ("rows here, rows/s", "numba, rows/s")]
        yield f"| {' | '.join(map(str, cells))} | {share} |\n"


def share_of(rate: float, limit: float | None) -> str:
    """A rate as a share of the device's limit, if that was measured."""
    return f"{rate / limit:.0%}" if limit else "n/a"


def end_state_table(found: dict[str, Found], limits: dict[str, Any]) -> Iterator[str]:
    """Every measured end state: d^2 operations per row, for one triangle, compared with matrix products."""
    shown = {name: one.results for name, one in found.items() if "rows there, rows/s" in one.results}
    if shown:
        yield f"\n{END_HEAD}"
    for name, results in shown.items():
        rate = results["rows there, rows/s"]
        share = share_of(results["d"] ** 2 * rate, limits.get("float64"))
        yield f"| {name} | {rate:.3g} | {share} | {results.get('rows here, rows/s', math.nan):.3g} |\n"

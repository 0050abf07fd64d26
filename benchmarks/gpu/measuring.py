"""The speed of the device, and the rates of learning a chunk there and with Numba on the host.

Every turn uses new rows, since many methods treat a row that they have learned differently from a new row.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.gpu.cases import Case, by_name, data
from benchmarks.gpu.workers import Tell
from orfit_bench import backends, create, restore
from orfit_bench.jobs.provenance import machine, versions
from orfit_bench.spec import Backend

TURNS = 3
SHORT, SECONDS = 0.2, 4.0
"""Turns in the first SHORT seconds do not count, since an idle device is slow; no turn starts after SECONDS."""
FEW = 4
"""Number of rows for estimating the time of a chunk with Numba, so that it does not take much longer than SECONDS."""
TURNED = 31
"""Number of features by which rows are shifted cyclically from one turn to the next."""
STEP = 2**20
"""Length of a random series that is repeated to fill a large array."""


def describe(tell: Tell, backend: str) -> None:
    """Describe the machine of the call."""
    one, host = backends()[backend], machine()
    tell(reason=one.reason)
    if not one.reason:
        tell(device=one.described, versions=versions(), cpu=host["cpu"], cores=host["cores"])


def seconds(backend: Backend, act: Callable[[int], Any], prepare: Callable[[int], Any] = lambda turn: None) -> float:
    """The median time of several complete turns, after turns that do not count."""
    found: list[float] = []
    turns, start = 0, time.perf_counter()
    while not turns or time.perf_counter() - start < SHORT:
        act(prepare(turns))
        backend.synchronize()
        turns += 1
    start = time.perf_counter()
    while not found or time.perf_counter() - start < (SECONDS if len(found) < TURNS else SHORT):
        given = prepare(turns + len(found))
        backend.synchronize()
        begin = time.perf_counter()
        act(given)
        backend.synchronize()
        found.append(time.perf_counter() - begin)
    return float(np.median(found))


def limits(tell: Tell, backend: str, small: bool) -> None:
    """Bytes per second of copies within the device, and operations per second of products of random matrices."""
    device, size = backends()[backend], 128 if small else 8192
    rng = np.random.default_rng(0)
    for dtype in ("float64", "float32"):
        numbers = np.resize(rng.standard_normal(STEP, np.float32).astype(dtype), (size, size))
        numbers *= rng.standard_normal((size, 1), np.float32).astype(dtype)
        A = device.asarray(numbers)
        tell(**{dtype: 2 * size**3 / seconds(device, partial(squared, A))})
        if dtype == "float64":
            tell(bandwidth=2 * A.nbytes / seconds(device, partial(copied, A)))
    tell(free=free(device))


def squared(A: Any, _: int) -> Any:
    """The product of a matrix with itself."""
    return A @ A


def copied(A: Any, _: int) -> Any:
    """A copy in the same memory."""
    return A.copy()


def free(device: Backend) -> int:
    """Free bytes of device memory."""
    return int(device.namespace().cuda.runtime.memGetInfo()[0])


def measure(tell: Tell, backend: str, case: str, d: int, dtype: str, small: bool) -> None:
    """Measure one size of one method. If it does not fit into memory, this is a result too."""
    one, item = by_name()[case], np.dtype(dtype).itemsize
    one, device = one.shrunk() if small else one, backends()[backend]
    room = min(int(0.8 * free(device)), (machine()["memory"] or 2**34) // 4)
    if (n := one.chunk(d, item, room)) < 1:
        tell(why=f"needs {one.bytes(d, 1, item) / 1e9:.0f} GB, has {room / 1e9:.0f} GB")
        return
    rows = data(one, d, n, dtype)
    try:
        learner = on_device(tell, device, one, d, dtype, rows)
    except MemoryError:
        tell(why="out of memory")
        return
    on_host(tell, restore(learner.state(), backend="numba", model=one.settings(d).get("model")), rows)


def on_device(tell: Tell, device: Backend, case: Case, d: int, dtype: str, rows: tuple[Any, ...]) -> Any:
    """Rows per second for rows on the device, and for copying them there; the learner, whose memory is full."""
    n, settings = len(rows[0]), case.settings(d)
    there = (device.asarray(rows[0]), *rows[1:])
    learner = create(case.method, backend=device.name, dtype=dtype, **settings)
    for turn in range(-(-int(settings.get("memory", 0)) // n)):
        learner.partial_fit(turned(there[0], turn), *there[1:])
    turns = 10  # with other rows than those
    took = seconds(device, lambda X: learner.partial_fit(X, *there[1:]), lambda turn: turned(there[0], turns + turn))
    tell(rows=n, cupy=n / took)
    tell(copying=n / seconds(device, lambda _: device.asarray(rows[0])))
    return learner


def on_host(tell: Tell, learner: Any, rows: tuple[Any, ...]) -> None:
    """Rows per second of Numba's learner, which continues from the same state; for few rows if one takes long."""

    def act(X: Any) -> None:
        learner.partial_fit(X, *(y[: len(X)] for y in rows[1:]))

    few = rows[0][:FEW]
    act(turned(few, 20))  # compiles, so that the measurement does not include it
    begin = time.perf_counter()
    act(turned(few, 21))
    each = (time.perf_counter() - begin) / len(few)
    n = int(np.clip(SECONDS / TURNS / each, len(few), len(rows[0])))
    if each * n < SECONDS:
        each = seconds(backends()["numba"], act, lambda turn: turned(rows[0][:n], 22 + turn)) / n
    tell(numba=1 / each, numba_rows=n)


def turned(X: Any, turn: int) -> Any:
    """Similar rows that are not combinations of these: their features are shifted cyclically."""
    by = TURNED * turn % X.shape[1]
    xp = np if isinstance(X, np.ndarray) else X.__array_namespace__()
    return xp.concatenate([X[:, by:], X[:, :by]], axis=1)

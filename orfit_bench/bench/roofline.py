"""The roofline of the machine: memory bandwidth by working-set size and rate of matrix products, for one thread."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from orfit_bench.jobs.files import cache_folder, replace_text
from orfit_bench.jobs.keys import make_key
from orfit_bench.jobs.processes import threads
from orfit_bench.jobs.provenance import machine

SIZES = tuple(4**k for k in range(6, 15))
"""Working-set sizes in bytes, from the first cache to main memory: 4 KiB to 256 MiB."""
NUMBERS = 4_000_000
"""Numbers processed per call of a loop, so that the overhead of the call is negligible."""
ORDER = 1024
"""Rows of the matrices multiplied."""
DTYPES = ("float64", "float32")
SECONDS = 0.05
"""Time spent on each loop; the fastest call counts, since other processes can only slow it down."""
Loop = Callable[[], float]
"""Runs once and returns the number of bytes read and written, or of operations."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Upper limits for kernels on this machine, with one thread."""

    bandwidth: Mapping[str, float]
    """Working-set size in bytes (as text) to bytes per second."""
    matrix_product: Mapping[str, float]
    """dtype to floating-point operations per second of a matrix product."""

    def bandwidth_at(self, size: float) -> float:
        """Return the bytes per second for a working set of `size` bytes, interpolated on a logarithmic scale."""
        sizes, rates = np.array([float(s) for s in self.bandwidth]), np.array(list(self.bandwidth.values()))
        return float(np.exp(np.interp(np.log(max(size, 1.0)), np.log(sizes), np.log(rates))))

    def seconds(self, flops: float, moved: float, size: float, dtype: str) -> float:
        """Return the minimum time for `flops` operations and `moved` bytes, with a working set of `size` bytes."""
        return max(flops / self.matrix_product[dtype], moved / self.bandwidth_at(size))


def throughput_limit(learner: Any, rows: int, roofline: Roofline | None) -> float | None:
    """Return the samples/s that the declared cost and the measured rates allow, after one pass of `rows` rows.

    None if no rates were measured, on a device, for nonlinear models (the cost of their functions is unknown), or if
    the cost is zero.
    """
    if roofline is None or not learner.rule.is_linear or learner.backend.device not in ("", "cpu"):
        return None
    state, cost = learner.live_state, learner.method.theory.cost
    layout = learner.rule.layout(state.sizes)
    used = layout.count(state.arrays)
    # The average count over the pass: the memory fills up linearly and stays full.
    sizes = layout.sizes | {"count": used * (1 - used / (2 * max(rows, used, 1)))}
    flops, moved = (f(learner.settings, sizes) for f in (cost.flops, cost.floats))
    seconds = roofline.seconds(flops, moved * learner.dtype.itemsize, learner.state_bytes, learner.dtype.name)
    return 1 / seconds if seconds else None


def measure() -> Roofline:
    """Measure the roofline, in a few seconds. BLAS must use a single thread in this process."""
    rates = [max(_rate(loop) for loop in _loops(size)) for size in SIZES]
    fastest = np.maximum.accumulate(rates[::-1])[::-1].tolist()  # a smaller working set is at least as fast
    products = {dtype: _rate(_product(dtype)) for dtype in DTYPES}
    return Roofline(dict(zip(map(str, SIZES), fastest, strict=True)), products)


def load() -> Roofline | None:
    """Return the stored roofline of this machine and number of threads; None if it was not measured."""
    return read(path())


def read(file: Path) -> Roofline | None:
    """Read a file; None if it does not exist or is not valid."""
    try:
        found = json.loads(file.read_text())
        roofline = Roofline(found["bandwidth"], found["matrix_product"])
        rates = [*roofline.bandwidth.values(), *(roofline.matrix_product[dtype] for dtype in DTYPES)]
        usable = all(0 < rate < math.inf for rate in rates) and roofline.bandwidth_at(1.0) > 0
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return roofline if usable else None


def ensure_measured(fresh: bool = False) -> Path:
    """Measure and store the roofline unless it is stored already. Returns its file, which may not be writable."""
    file = path()
    if fresh or read(file) is None:
        text = json.dumps({"machine": _machine(), **asdict(measure())}, indent=1)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_text(file, text)
    return file


def path() -> Path:
    """Return the file for this machine and number of threads."""
    return cache_folder() / "roofline" / f"{make_key(_machine())}.json"


def _machine() -> dict[str, Any]:
    here = machine()
    return {"cpu": here["cpu"], "cores": here["cores"], "threads": threads(), "numpy": np.__version__}


def _loops(size: int) -> Iterator[Loop]:
    """A sum, an addition of vectors and a scaling in place; the fastest of them depends on the size."""
    x = np.ones(size // 8)
    rows = _repeated(x)
    yield lambda: np.vecdot(rows, x).size * x.nbytes
    if len(rows) >= 4:
        half, out = _repeated(x[: len(x) // 2]), np.zeros(len(x) // 2)
        yield lambda: 3 * len(half) * np.add.reduce(half, axis=0, out=out).nbytes
    else:
        yield lambda: 2 * np.multiply(x, 1.0, out=x).nbytes


def _repeated(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A matrix with x as each of its rows, which shares the memory of x."""
    return as_strided(x, (max(1, NUMBERS // len(x)), len(x)), (0, 8), writeable=False)


def _product(dtype: str) -> Loop:
    A, out = np.ones((ORDER, ORDER), dtype), np.empty((ORDER, ORDER), dtype)

    def flops() -> float:
        np.matmul(A, A, out=out)
        return 2.0 * ORDER**3

    return flops


def _rate(loop: Loop) -> float:
    """The largest amount per second of any call."""
    best, end = 0.0, perf_counter() + SECONDS
    while perf_counter() < end:
        begin = perf_counter()
        done = loop()
        best = max(best, done / (perf_counter() - begin))
    return best

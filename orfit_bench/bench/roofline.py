"""The machine's two limits: bytes a second from where a state lies, and the rate of matrix products; one thread."""

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

from orfit_bench.jobs.files import replace
from orfit_bench.jobs.keys import make_key
from orfit_bench.jobs.processes import threads
from orfit_bench.jobs.provenance import machine

SIZES = tuple(4**k for k in range(6, 15))
"""Bytes that a loop touches again and again, from the first cache to main memory: 4 KiB to 256 MiB."""
NUMBERS = 4_000_000
"""How many a loop takes in one call, so that the call itself costs nothing beside them."""
ORDER = 1024
"""Rows of the matrices multiplied."""
DTYPES = ("float64", "float32")
SECONDS = 0.05
"""Time spent on each loop; the best of its calls counts, since what else runs can only slow it down."""
Loop = Callable[[], float]
"""Runs once and returns the bytes it read and wrote."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """What no kernel on this machine can pass, with one thread."""

    bandwidth: Mapping[str, float]
    """Bytes in use, as text, to the bytes a second read and written there."""
    matrix_product: Mapping[str, float]
    """dtype to the floating-point operations a second of a matrix product."""

    def bandwidth_at(self, size: float) -> float:
        """Bytes a second where `size` bytes are in use, between the sizes measured on a logarithmic scale."""
        sizes, rates = np.array([float(s) for s in self.bandwidth]), np.array(list(self.bandwidth.values()))
        return float(np.exp(np.interp(np.log(max(size, 1.0)), np.log(sizes), np.log(rates))))

    def seconds(self, flops: float, moved: float, size: float, dtype: str) -> float:
        """The least time for so many operations and bytes moved, where `size` bytes are in use."""
        return max(flops / self.matrix_product[dtype], moved / self.bandwidth_at(size))


def measure() -> Roofline:
    """Measure, in three seconds or so. In a process whose BLAS has one thread, or it is the limit of more."""
    rates = [max(_rate(loop) for loop in _loops(size)) for size in SIZES]
    fastest = np.maximum.accumulate(rates[::-1])[::-1].tolist()  # what 64 KiB allow, 4 KiB allow too
    products = {dtype: _rate(_product(dtype)) for dtype in DTYPES}
    return Roofline(dict(zip(map(str, SIZES), fastest, strict=True)), products)


def load() -> Roofline | None:
    """What was measured on this machine with these threads; None before that."""
    return read(path())


def read(file: Path) -> Roofline | None:
    """What the file holds; None where it is not there or no such thing."""
    try:
        found = json.loads(file.read_text())
        roofline = Roofline(found["bandwidth"], found["matrix_product"])
        rates = [*roofline.bandwidth.values(), *(roofline.matrix_product[dtype] for dtype in DTYPES)]
        usable = all(0 < rate < math.inf for rate in rates) and roofline.bandwidth_at(1.0) > 0
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return roofline if usable else None


def ensure_measured(fresh: bool = False) -> Path:
    """Measure and keep it, unless it is kept already; returns the file, which is not there where it cannot be kept."""
    file = path()
    if fresh or read(file) is None:
        text = json.dumps({"machine": _machine(), **asdict(measure())}, indent=1)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            replace(file, lambda temporary: temporary.write_text(text))
    return file


def path() -> Path:
    """Where it is kept for this machine and these threads."""
    import pooch

    name = make_key(_machine())
    return Path(pooch.os_cache("orfit_bench")) / "roofline" / f"{name}.json"


def _machine() -> dict[str, Any]:
    here = machine()
    return {"cpu": here["cpu"], "cores": here["cores"], "threads": threads(), "numpy": np.__version__}


def _loops(size: int) -> Iterator[Loop]:
    """A sum, a vector added to another, and one scaled in place: what of it is fastest differs by size."""
    x = np.ones(size // 8)
    rows = _repeated(x)
    yield lambda: np.vecdot(rows, x).size * x.nbytes
    if len(rows) >= 4:
        half, out = _repeated(x[: len(x) // 2]), np.zeros(len(x) // 2)
        yield lambda: 3 * len(half) * np.add.reduce(half, axis=0, out=out).nbytes
    else:
        yield lambda: 2 * np.multiply(x, 1.0, out=x).nbytes


def _repeated(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """X again and again as the rows of a matrix that takes no further memory."""
    return as_strided(x, (max(1, NUMBERS // len(x)), len(x)), (0, 8), writeable=False)


def _product(dtype: str) -> Loop:
    A, out = np.ones((ORDER, ORDER), dtype), np.empty((ORDER, ORDER), dtype)

    def flops() -> float:
        np.matmul(A, A, out=out)
        return 2.0 * ORDER**3

    return flops


def _rate(loop: Loop) -> float:
    """The most that a call does a second."""
    best, end = 0.0, perf_counter() + SECONDS
    while perf_counter() < end:
        begin = perf_counter()
        done = loop()
        best = max(best, done / (perf_counter() - begin))
    return best

"""The CuPy backend on a device, beside Numba on the host: the table of docs/gpu.md.

`python3 dev.py gpu` runs the conformance kit on the device, then measures and writes the page; it needs a device. Every
size is learned in one chunk of rows from host memory, as a user would, so that transfers count; what a copy of the rows
alone takes stands apart. The share of the limit is that of the device, whose rates are measured in the same run.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.limits import LIMITS
from benchmarks.pages import fill
from orfit_bench import backends, create
from orfit_bench.host.machine import machine, versions
from orfit_bench.spec import Backend

PAGE = Path(__file__).resolve().parents[1] / "docs" / "gpu.md"
HEAD = (
    "| method | d | dtype | Numba, rows/s | CuPy, rows/s | times Numba | copying its rows | share of the limit |\n"
    "|---|--:|---|--:|--:|--:|--:|--:|\n"
)
TURNS = 3
WIDTHS = {  # sizes d: up to where the state fills a few GB
    "lms": (10**3, 10**5, 10**7),
    "icl": (10**3, 10**5, 10**6),
    "orfit": (10**3, 10**5, 10**6, 10**7),
    "rls": (500, 2_000, 10_000),
    "kalman": (500, 2_000, 10_000),
    "oja": (10**3, 10**5, 10**6),
    "incremental_pca": (10**3, 10**5, 10**6),
}
SETTINGS = {
    "lms": {"step_size": 1e-9},
    "icl": {"memory": 300},
    "orfit": {"memory": 50},
    "oja": {"n_components": 20},
    "incremental_pca": {"n_components": 20},
}
LETTERS = {"c": 1, "k": 20, "m": 50}


class Rates(NamedTuple):
    """Bytes moved, and operations in products of matrices of each dtype, a second."""

    bandwidth: float
    product: dict[str, float]


def seconds(backend: Backend, act: Callable[[], Any]) -> float:
    """The fastest of a few turns, all of its work done."""
    found = []
    for _ in range(TURNS + 1):
        begin = time.perf_counter()
        act()
        backend.synchronize()
        found.append(time.perf_counter() - begin)
    return min(found[1:])


def rates(backend: Backend, size: int = 8192) -> Rates:
    """What the device allows."""
    vector, product = backend.asarray(np.ones(size * size // 2)), {}
    moved = 2 * vector.nbytes / seconds(backend, vector.copy)
    for dtype in ("float64", "float32"):
        A = backend.asarray(np.ones((size, size), dtype))
        product[dtype] = 2 * size**3 / seconds(backend, lambda A=A: A @ A)
    return Rates(moved, product)


def line(name: str, method: str, d: int, dtype: str, limit: Rates) -> str:
    """One size of one method, of which a chunk takes 4 GB at most."""
    n = max(8, min(256, 4 * 10**9 // (8 * d)))
    rng, device = np.random.default_rng(0), backends()[name]
    X, y = rng.standard_normal((n, d), np.float32).astype(dtype), rng.standard_normal(n).astype(dtype)
    found = []
    for backend in ("numba", name):
        learner = create(method, backend=backend, dtype=dtype, **SETTINGS.get(method, {}))
        rows = (X,) if learner.method.kind == "subspace" else (X, y)
        found.append(n / seconds(backends()[backend], lambda learner=learner, rows=rows: learner.partial_fit(*rows)))
    copying = seconds(device, lambda: device.asarray(X)) * found[1] / n
    formula = LIMITS[method]
    flops, numbers = formula(**{k: v for k, v in {**LETTERS, "d": d}.items() if k in formula.__code__.co_varnames})
    least = max(flops / limit.product[dtype], numbers * X.itemsize / limit.bandwidth)
    return (
        f"| {method} | {d:,} | {dtype} | {found[0]:,.0f} | {found[1]:,.0f} | {found[1] / found[0]:.2g} | {copying:.0%} "
        f"| {least * found[1]:.1%} |\n"
    )


def table(name: str, widths: dict[str, tuple[int, ...]], limit: Rates) -> Iterator[str]:
    """A line for every method, size and dtype."""
    for method, sizes in widths.items():
        yield from (line(name, method, d, dtype, limit) for d in sizes for dtype in limit.product)


def where(limit: Rates, device: str) -> str:
    """Date, machine, versions, and what the device allows."""
    told = ", ".join(f"{k} {v}" for k, v in versions().items())
    rate = ", ".join(f"{value / 1e12:.3g} TFLOP/s in {dtype}" for dtype, value in limit.product.items())
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, `python3 dev.py gpu`, {device}, host {machine()['cpu']}; {told}. "
        f"{limit.bandwidth / 1e9:.0f} GB/s, products of matrices {rate}.\n\n"
    )


def main() -> None:
    """Prove the backend on the device, then measure it and write the page."""
    if reason := backends()["cupy"].reason:
        sys.exit(f"cupy: {reason}")
    subprocess.run([sys.executable, "-m", "orfit_bench", "conform", "--backend", "cupy"], check=True)
    runtime = backends()["cupy"].namespace().cuda.runtime
    device = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
    limit, lines = rates(backends()["cupy"]), []
    for text in table("cupy", WIDTHS, limit):
        print(text, end="", flush=True)
        lines.append(text)
    told = where(limit, f"{device}, driver for CUDA {runtime.driverGetVersion()}")
    fill(PAGE, told + HEAD + "".join(lines))


if __name__ == "__main__":
    main()

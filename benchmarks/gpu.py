"""The CuPy backend on a device, beside Numba on the host: the tables of docs/gpu.md.

`python3 dev.py gpu` runs the conformance kit on the device, then measures and writes the page; it needs a device. A
chunk of up to 256 rows is learned again and again: by Numba from host memory, by CuPy from the device's; what it takes
to copy the rows there stands apart. The limit is that of the device, whose rates are measured in the same run. What
does not fit into memory is said to be so, and what was not measured is not printed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gpu_cases import CASES, Case, data, fixed
from benchmarks.limits import LIMITS
from benchmarks.pages import fill
from orfit_bench import backends, create
from orfit_bench.host.machine import machine, versions
from orfit_bench.spec import Backend

PAGE = Path(__file__).resolve().parents[1] / "docs" / "gpu.md"
HEAD = (
    "| method | d | dtype | rows a chunk | Numba, rows/s | CuPy, rows/s | times Numba | copying them, rows/s "
    "| share of the limit |\n|---|--:|---|--:|--:|--:|--:|--:|--:|\n"
)
CROSSING = (
    "\nThe smallest d of these from which on CuPy is faster:\n\n| method | d, float64 | d, float32 |\n|---|--:|--:|\n"
)
AIMS = "\nGoals, in float64:\n\n| goal | rows a chunk | reached | wanted |\n|---|--:|--:|--:|\n"
TURNS = 3


class Machine(NamedTuple):
    """Bytes moved, and operations in products of matrices of each dtype, a second; bytes free there and here."""

    bandwidth: float
    product: dict[str, float]
    free: int
    memory: int


class Found(NamedTuple):
    """What was measured of one size: rows of a chunk, and a second; or why nothing was."""

    case: Case
    d: int
    dtype: str
    rows: int = 0
    numba: float = 0.0
    cupy: float = 0.0
    copying: float = 0.0
    why: str = ""


def seconds(backend: Backend, act: Callable[[], Any]) -> float:
    """The fastest of a few turns, all of its work done."""
    found = []
    for _ in range(TURNS + 1):
        begin = time.perf_counter()
        act()
        backend.synchronize()
        found.append(time.perf_counter() - begin)
    return min(found[1:])


def limits(backend: Backend, free: int, size: int = 8192) -> Machine:
    """What the device allows."""
    vector, product = backend.asarray(np.ones(size * size // 2)), {}
    moved = 2 * vector.nbytes / seconds(backend, vector.copy)
    for dtype in ("float64", "float32"):
        A = backend.asarray(np.ones((size, size), dtype))
        product[dtype] = 2 * size**3 / seconds(backend, lambda A=A: A @ A)
    return Machine(moved, product, free, machine()["memory"] or 2**34)


def measured(name: str, case: Case, d: int, dtype: str, here: Machine) -> Found:
    """One size of one method."""
    device, item = backends()[name], np.dtype(dtype).itemsize
    n = case.chunk(d, item, min(int(0.8 * here.free), here.memory // 4))
    if n < 1:
        need, has = (f"{b / 1e9:.0f} GB" for b in (case.bytes(d, 1, item), min(here.free, here.memory // 4)))
        return Found(case, d, dtype, why=f"needs {need}, has {has}")
    rows = data(case, d, n, dtype)
    there = (device.asarray(rows[0]), *rows[1:])
    try:
        rates = [n / turn(backend, case, d, dtype, r) for backend, r in ((name, there), ("numba", rows))]
    except MemoryError:
        return Found(case, d, dtype, why="out of memory")
    return Found(case, d, dtype, n, rates[1], rates[0], n / seconds(device, lambda: device.asarray(rows[0])))


def turn(backend: str, case: Case, d: int, dtype: str, rows: tuple[Any, ...]) -> float:
    """Seconds of a chunk, once the memory of a method is full."""
    learner = create(case.method, backend=backend, dtype=dtype, **case.settings(d))
    return seconds(backends()[backend], lambda: learner.partial_fit(*rows))


def share(found: Found, here: Machine) -> float:
    """How much of what the device allows was reached."""
    formula, size = LIMITS[found.case.limit], {"n": found.d, "m": found.d} if found.case.layered else {"d": found.d}
    letters = {k: v for k, v in {**found.case.letters, **size}.items() if k in formula.__code__.co_varnames}
    flops, numbers = formula(**letters)
    moved = numbers * np.dtype(found.dtype).itemsize
    return max(flops / here.product[found.dtype], moved / here.bandwidth) * found.cupy


def line(found: Found, here: Machine) -> str:
    """A row of the table."""
    cells = [found.case.limit, f"{found.d:,}", found.dtype]
    if found.why:
        cells += [f"n/a ({found.why})", *["n/a"] * 5]
    else:
        cells += [f"{found.rows}", f"{found.numba:,.0f}", f"{found.cupy:,.0f}", f"{found.cupy / found.numba:.2g}"]
        cells += [f"{found.copying:,.0f}", f"{share(found, here):.1%}"]
    return f"| {' | '.join(cells)} |\n"


def crossings(all_found: Iterable[Found]) -> Iterator[str]:
    """From which size on CuPy was faster than Numba, of every method."""
    by_case: dict[str, dict[str, list[Found]]] = {}
    for found in all_found:
        if not found.why:
            by_case.setdefault(found.case.limit, {}).setdefault(found.dtype, []).append(found)
    for limit, of in by_case.items():
        yield f"| {limit} | {' | '.join(crossing(of.get(dtype, [])) for dtype in ('float64', 'float32'))} |\n"


def crossing(found: list[Found]) -> str:
    """The smallest size of those from which on it was faster, or none."""
    slower = [f.d for f in found if f.cupy <= f.numba]
    faster = [f.d for f in found if f.d > max(slower, default=0)]
    return f"{min(faster):,}" if faster else "none measured"


GOALS = [
    (Case("rls", (4096,), fixed(), {"c": 1}, vectors=0), "of the rate of matrix products", 0.5),
    (Case("orfit", (10**7,), fixed(memory=50), {"m": 50, "c": 1}, vectors=52), "of the bandwidth", 0.6),
    (Case("implicit_krasulina", (3072,), fixed(n_components=50), {"k": 50}, vectors=52), "times Numba", 10.0),
]


def goal(found: Found, of: str, wanted: float, here: Machine) -> str:
    """A row of the goals, of float64."""
    what = f"{found.case.method}, d = {found.d:,}, {of}"
    if found.why:
        return f"| {what} | n/a ({found.why}) | n/a | {wanted:g} |\n"
    if of == "times Numba":
        reached = found.cupy / found.numba
    elif of == "of the bandwidth":  # the state read and written once a chunk, the rows read
        reached = 8 * found.d * (2 * (found.case.vectors - 1) / found.rows + 1) * found.cupy / here.bandwidth
    else:
        reached = LIMITS["rls"](d=found.d, c=1)[0] * found.cupy / here.product["float64"]
    return f"| {what} | {found.rows} | {reached:.2g} | {wanted:g} |\n"


def tables(name: str, cases: Iterable[Case], goals: Iterable[Any], here: Machine) -> Iterator[str]:
    """Line by line: every method, size and dtype; where CuPy overtakes; the goals."""
    all_found = []
    yield HEAD
    for case in cases:
        for d in case.widths:
            for dtype in here.product:
                all_found.append(measured(name, case, d, dtype, here))
                yield line(all_found[-1], here)
    yield CROSSING
    yield from crossings(all_found)
    yield AIMS
    for case, of, wanted in goals:
        yield goal(measured(name, case, case.widths[0], "float64", here), of, wanted, here)


def where(here: Machine, checked: str) -> str:
    """Date, machine, versions, and what the device allows."""
    told = ", ".join(f"{k} {v}" for k, v in (versions() | backends()["cupy"].device_info()).items())
    rate = ", ".join(f"{value / 1e12:.3g} TFLOP/s in {dtype}" for dtype, value in here.product.items())
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, `python3 dev.py gpu`; host {machine()['cpu']}, "
        f"{os.environ.get('ORFIT_BENCH_THREADS', '1')} threads; {told}. "
        f"{here.bandwidth / 1e9:.0f} GB/s, products of matrices {rate}.\n\nThe kit on the device: {checked}.\n\n"
    )


def checked() -> str:
    """Run the kit on the device; how many checks ended how. Ends the process where one failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kit.json")
        kit = [sys.executable, "-m", "orfit_bench", "conform", "--backend", "cupy", "--json", str(path)]
        subprocess.run(kit, check=True)
        return ", ".join(f"{n} {status}" for status, n in json.loads(path.read_text())["counts"].items())


def main() -> None:
    """Prove the backend on the device, then measure it and write the page."""
    if reason := backends()["cupy"].reason:
        sys.exit(f"cupy: {reason}")
    kit = checked()
    cupy = backends()["cupy"].namespace()
    here, lines = limits(backends()["cupy"], cupy.cuda.runtime.memGetInfo()[0]), []
    for text in tables("cupy", CASES, GOALS, here):
        print(text, end="", flush=True)
        lines.append(text)
        cupy.get_default_memory_pool().free_all_blocks()
    fill(PAGE, where(here, kit) + "".join(lines))


if __name__ == "__main__":
    main()

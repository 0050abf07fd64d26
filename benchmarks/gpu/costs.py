"""The cost of each kind of work on a device, and the rates of eight methods: a first look, before the tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from operator import add, matmul
from typing import Any

import numpy as np

from benchmarks.gpu.measuring import seconds
from benchmarks.gpu.workers import Tell
from orfit_bench import backends, create, methods

Act = Callable[[], Any]
METHODS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "rls, d = 1,024": ("rls", 1024, {}),
    "orfit, d = 100,000": ("orfit", 100_000, {"memory": 50}),
    "kalman, d = 1,024": ("kalman", 1024, {}),
    "rls, d = 4,096": ("rls", 4096, {}),
    "implicit_krasulina, d = 3,072": ("implicit_krasulina", 3072, {"n_components": 50}),
    "kalman that moves, d = 784": ("kalman", 784, {"transition": 0.9, "process_noise": 0.1}),
    "oja, d = 784": ("oja", 784, {"n_components": 20, "step_size": 1e-4}),
    "lms, d = 784": ("lms", 784, {"step_size": 1e-4}),
}
"""Method, features and settings of each rate."""
LENGTHS = (128 * 128, 257 * 257, 10**6, 25 * 10**6)


def cost(tell: Tell, backend: str, work: str, small: bool) -> None:
    """Milliseconds of one item of WORK, measured for many in a row before waiting for the device."""
    device = backends()[backend]
    for name, act, times in WORK[work](device, small):
        tell(**{name: 1e3 * seconds(device, partial(repeated, act, times)) / times})


def repeated(act: Act, times: int, _: int) -> None:
    """The work repeated the given number of times."""
    for _ in range(times):
        act()


def launches(device: Any, small: bool) -> Iterator[tuple[str, Act, int]]:
    """The smallest operation, and the wait for a single number."""
    one = device.asarray(np.zeros(1))
    yield "a launch, ms", partial(add, one, 1), 10 if small else 2000
    yield "a wait, ms", partial(device.asnumpy, one), 10 if small else 500


def copies(device: Any, small: bool) -> Iterator[tuple[str, Act, int]]:
    """Copies of arrays of several lengths to the device and back."""
    for n in LENGTHS[: 2 if small else None]:
        host = np.random.default_rng(0).standard_normal(n)
        there = device.asarray(host)
        yield f"{n:,} numbers there, ms", partial(device.asarray, host), 3
        yield f"{n:,} numbers back, ms", partial(device.asnumpy, there), 3


def random(device: Any, *shape: int, dtype: str = "float64") -> Any:
    """Random numbers on the device."""
    return device.asarray(np.random.default_rng(0).standard_normal(shape, np.float32).astype(dtype))


def products(device: Any, small: bool) -> Iterator[tuple[str, Act, int]]:
    """The products of a block, of a covariance and of a span."""
    d, p = (64, 1000) if small else (1024, 100_000)
    for dtype in ("float64", "float32"):
        X, P, M = (random(device, *shape, dtype=dtype) for shape in ((128, d), (d, d), (307, p)))
        yield f"128 x {d} x {d}, {dtype}, ms", partial(matmul, X, P), 20
        yield f"M M', M 307 x {p:,}, {dtype}, ms", partial(matmul, M, M.T), 3


def factors(device: Any, small: bool) -> Iterator[tuple[str, Act, int]]:
    """Factorisations, and a full reduction."""
    linalg, n = device.namespace().linalg, 60 if small else 784
    A, M = random(device, n, 257 if n > 257 else 20), random(device, n, n)
    S = M @ M.T + n * device.asarray(np.eye(n))
    yield f"QR of {n} x {A.shape[1]}, ms", partial(linalg.qr, A), 3
    yield f"eigh of {n} x {n}, ms", partial(linalg.eigh, S), 3
    yield f"Cholesky of {n} x {n}, ms", partial(linalg.cholesky, S), 3


def reductions(device: Any, small: bool) -> Iterator[tuple[str, Act, int]]:
    """A full reduction, as in the check of rows."""
    xp, X = device.namespace(), random(device, 256, 1000 if small else 100_000)
    yield f"vdot of {X.size:,} numbers, ms", partial(xp.vdot, X, X), 3


WORK = {
    "launches and waits": launches,
    "copies": copies,
    "products": products,
    "factorisations": factors,
    "reductions": reductions,
}


def rate(tell: Tell, backend: str, name: str, small: bool) -> None:
    """Rows per second of a method: with Numba, for rows in host memory, and for rows on the device."""
    method, d, settings = METHODS[name]
    d, n = (min(d, 60), 16) if small else (d, 8 if "transition" in settings else 256)
    X = np.random.default_rng(0).standard_normal((n, d))
    y = () if methods()[method].kind == "subspace" else (X[:, 0].copy(),)
    for label, one in (("rows there", backend), ("rows here", backend), ("numba", "numba")):
        device = backends()[one]
        rows = device.asarray(X) if label == "rows there" else X
        learner = create(method, backend=one, **settings)
        begin = time.perf_counter()
        learner.partial_fit(rows, *y)
        tell(**{f"{label}, first chunk, seconds": time.perf_counter() - begin})
        act = partial(learner.partial_fit, rows, *y)
        tell(**{f"{label}, rows/s": n / seconds(device, partial(repeated, act, 1))})

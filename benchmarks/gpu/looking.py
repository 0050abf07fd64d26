"""Assumptions of the backend about a device, tested one by one; a wrong assumption raises an AssertionError."""

from __future__ import annotations

import importlib
import os
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.gpu.workers import Tell
from orfit_bench import backends

VARIABLES = ("CUPY_", "CUBLAS_", "CUDA_", "NVIDIA_TF32_OVERRIDE", "ORFIT_BENCH_", "OPENBLAS_NUM", "OMP_NUM", "MKL_NUM")


def look(tell: Tell, backend: str, fact: str) -> None:
    """Test one of FACTS."""
    FACTS[fact](tell, backends()[backend])


def libraries(tell: Tell, device: Any) -> None:
    """Versions of all libraries, as reported by CuPy."""
    get_runtime_info = importlib.import_module("cupyx").get_runtime_info
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the output names missing libraries
        lines = str(get_runtime_info()).splitlines()
    tell(**{name.strip(): value.strip()[:200] for name, _, value in (line.partition(" : ") for line in lines) if value})


def variables(tell: Tell, device: Any) -> None:
    """Environment variables on which digits and speed depend."""
    tell(**{name: value for name, value in sorted(os.environ.items()) if name.startswith(VARIABLES)})


def properties(tell: Tell, device: Any) -> None:
    """The properties that the device reports."""
    runtime = device.namespace().cuda.runtime
    known = runtime.getDeviceProperties(runtime.getDevice())
    names = ("totalGlobalMem", "multiProcessorCount", "clockRate", "memoryClockRate", "memoryBusWidth", "l2CacheSize")
    tell(**{name: known[name] for name in (*names, "major", "minor", "ECCEnabled") if name in known})
    tell(free=runtime.memGetInfo()[0])


def reason(tell: Tell, device: Any) -> None:
    """The time to find out whether the backend can compute."""
    for name in ("first", "again"):
        begin = time.perf_counter()
        reason = device.reason
        tell(**{f"{name}, seconds": time.perf_counter() - begin})
        assert not reason, reason


def memory(tell: Tell, device: Any) -> None:
    """The measured memory, three times with and without an array of 8 MB."""
    device.memory()
    there = device.asarray(np.zeros(10**6))
    most = device.memory()
    del there
    tell(bytes=[most, device.memory(), device.memory()])
    assert most >= 8 * 10**6


def no_dimensions(tell: Tell, device: Any) -> None:
    """An array without dimensions also has none on the host."""
    shape = device.asnumpy(device.namespace().zeros(())).shape
    tell(shape=shape)
    assert shape == ()


def nan(tell: Tell, device: Any) -> None:
    """A maximum does not lose NaN, in any layout."""
    xp = device.namespace()
    rows = np.where(np.eye(7, 500) > 0, np.nan, 1.0)
    layouts = {"C": device.asarray(rows), "Fortran": device.asarray(np.ascontiguousarray(rows.T)).T}
    layouts["strided"] = device.asarray(np.repeat(rows, 2, axis=1))[:, ::2]
    kept = {name: bool(xp.isnan(a.max())) and bool(xp.isnan(a.max(axis=1)).all()) for name, a in layouts.items()}
    tell(**kept)
    assert all(kept.values())


def empty_qr(tell: Tell, device: Any) -> None:
    """The factors of a matrix without columns."""
    shapes = [a.shape for a in device.namespace().linalg.qr(device.namespace().zeros((5, 0)))]
    tell(shapes=shapes)
    assert shapes == [(5, 0), (0, 0)]


def bad_qr(tell: Tell, device: Any) -> None:
    """Factorisations of NaN must not hang, and need not raise an error."""
    xp, rows = device.namespace(), device.asarray(np.full((8, 8), np.nan))
    tell(qr=bool(xp.isnan(xp.linalg.qr(rows)[1]).any()), eigh=bool(xp.isnan(xp.linalg.eigh(rows)[0]).any()))


def subnormal(tell: Tell, device: Any) -> None:
    """The treatment of float32 numbers below the normal range."""
    xp, there = device.namespace(), device.asarray(np.full((8, 8), 1e-40, np.float32))
    unit = device.asarray(np.eye(8, dtype=np.float32))
    kept = {"!= 0": (there != 0).any(), "+ 0": ((there + 0).max() > 0), "@ I": xp.abs(there @ unit).max() > 0}
    tell(**{name: bool(a) for name, a in kept.items()})
    tell(copy=bool((device.asnumpy(there.copy()) > 0).all()))


def repeatable(tell: Tell, device: Any) -> None:
    """Repeated products have the same bits; the difference for fewer rows is reported in units of the last place."""
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        eps, name = float(np.finfo(dtype).eps), np.dtype(dtype).name
        x, p = (rng.standard_normal(shape).astype(dtype) for shape in ((256, 1024), (1024, 1024)))
        X, P = device.asarray(x), device.asarray(p)
        product, most = device.asnumpy(X @ P), 0.0
        again = bool((product == device.asnumpy(X @ P)).all())
        exact = x.astype(np.longdouble) @ p.astype(np.longdouble)
        size = float(np.abs(exact).max()) * eps
        for rows in (1, 16, 100, 128):
            most = max(most, float(np.abs(device.asnumpy(X[:rows] @ P) - product[:rows]).max()) / size)
        results = {"again alike": again, "cut, eps": most, "error, eps": float(np.abs(product - exact).max()) / size}
        tell(**{f"{name}: {what}": value for what, value in results.items()})
        assert again, f"{name}: the same product has other bits"


FACTS = {
    "whether it can compute": reason,
    "libraries": libraries,
    "variables": variables,
    "device": properties,
    "count of memory": memory,
    "arrays without dimensions": no_dimensions,
    "NaN in a maximum": nan,
    "QR of no columns": empty_qr,
    "factorisations of NaN": bad_qr,
    "float32 below the normal numbers": subnormal,
    "products again": repeatable,
}

"""The CUDA device, its arrays and its memory. The only module that needs CuPy."""

from __future__ import annotations

import importlib
import os
import threading
from functools import cache
from typing import Any

import cupy
from numpy.typing import NDArray

from orfit_bench_cupy import _libraries

if not hasattr(
    cupy.ndarray, "__array_namespace__"
):  # CuPy 14 implements the standard but not this method, which models use
    cupy.ndarray.__array_namespace__ = lambda self, api_version=None: cupy

STAGED = 64 * 2**20
"""Most bytes copied to the device through pinned memory, which CuPy's pool keeps, rounded up to a power of two."""
PRECISION = ("CUPY_TF32", "CUPY_ACCELERATORS", "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATION_STRATEGY")
"""Environment variables that change the precision of products, recorded with every result."""
_chosen = threading.local()


def solve_triangular(*arguments: Any, **options: Any) -> Any:
    """CuPy's function of this name, imported on first call: its module loads cuBLAS."""
    return importlib.import_module("cupyx.scipy.linalg").solve_triangular(*arguments, **options)


def syrk(*arguments: Any, **options: Any) -> Any:
    """CuPy's function of this name, imported on first call: its module loads cuBLAS."""
    return importlib.import_module(f"{cupy.__name__}.cublas").syrk(*arguments, **options)


_libraries.provide(cupy, _libraries.Libraries(solve_triangular, syrk))


def choose(which: str) -> None:
    """Use the device with this number ("" for the first) in this thread, unless the user has chosen one already."""
    if getattr(_chosen, "done", False):
        return
    number = cupy.cuda.runtime.getDeviceCount()
    if which and not (which.isdecimal() and int(which) < number):
        raise ValueError(f"ORFIT_BENCH_DEVICE={which}: want a number from 0 to {number - 1}")
    if which and cupy.cuda.runtime.getDevice() == 0:
        cupy.cuda.Device(int(which)).use()
    _chosen.done = True


def try_libraries() -> None:
    """Run a computation with each required library; libraries are loaded on first use."""
    a = cupy.eye(2)
    (a + 1).sum().item()  # the driver, and the compiler
    (a @ a).sum().item()  # cuBLAS
    cupy.linalg.qr(a)[1].sum().item()  # cuSOLVER
    pins_memory()


@cache
def pins_memory() -> bool:
    """Whether pinned host memory is available; if not, CuPy would warn at every copy."""
    try:
        cupy.cuda.alloc_pinned_memory(1)
    except (cupy.cuda.runtime.CUDARuntimeError, MemoryError):
        return False
    return True


@cache
def info() -> dict[str, str]:
    """The name of the device, the versions of its libraries, and environment variables that change its precision."""
    runtime = cupy.cuda.runtime
    name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
    versions = {"runtime": cupy.cuda.get_local_runtime_version(), "driver": runtime.driverGetVersion()}
    cuda = {f"CUDA of the {of}": f"{number // 1000}.{number % 1000 // 10}" for of, number in versions.items()}
    settings = {key: value for key, value in os.environ.items() if key in PRECISION or key.startswith("CUBLAS_EMULATE")}
    return {"device": name, "cupy": cupy.__version__, **cuda, **settings}


def namespace() -> Any:
    """The module of array functions."""
    return cupy


def asarray(a: NDArray[Any]) -> Any:
    """Copy a host array to the device, in C order."""
    if a.nbytes <= STAGED and pins_memory():
        return cupy.array(a, order="C")
    there = cupy.empty(a.shape, a.dtype)
    there.set(a)  # without pinned memory
    return there


def asnumpy(a: Any) -> NDArray[Any]:
    """Copy a device array to host memory, after the computations that it depends on."""
    host: NDArray[Any] = cupy.asnumpy(a)  # C order
    return host


def synchronize() -> None:
    """Wait for the device."""
    cupy.cuda.get_current_stream().synchronize()


def peak() -> int:
    """Peak size of the memory pool in bytes since the last call; frees unused blocks."""
    pool = cupy.get_default_memory_pool()
    most: int = pool.total_bytes()
    pool.free_all_blocks()
    return most

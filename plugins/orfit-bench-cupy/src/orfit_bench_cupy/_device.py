"""The CUDA device, its arrays and its memory. The only module that needs CuPy."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

import cupy
from numpy.typing import NDArray

if not hasattr(cupy.ndarray, "__array_namespace__"):  # CuPy 14 has all of it but the way there, which models go
    cupy.ndarray.__array_namespace__ = lambda self, api_version=None: cupy

STAGED = 64 * 2**20
"""Bytes that are copied to the device through pinned memory, which CuPy's pool keeps, rounded up to a power of two."""
PRECISION = ("CUPY_TF32", "CUPY_ACCELERATORS", "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATION_STRATEGY")
"""Environment variables that change which digits a product has, recorded with every result."""
_chosen = threading.local()


def choose(which: str) -> None:
    """Use the device of this number, "" for the first, in this thread; a choice that the user made already stays."""
    if getattr(_chosen, "done", False):
        return
    number = cupy.cuda.runtime.getDeviceCount()
    if which and not (which.isdecimal() and int(which) < number):
        raise ValueError(f"ORFIT_BENCH_DEVICE={which}: want a number from 0 to {number - 1}")
    if which and cupy.cuda.runtime.getDevice() == 0:
        cupy.cuda.Device(int(which)).use()
    _chosen.done = True


def try_libraries() -> None:
    """A first computation with each library that learning needs, all of which are loaded on first use."""
    a = cupy.eye(2)
    (a + 1).sum().item()  # the driver, and the compiler
    (a @ a).sum().item()  # cuBLAS
    cupy.linalg.qr(a)[1].sum().item()  # cuSOLVER
    pins_memory()


@cache
def pins_memory() -> bool:
    """Whether pinned host memory can be had; CuPy warns at every copy where it cannot."""
    try:
        cupy.cuda.alloc_pinned_memory(1)
    except (cupy.cuda.runtime.CUDARuntimeError, MemoryError):
        return False
    return True


@cache
def info() -> dict[str, str]:
    """The device's name, the versions of what computes on it, and what the environment says of its digits."""
    runtime = cupy.cuda.runtime
    name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
    versions = {"runtime": cupy.cuda.get_local_runtime_version(), "driver": runtime.driverGetVersion()}
    cuda = {f"CUDA of the {of}": f"{number // 1000}.{number % 1000 // 10}" for of, number in versions.items()}
    said = {key: value for key, value in os.environ.items() if key in PRECISION or key.startswith("CUBLAS_EMULATE")}
    return {"device": name, "cupy": cupy.__version__, **cuda, **said}


def namespace() -> Any:
    """The module of array functions."""
    return cupy


def asarray(a: NDArray[Any]) -> Any:
    """A host array copied to the device, C order."""
    if a.nbytes <= STAGED and pins_memory():
        return cupy.array(a, order="C")
    there = cupy.empty(a.shape, a.dtype)
    there.set(a)  # without pinned memory
    return there


def asnumpy(a: Any) -> NDArray[Any]:
    """A device's array copied to the host, when all that it waits for is done."""
    host: NDArray[Any] = cupy.asnumpy(a)  # C order
    return host


def synchronize() -> None:
    """Wait for the device."""
    cupy.cuda.get_current_stream().synchronize()


def peak() -> int:
    """The most bytes that the memory pool held since the last call; gives back what no array uses."""
    pool = cupy.get_default_memory_pool()
    most: int = pool.total_bytes()
    pool.free_all_blocks()
    return most

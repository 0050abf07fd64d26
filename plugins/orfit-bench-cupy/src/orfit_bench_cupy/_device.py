"""The device: which one, its arrays and its memory. The only module that needs CuPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

if not hasattr(cupy.ndarray, "__array_namespace__"):  # CuPy 14 has all of it but the way there, which models go
    cupy.ndarray.__array_namespace__ = lambda self, api_version=None: cupy


class Peak(cupy.cuda.MemoryHook):  # type: ignore[misc]  # CuPy has no types
    """The most bytes that arrays have held at once."""

    name = "orfit_bench peak"

    def __init__(self) -> None:
        self.used = self.most = 0

    def malloc_postprocess(self, **known: Any) -> None:
        """A block was taken from the pool."""
        self.used += known["mem_size"]
        self.most = max(self.most, self.used)

    def free_postprocess(self, **known: Any) -> None:
        """A block went back to it."""
        self.used -= known["mem_size"]


PEAK = Peak()


def choose(which: str, number: int) -> None:
    """Use the device of this number, "" for the first."""
    if which and not (which.isdecimal() and int(which) < number):
        raise ValueError(f"ORFIT_BENCH_DEVICE={which}: want a number from 0 to {number - 1}")
    if which:
        cupy.cuda.Device(int(which)).use()


@cache
def info() -> dict[str, str]:
    """The device's name, and the versions of what computes on it."""
    runtime = cupy.cuda.runtime
    name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
    versions = {"runtime": cupy.cuda.get_local_runtime_version(), "driver": runtime.driverGetVersion()}
    cuda = {f"CUDA of the {of}": f"{number // 1000}.{number % 1000 // 10}" for of, number in versions.items()}
    return {"device": name, "cupy": cupy.__version__, **cuda}


def namespace() -> Any:
    """The module of array functions."""
    return cupy


def asarray(a: NDArray[Any]) -> Any:
    """A host array copied to the device, C order."""
    return cupy.array(a, order="C")


def asnumpy(a: Any) -> NDArray[Any]:
    """A device's array copied to the host, when all that it waits for is done."""
    host: NDArray[Any] = np.ascontiguousarray(cupy.asnumpy(a))
    return host


def synchronize() -> None:
    """Wait for the device."""
    cupy.cuda.get_current_stream().synchronize()


def peak() -> int:
    """The most bytes in use since the last call; the first call begins the count."""
    if not PEAK.used and not PEAK.most:
        PEAK.__enter__()
        PEAK.used = cupy.get_default_memory_pool().used_bytes()
    most, PEAK.most = max(PEAK.most, PEAK.used), PEAK.used
    return most

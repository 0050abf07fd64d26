"""The CuPy backend: a block of rows takes a few products of matrices on the GPU, however many rows it has."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from orfit_bench.host.hooks import hookimpl
from orfit_bench.spec import Backend
from orfit_bench_numba import METHODS  # whose kernels decide what these need not

SPEC_VERSION = (1, 0)
VARIABLE = "ORFIT_BENCH_DEVICE"
NO_DEVICE = 100
"""CUDA's number for it, which CuPy does not name."""
__all__ = ["BACKEND", "METHODS", "SPEC_VERSION", "backends", "kernels"]


def _on_device(name: str) -> Callable[..., Any]:
    """A function of `_device`, which imports CuPy."""
    return lambda *arguments: getattr(importlib.import_module("orfit_bench_cupy._device"), name)(*arguments)


def _probe() -> str:
    """Why nothing can be computed here, and what would help; empty where a first computation succeeds."""
    try:
        cupy = importlib.import_module("cupy")
    except Exception as error:
        return f"cupy is missing ({error}): pip install 'cupy-cuda13x[ctk]', or 12x as nvidia-smi says"
    runtime = cupy.cuda.runtime
    try:
        number = runtime.getDeviceCount()
        if not number:
            return f"cupy {cupy.__version__}: no CUDA device: nvidia-smi lists them"
        _on_device("choose")(os.environ.get(VARIABLE, ""), number)
        (cupy.arange(3) + 1).sum().item()  # the driver, the compiler and the device, all of which it takes
    except runtime.CUDARuntimeError as error:
        if error.status == NO_DEVICE:
            return f"cupy {cupy.__version__}: no CUDA device: nvidia-smi lists them"
        return f"cupy {cupy.__version__}: driver missing or too old ({error}): nvidia-smi says which it is"
    except Exception as error:  # a compiler that is missing shows as many things
        return f"cupy {cupy.__version__} cannot compute: {type(error).__name__}: {error}"
    return ""


BACKEND = Backend(
    "cupy",
    "blocks of rows, on the GPU",
    namespace=_on_device("namespace"),
    asarray=_on_device("asarray"),
    asnumpy=_on_device("asnumpy"),
    probe=_probe,
    synchronize=_on_device("synchronize"),
    memory=_on_device("peak"),
    device="cuda",
    device_info=_on_device("info"),
    complete=True,
)


@hookimpl
def backends() -> tuple[Backend, ...]:
    """CuPy arrays in the memory of one device."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """One module a method, of the method's name."""
    return {("cupy", method): f"orfit_bench_cupy.{method}" for method in METHODS}

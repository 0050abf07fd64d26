"""The CuPy backend: a block of rows takes a few matrix products on the GPU, for any number of rows."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from orfit_bench.plugins.hooks import hookimpl
from orfit_bench.spec import Backend

SPEC_VERSION = (1, 0)
VARIABLE = "ORFIT_BENCH_DEVICE"
METHODS = tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))
"""The methods with a kernel: the modules of this package whose names do not start with an underscore."""
NO_DEVICE = 100
"""CUDA's error code for "no device", for which CuPy has no name."""
__all__ = ["BACKEND", "METHODS", "SPEC_VERSION", "backends", "kernels"]


def _on_device(name: str) -> Callable[..., Any]:
    """A function of `_device`, which is imported on the first call because it imports CuPy."""
    return lambda *arguments: getattr(importlib.import_module("orfit_bench_cupy._device"), name)(*arguments)


def _probe() -> str:
    """Why the backend is unavailable, and how to fix it; empty if a first computation succeeds."""
    which = os.environ.get(VARIABLE, "")
    reason = missing_reason(which)
    if not reason:
        _on_device("choose")(which)  # once per thread
    return reason


@cache
def missing_reason(which: str) -> str:
    """Why a first computation on the device with this number fails, cached for the process; empty if it succeeds."""
    if os.environ.get("CUPY_TF32", "0") not in ("", "0"):
        return "CUPY_TF32 is set, which leaves 10 bits of products in float32, where learners count on 24: unset it"
    try:
        cupy = importlib.import_module("cupy")
    except Warning as error:  # if warnings are errors
        return f"cupy warns at import: {error}"
    except Exception as error:
        return f"cupy is missing ({error}): pip install 'cupy-cuda13x[ctk]', or 12x as nvidia-smi says"
    runtime, version = cupy.cuda.runtime, f"cupy {cupy.__version__}"
    try:
        if not runtime.getDeviceCount():
            return f"{version}: no CUDA device: nvidia-smi lists them"
        _on_device("choose")(which)
        _on_device("try_libraries")()
    except runtime.CUDARuntimeError as error:
        if error.status == NO_DEVICE:
            return f"{version}: no CUDA device: nvidia-smi lists them"
        return f"{version}: driver missing or too old ({error}): nvidia-smi says which it is"
    except Exception as error:  # a missing library can raise many kinds of errors
        return (
            f"{version} cannot compute: {type(error).__name__}: {error}; the libraries that it needs come with "
            "pip install 'cupy-cuda13x[ctk]', or 12x"
        )
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
)


@hookimpl
def backends() -> tuple[Backend, ...]:
    """CuPy arrays in the memory of one device."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """One module for each method, with the same name."""
    return {("cupy", method): f"orfit_bench_cupy.{method}" for method in METHODS}

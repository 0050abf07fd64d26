"""Time and memory on the device of a backend; raises `Missing` if it has no device.

Times are measured by CUDA events: they include all work of the device and the gaps in between, but not the work of the
CPU before the first launch. Memory is the peak of the memory pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .names import Missing


def seconds(backend: Any, run: Callable[[], Any]) -> float:
    """Return the device seconds of the second call of run(); the first compiles and fills the memory pool."""
    cuda = getattr(backend.namespace(), "cuda", None)
    if cuda is None:
        raise Missing(f"{backend.name} has no device")
    run()
    begin, end = cuda.Event(), cuda.Event()
    begin.record()
    run()
    end.record()
    end.synchronize()
    return float(cuda.get_elapsed_time(begin, end)) / 1000


def peak_bytes(backend: Any, run: Callable[[], Any]) -> float:
    """Return the peak of device memory during run(), including earlier allocations."""
    if not callable(backend.memory):
        raise Missing(f"{backend.name} has no device")
    backend.memory()  # resets the peak
    run()
    backend.synchronize()
    return float(backend.memory())

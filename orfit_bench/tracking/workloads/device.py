"""The clock and the memory of a backend's device; `Missing` where it has none.

Seconds are of CUDA's events, which the device itself stamps: all that it did for `act` and every wait between, but not
what the host did before the first launch. Bytes are what arrays held at once, as the memory pool handed them out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .names import Missing


def seconds(backend: Any, act: Callable[[], Any]) -> float:
    """The device's seconds for act(), done for the second time: the first compiles and fills the memory pool."""
    cuda = getattr(backend.namespace(), "cuda", None)
    if cuda is None:
        raise Missing(f"{backend.name} has no device of its own")
    act()
    begin, end = cuda.Event(), cuda.Event()
    begin.record()
    act()
    end.record()
    end.synchronize()
    return float(cuda.get_elapsed_time(begin, end)) / 1000


def peak_bytes(backend: Any, act: Callable[[], Any]) -> float:
    """The most bytes that arrays on the device held at once while act() ran, those before it included."""
    if not callable(backend.memory):
        raise Missing(f"{backend.name} has no device of its own")
    backend.memory()  # begins the count
    act()
    backend.synchronize()
    return float(backend.memory())

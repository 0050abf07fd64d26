"""The clock and the memory of a backend's device: None where it cannot compute here, or has no device.

Seconds are of CUDA's events, which the device itself stamps: all that it did for `act` and every wait between, but not
what the host did before the first launch. Bytes are what arrays held at once, as the memory pool handed them out.
"""

from collections.abc import Callable
from typing import Any

from orfit_bench import backends
from orfit_bench.spec import Backend


def seconds(act: Callable[[], Any], backend: str = "cupy") -> float | None:
    """The device's seconds for act(), done for the second time: the first compiles and fills the memory pool."""
    found = _there(backend)
    cuda = getattr(found.namespace(), "cuda", None) if found else None
    if cuda is None:
        return None
    act()
    begin, end = cuda.Event(), cuda.Event()
    begin.record()
    act()
    end.record()
    end.synchronize()
    return float(cuda.get_elapsed_time(begin, end)) / 1000


def peak_bytes(act: Callable[[], Any], backend: str = "cupy") -> int | None:
    """The most bytes that arrays on the device held at once while act() ran, those before it included."""
    found = _there(backend)
    if found is None or found.memory is None:
        return None
    found.memory()  # begins the count
    act()
    found.synchronize()
    return found.memory()


def _there(name: str) -> Backend | None:
    found = backends().get(name)
    return found if found and found.available else None

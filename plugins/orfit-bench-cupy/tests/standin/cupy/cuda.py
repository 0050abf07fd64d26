"""The device, its stream and its clock, as far as the plugin uses them."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from ._counts import COUNTS


class CUDARuntimeError(RuntimeError):
    """An error of the driver."""

    status = 100


runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError,
    getDeviceCount=lambda: 1,
    getDevice=lambda: 0,
    getDeviceProperties=lambda number: {"name": b"NumPy on the host"},
    driverGetVersion=lambda: 13000,
    memGetInfo=lambda: (2**33, 2**33),
)


def get_local_runtime_version() -> int:
    """The version of the libraries that CuPy loads."""
    return 13000


class Device:
    """The only device."""

    def __init__(self, number: int | None = None) -> None:
        self.id = number or 0

    def use(self) -> None:
        """Select this device."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        """Select the previous device."""

    def synchronize(self) -> None:
        """Wait for all work."""
        COUNTS.waits += 1


class Stream(Device):
    """The stream of all work."""


def get_current_stream() -> Stream:
    """The stream that all work uses."""
    return Stream()


class Event:
    """A moment in the stream."""

    def __init__(self) -> None:
        self.at = 0.0

    def record(self, stream: Any = None) -> None:
        """Record the time."""
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        """Wait until the event has occurred."""


def get_elapsed_time(begin: Event, end: Event) -> float:
    """Milliseconds between two events."""
    return (end.at - begin.at) * 1e3


def alloc_pinned_memory(size: int) -> bytearray:
    """A staging buffer in host memory."""
    return bytearray(size)


PINNED = SimpleNamespace(free_all_blocks=lambda: None, n_free_blocks=lambda: 0)

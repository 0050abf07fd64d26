"""A backend: an array type, a device, and kernels that compute on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec.probing import reason_of

Array = Any
"""An array of the backend: C order, one dtype."""
REFERENCE = "numpy"
"""The backend with which the others are compared."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A set of kernels on some hardware. Heavy libraries are imported when a function is called for the first time."""

    name: str
    summary: str
    namespace: Callable[[], Any]
    """The array module: functions of the Python array API standard (2024.12), of which learners call those listed in
    docs/conformance.md. Its arrays can be written to."""
    asarray: Callable[[NDArray[Any]], Array] = np.array
    """Copy a host array to the backend, in C order."""
    asnumpy: Callable[[Array], NDArray[Any]] = np.array
    """Copy an array of the backend to host memory."""
    probe: Callable[[], str] = str
    """Why the backend is not available on this machine, with the remedy; empty if it is."""
    synchronize: Callable[[], None] = lambda: None
    """Wait until the device has finished all work."""
    memory: Callable[[], int] | None = None
    """Peak bytes of device memory since the last call; None without a device."""
    device: str = ""
    """The device of its arrays, "cpu" or "cuda" as in DLPack, which the kit checks; empty if not declared."""
    device_info: Callable[[], Mapping[str, str]] = dict
    """Name, driver and runtime of the device, recorded in results and states."""
    compiled: Callable[[Any], Sequence[str]] | None = None
    """The signatures of a kernel module that have been compiled so far; None for a backend without a compiler."""
    compile: Callable[[Any, str], None] | None = None
    """Compile a kernel module for a dtype and cache it for later processes; None if nothing is cached."""
    load: Callable[[Any, str], None] | None = None
    """Load the cached code of a kernel module for a dtype without compiling anything; None if nothing is cached."""
    complete: bool = False
    """Whether it has kernels for all methods of the catalogue with all their capabilities except complex numbers."""

    @property
    def described(self) -> dict[str, str]:
        """The result of `device_info`, or how it failed, since an error of a plugin must not end the caller."""
        try:
            return {str(name): str(value) for name, value in self.device_info().items()}
        except Exception as error:
            return {"unknown": f"its device_info failed: {type(error).__name__}: {error}"}

    @property
    def reason(self) -> str:
        """Why it is not available; empty if it is."""
        return reason_of(self.probe)

    @property
    def available(self) -> bool:
        """Whether it can compute on this machine."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Absent:
    """Registered by a plugin instead of a kernel module that it does not have, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Override:
    """A kernel module with which a plugin replaces the kernel of another plugin for the same backend and method.

    Without it, a plugin that claims a pair that already has a kernel is broken. The kernels of the reference backend
    cannot be replaced: the others are compared with them.

    Parameters
    ----------
    module : str or module
        The name of the kernel module, or the module.

    Examples
    --------
    >>> kernels = {("numba", "rls"): Override("my_package.rls")}
    """

    module: str | Any

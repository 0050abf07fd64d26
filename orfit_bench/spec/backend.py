"""A backend: an array type, the place it computes, and kernels that know arrays only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of the backend: C order, one dtype."""
REFERENCE = "numpy"
"""The backend that the others must agree with."""


def _here() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Backend:
    """A set of kernels on some hardware. The functions import what is heavy when first called."""

    name: str
    summary: str
    namespace: Callable[[], Any]
    """The array module: ndarray, empty, zeros, eye, ascontiguousarray, concatenate, max, min, isfinite; for subspaces
    also copysign, diagonal and linalg.qr."""
    asarray: Callable[[NDArray[Any]], Array] = np.array
    """A host array copied to the backend, C order."""
    asnumpy: Callable[[Array], NDArray[Any]] = np.array
    """A backend's array copied to the host."""
    probe: Callable[[], str] = _here
    """Why the backend cannot compute here, with the command that would help; empty when it can."""
    synchronize: Callable[[], None] = lambda: None
    """Wait until all work is done."""
    memory: Callable[[], int] | None = None
    """The most bytes of the device that were taken since the last call; None without a device."""
    device: str = ""
    """What its arrays lie on, "cpu" or "cuda", as DLPack knows it; empty claims nothing. The kit looks."""
    device_info: Callable[[], Mapping[str, str]] = dict
    """What device it computes on and by what, its name, driver and runtime, for the record of results and states."""
    compiled: Callable[[Any], Sequence[str]] | None = None
    """The signatures that a kernel module has compiled so far; None for a backend that compiles nothing."""
    compile: Callable[[Any, str], None] | None = None
    """Compile all of a kernel module for a dtype and keep it for later processes; None where nothing is kept."""
    complete: bool = False
    """Whether it promises every method of the catalogue with all that each allows; then the kit wants all of it."""

    @property
    def described(self) -> dict[str, str]:
        """What `device_info` says, or how it failed: a plugin's code must not end what asks."""
        try:
            return {str(name): str(value) for name, value in self.device_info().items()}
        except Exception as error:
            return {"unknown": f"its device_info failed: {type(error).__name__}: {error}"}

    @property
    def reason(self) -> str:
        """Why it is not available; empty when it is."""
        try:
            return self.probe()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a probe is a plugin's code; SystemExit must not end the host
            return f"its probe failed: {type(error).__name__}: {error}"

    @property
    def available(self) -> bool:
        """Whether it can compute here."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Absent:
    """What a plugin registers instead of a kernel module that it does not have, with the reason."""

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

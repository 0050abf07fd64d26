"""A stand-in for CuPy that computes on the host, for tests on machines without a device.

If the folder above this package is on PYTHONPATH, `import cupy` imports it. It is as strict as a device: its arrays are
not NumPy arrays, can be converted only by `get`, `asnumpy` and DLPack, and do not accept arrays of the host; calls are
checked against the signatures of the installed CuPy; factorizations return Fortran order and never raise; the last bit
of a product depends on the shapes; subnormal float32 numbers are flushed to zero. `COUNTS` has the launches, uploads
and waits that CuPy would make, and the memory pool the bytes of all arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _functions, cuda, linalg
from ._array import ndarray
from ._counts import COUNTS
from ._kernels import ElementwiseKernel
from ._memory import POOL
from ._modules import RawModule
from ._real import REAL

__version__ = "0+numpy"  # xarray reads it
__all__ = ["COUNTS", "ElementwiseKernel", "RawModule", "cuda", "get_default_memory_pool", "linalg", "ndarray"]


def get_default_memory_pool() -> Any:
    """The pool that counts the bytes of all arrays."""
    return POOL


def get_default_pinned_memory_pool() -> Any:
    """The pool of staging buffers in host memory."""
    return cuda.PINNED


def show_config() -> None:
    """Print what this package is."""
    print(__doc__)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    real = getattr(REAL, name)  # AttributeError if CuPy has none
    if found := _functions.created(name, real):
        globals()[name] = found
        return found
    return getattr(np, name, real)  # a number, a dtype or a class

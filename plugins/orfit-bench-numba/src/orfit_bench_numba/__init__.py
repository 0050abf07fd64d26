"""The Numba backend: kernels as machine code for the CPU, compiled on first use and kept on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.host.hooks import hookimpl
from orfit_bench.spec import Backend

SPEC_VERSION = (1, 0)
METHODS = ("implicit_krasulina", "incremental_pca", "krasulina", "lms", "nlms", "oja", "one_step_sgd", "sanger")

__all__ = ["BACKEND", "METHODS", "SPEC_VERSION", "backends", "kernels"]


def _signatures(kernel: Any) -> list[str]:
    """What the kernel's functions have compiled in this process."""
    from orfit_bench_numba._compile import Compiled

    scopes = [vars(kernel)] + [f.__globals__ for f in vars(kernel).values() if hasattr(f, "__globals__")]
    found = {id(c): c for scope in scopes for c in scope.values() if isinstance(c, Compiled)}
    return [signature for c in found.values() for signature in c.signatures]


def _aligned(a: NDArray[Any]) -> NDArray[Any]:
    """A copy, C order, that begins a line of the cache: from NumPy's 16 bytes kernels took up to 1.7 times as long."""
    room = np.empty(a.nbytes + 64, np.uint8)
    begin = -room.ctypes.data % 64
    copy = room[begin : begin + a.nbytes].view(a.dtype).reshape(a.shape)
    copy[...] = a
    return copy


BACKEND = Backend(
    "numba",
    "machine code, on the CPU",
    namespace=lambda: np,
    asarray=_aligned,
    device="cpu",
    compiled=_signatures,
)


@hookimpl
def backends() -> tuple[Backend, ...]:
    """NumPy arrays in host memory."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """One module a method, of the method's name."""
    return {("numba", method): f"orfit_bench_numba.{method}" for method in METHODS}

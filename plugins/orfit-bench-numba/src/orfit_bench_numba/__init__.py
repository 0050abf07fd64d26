"""The Numba backend: kernels as machine code for the CPU, compiled on first use and cached on disk."""

from __future__ import annotations

import pkgutil
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.plugins.hooks import hookimpl
from orfit_bench.spec import Backend

SPEC_VERSION = (1, 0)
METHODS = tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))
"""The methods with a kernel: the modules of this package whose names do not start with an underscore."""

__all__ = ["BACKEND", "METHODS", "SPEC_VERSION", "backends", "kernels"]


def _functions(kernel: Any) -> list[Any]:
    """The compiled functions of a kernel, and of the modules of its package and of this package that it uses.

    Functions of this package are `Compiled`; functions of other authors can also be made by `numba.njit`.
    """
    from numba.core.dispatcher import Dispatcher

    from orfit_bench_numba._compile import Compiled

    own = str(getattr(kernel, "__name__", __name__))
    packages = {__name__, own.partition(".")[0]}
    seen, found = {own}, {}
    for module in (waiting := [kernel]):
        for value in vars(module).values():
            name = str(getattr(value, "__module__", None) or "")
            is_here = name.partition(".")[0] == __name__  # its helpers are compiled with the functions that call them
            if isinstance(value, Compiled) or (isinstance(value, Dispatcher) and not is_here):
                found[id(value)] = value
            if name.partition(".")[0] in packages and name in sys.modules and name not in seen:
                seen.add(name)
                waiting.append(sys.modules[name])
    return list(found.values())


def _signatures(kernel: Any) -> list[str]:
    """The signatures compiled in this process for the functions of a kernel."""
    return [str(signature) for function in _functions(kernel) for signature in function.signatures]


def _compile_all(kernel: Any, dtype: str) -> None:
    """Compile the functions of a kernel for a dtype, and keep them on disk. Raises OSError if they cannot be kept."""
    from orfit_bench_numba._compile import FLAGS

    if not FLAGS["cache"]:
        raise OSError("no folder for machine code can be written: set NUMBA_CACHE_DIR to one that can")
    for function in _functions_for(kernel, dtype):
        function.compile(np.dtype(dtype))


def _load_all(kernel: Any, dtype: str) -> None:
    for function in _functions_for(kernel, dtype):
        function.load(np.dtype(dtype))


def _functions_for(kernel: Any, dtype: str) -> list[Any]:
    """The functions of a kernel to compile for a dtype; other functions are compiled when the first rows arrive."""
    from orfit_bench_numba._compile import Compiled

    is_complex = np.dtype(dtype).kind == "c"
    return [f for f in _functions(kernel) if isinstance(f, Compiled) and f.is_complex == is_complex]


def _probe() -> str:
    """Why the backend is unavailable: an invalid number of threads would raise in the middle of a chunk."""
    from orfit_bench.kernels.threads import allowed_threads

    try:
        allowed_threads()
    except ValueError as error:
        return str(error)
    return ""


def _copy_aligned(a: NDArray[Any]) -> NDArray[Any]:
    """A C-order copy aligned to cache lines (with NumPy's 16 bytes, kernels took up to 1.7 times as long)."""
    room = np.empty(a.nbytes + 64, np.uint8)
    begin = -room.ctypes.data % 64
    copy = room[begin : begin + a.nbytes].view(a.dtype).reshape(a.shape)
    copy[...] = a
    return copy


BACKEND = Backend(
    "numba",
    "machine code, on the CPU",
    namespace=lambda: np,
    asarray=_copy_aligned,
    probe=_probe,
    device="cpu",
    compiled=_signatures,
    compile=_compile_all,
    load=_load_all,
    complete=True,
)


@hookimpl
def backends() -> tuple[Backend, ...]:
    """NumPy arrays in host memory."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """One module for each method, with the same name."""
    return {("numba", method): f"orfit_bench_numba.{method}" for method in METHODS}

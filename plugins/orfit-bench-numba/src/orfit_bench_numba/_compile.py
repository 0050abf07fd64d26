"""Compile kernels to machine code: one version for each dtype, on first use, cached on disk for later processes.

Contract of every compiled function: arrays are C-contiguous and have the dtype of the first argument; arrays of rows
are never written to; nothing is allocated inside the loop over rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


def _can_cache() -> bool:
    """Whether there is a folder for machine code: Numba refuses to compile at all where there is none."""
    try:
        numba.njit(cache=True)(_can_cache)
    except RuntimeError:
        return False
    return True


FLAGS: dict[str, Any] = {
    "cache": _can_cache(),  # compiled once a machine, not once a process
    "nogil": True,  # other threads of the user go on
    "error_model": "numpy",  # x / 0 is inf or NaN, as in NumPy, and no branch in the loop
    "fastmath": {"contract"},  # a * b + c with one rounding; nothing that changes with the vector's width
}
KINDS = {"W": (2, False), "R": (2, True), "w": (1, False), "r": (1, True), "C": (3, True)}
"""Arrays: their dimensions, and whether they are only read. f is a number of the dtype, i an integer, b yes or no."""


PATIENCE = 0.5
"""Seconds after which a user wants to know what is waited for; what is on disk is loaded in a tenth of it."""


class Compiled:
    """A function with a machine-code version a dtype, which its first argument decides."""

    def __init__(self, function: Callable[..., Any], kinds: str) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._function, self._kinds = function, kinds.split()
        self._versions: dict[Any, Any] = {}

    def __call__(self, first: Any, *others: Any) -> Any:
        version = self._versions.get(first.dtype)
        return (version or self.compile(first.dtype))(first, *others)

    def compile(self, dtype: Any) -> Any:
        """The version for a dtype. One that is not on disk yet takes seconds, which is said meanwhile."""
        number = numba.from_dtype(np.dtype(dtype))
        text = f"compiling {self._function.__module__} for {dtype}, once on this machine (orfit-bench warm: all)"
        patience = Timer(PATIENCE, print, (text,), {"file": sys.stderr, "flush": True})
        patience.daemon = True
        if sys.stderr and sys.stderr.isatty():
            patience.start()
        try:
            version = numba.njit(**FLAGS)(self._function)
            stamp_package(version)
            version.compile(self._signature(number))
            version.disable_compile()
            self._versions[dtype] = version
        finally:
            patience.cancel()
        return version

    @property
    def signatures(self) -> list[str]:
        """What was compiled in this process."""
        return [f"{self.__name__}{signature}" for v in self._versions.values() for signature in v.signatures]

    def _signature(self, number: Any) -> tuple[Any, ...]:
        scalars = {"f": number, "i": numba.int64, "b": numba.boolean}
        return tuple(
            scalars.get(kind) or numba.types.Array(number, KINDS[kind][0], "C", readonly=KINDS[kind][1])
            for kind in self._kinds
        )


def stamp_package(version: Any) -> None:
    """Have what is on disk renewed when any file of this package changes: Numba looks at the function's own alone."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    if hasattr(version._cache, "_cache_file"):  # private to Numba, which has no public way
        version._cache._cache_file._source_stamp = [(f.name, f.stat().st_mtime, f.stat().st_size) for f in files]


def compiled(kinds: str) -> Callable[[Callable[..., Any]], Compiled]:
    """Compile a function of arguments of these kinds: see KINDS."""
    return lambda function: Compiled(function, kinds)


def inline(function: Function) -> Function:
    """Compile a helper together with the compiled functions that call it."""
    helper: Function = numba.njit(**FLAGS)(function)
    return helper


def inline_reordered(function: Function) -> Function:
    """Compile a helper together with its callers, with sums that may be reordered and so vectorized.

    In order, each addition waits for the one before: four sums in the loop of `_delayed_rank1` took twice the time.
    """
    helper: Function = numba.njit(**{**FLAGS, "fastmath": {"contract", "reassoc"}})(function)
    return helper

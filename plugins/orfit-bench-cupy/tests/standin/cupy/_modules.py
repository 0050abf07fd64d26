"""CUDA source compiled as C++: a block is one thread, which takes the entries of each loop in turn.

On x86, float32 numbers below the normal ones are zero in it, since CuPy compiles with -ftz=true.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ._array import ndarray
from ._counts import COUNTS

COMPILER = shutil.which("g++") or shutil.which("clang++")
"""The host compiler; None where there is none."""
PRELUDE = """
#include <cmath>
#include <vector>
using std::fabs; using std::isfinite; using std::isnan; using std::sqrt;
static long long block_number;
static double* block_memory;
extern "C" void set_block(long long number, double* memory) { block_number = number; block_memory = memory; }
#ifdef __SSE__
#include <xmmintrin.h>
extern "C" unsigned get_mode() { return _mm_getcsr(); }
extern "C" void set_mode(unsigned mode) { _mm_setcsr(mode); }
#else
extern "C" unsigned get_mode() { return 0; }
extern "C" void set_mode(unsigned) {}
#endif
#define ENTRY extern "C" void
#define SHARED(memory) REAL* memory = (REAL*)block_memory
#define BLOCK block_number
#define MEMBER block_number
#define MEMORY(memory, room) REAL* memory = (REAL*)block_memory
#define THREAD 0
#define THREADS 1
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define FIRST_THREAD
#define BARRIER
#define DEVICE static
"""
FLUSH = 0x8040
"""The bits of the mode in which numbers below the normal ones count as zero, as results and as arguments."""
TYPES = {"int32": ctypes.c_int, "int64": ctypes.c_longlong, "float32": ctypes.c_float, "float64": ctypes.c_double}
MAX_THREADS, MAX_SHARED_MEMORY = 1024, 48 * 1024


@cache
def library(code: str, definitions: tuple[str, ...]) -> ctypes.CDLL:
    """The source as a shared library, without fused multiplications."""
    if COMPILER is None:
        raise RuntimeError("the stand-in compiles CUDA source as C++: no g++ or clang++ is on PATH")
    folder = Path(tempfile.mkdtemp(prefix="cupy-standin-"))
    try:
        (folder / "source.cpp").write_text(PRELUDE + code)
        command = [COMPILER, "-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC"]
        subprocess.run(
            [*command, *definitions, "-o", "library.so", "source.cpp"], cwd=folder, check=True, capture_output=True
        )
        return ctypes.CDLL(str(folder / "library.so"))
    finally:
        shutil.rmtree(folder)


class RawModule:
    """Source in CUDA C++, compiled when a function of it is first asked for."""

    def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
        self._code, self._definitions = code, tuple(option for option in options if option.startswith("-D"))

    def get_function(self, name: str) -> Function:
        """A kernel by its name."""
        mode = FLUSH if "-DREAL=float" in self._definitions else 0
        return Function(library(self._code, self._definitions), name, mode)


class Function:
    """A kernel, launched as a loop over its blocks, and over the members of each."""

    def __init__(self, compiled: ctypes.CDLL, name: str, mode: int) -> None:
        self._library, self._kernel, self._mode = compiled, compiled[name], mode
        self.max_dynamic_shared_size_bytes = MAX_SHARED_MEMORY

    def __call__(self, grid: tuple[int], block: tuple[int, ...], args: tuple[Any, ...], *, shared_mem: int = 0) -> None:
        if not (0 < grid[0] < 2**31 and 0 < math.prod(block) <= MAX_THREADS):
            raise ValueError(f"CUDA_ERROR_INVALID_VALUE: a grid of {grid} blocks of {block} threads")
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise ValueError(f"CUDA_ERROR_INVALID_VALUE: {shared_mem} bytes of shared memory")
        COUNTS.launches += 1
        given = [_argument(a) for a in args]
        memory = np.full(-(-shared_mem // 8), np.nan)  # what a block finds there is of no use
        before = self._library.get_mode()
        self._library.set_mode(before | self._mode)
        try:
            for number in range(grid[0] * math.prod(block[1:])):
                self._library.set_block(ctypes.c_longlong(number), ctypes.c_void_p(memory.ctypes.data))
                self._kernel(*given)
        finally:
            self._library.set_mode(before)


def _argument(a: Any) -> Any:
    """A pointer to an array on the device, or a number of NumPy as its C type."""
    if isinstance(a, ndarray):
        if not a._a.flags.c_contiguous:
            raise ValueError("the kernel reads arrays in C order")
        return ctypes.c_void_p(a._a.ctypes.data)
    if isinstance(a, np.generic):
        return TYPES[a.dtype.name](a.item())
    raise TypeError(f"got {type(a).__name__}, want an array on the device or a number of NumPy")

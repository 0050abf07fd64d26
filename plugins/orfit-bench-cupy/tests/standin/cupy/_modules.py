"""CUDA source compiled as C++: a block, or a member of a fleet, is one thread, or `Function.threads` of them.

On x86, subnormal float32 numbers are zero in it, since CuPy compiles with -ftz=true.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from ._array import ndarray
from ._counts import COUNTS

COMPILER = shutil.which("g++") or shutil.which("clang++")
"""The host compiler; None if there is none."""
PRELUDE = """
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
using std::fabs; using std::frexp; using std::isfinite; using std::isnan; using std::ldexp; using std::sqrt;
static thread_local long long block_number;
static thread_local double* block_memory;
static thread_local int thread_number;
static int threads_of_block = 1;
static std::mutex door;
static std::condition_variable opened;
static int waiting;
static long long times_opened;
static bool parted;
extern "C" void set_threads(int number) { threads_of_block = number; parted = false; waiting = 0; }
extern "C" int have_parted() { return parted; }
// Each time another thread continues first, so that a number that is read too early is an old one.
static inline void part(unsigned long long turn) {
    if (threads_of_block == 1) return;
    turn = (turn + 1) * 0x9E3779B97F4A7C15ULL;
    const unsigned long long place = (thread_number + (turn >> 40)) % threads_of_block;
    std::this_thread::sleep_for(std::chrono::microseconds(20 * place));
}
extern "C" void set_block(long long number, double* memory, int thread) {
    block_number = number; block_memory = memory; thread_number = thread;
    part(number);
}
static inline void wait_for_block() {
    if (threads_of_block == 1) return;
    {
        std::unique_lock<std::mutex> lock(door);
        if (parted) return;
        const long long now = times_opened;
        if (++waiting == threads_of_block) {
            waiting = 0;
            times_opened++;
            opened.notify_all();
        } else {
            const auto others_came = [now] { return times_opened > now; };
            if (!opened.wait_for(lock, std::chrono::seconds(2), others_came)) parted = true;
        }
    }
    part(times_opened);
}
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
#define THREAD thread_number
#define THREADS threads_of_block
#define EACH(i, n) for (int i = THREAD; i < (n); i += THREADS)
#define FIRST_THREAD if (THREAD == 0)
#define BARRIER wait_for_block()
#define DEVICE static
"""
FLUSH = 0x8040
"""The bits of the mode in which subnormal numbers count as zero, as results and as arguments."""
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
        command = [COMPILER, "-std=c++17", "-O2", "-ffp-contract=off", "-pthread", "-Wall", "-Werror", "-shared"]
        subprocess.run(
            [*command, "-fPIC", *definitions, "-o", "library.so", "source.cpp"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        return ctypes.CDLL(str(folder / "library.so"))
    finally:
        shutil.rmtree(folder)


class RawModule:
    """Source in CUDA C++, compiled when one of its functions is first requested."""

    def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
        self._code, self._definitions = code, tuple(option for option in options if option.startswith("-D"))

    def get_function(self, name: str) -> Function:
        """The kernel with this name."""
        mode = FLUSH if "-DREAL=float" in self._definitions else 0
        return Function(library(self._code, self._definitions), name, mode)


class Function:
    """A kernel, launched as a loop over its blocks, and over the members of each."""

    threads = 1
    """Threads that process the entries of each loop in turn; with several, each block has separate memory."""

    def __init__(self, compiled: ctypes.CDLL, name: str, mode: int) -> None:
        self._library, self._kernel, self._mode = compiled, compiled[name], mode
        self.max_dynamic_shared_size_bytes = MAX_SHARED_MEMORY

    def __call__(self, grid: tuple[int], block: tuple[int, ...], args: tuple[Any, ...], *, shared_mem: int = 0) -> None:
        if not (0 < grid[0] < 2**31 and 0 < math.prod(block) <= MAX_THREADS):
            raise ValueError(f"CUDA_ERROR_INVALID_VALUE: a grid of {grid} blocks of {block} threads")
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise ValueError(f"CUDA_ERROR_INVALID_VALUE: {shared_mem} bytes of shared memory")
        COUNTS.launches += 1
        given, blocks = [_argument(a) for a in args], range(grid[0] * math.prod(block[1:]))
        room = -(-shared_mem // 8)
        memory = np.full((len(blocks) if self.threads > 1 else 1, room), np.nan)  # contents of no use to a block
        self._library.set_threads(self.threads)
        others = [Thread(target=self._run, args=(i, blocks, given, memory)) for i in range(1, self.threads)]
        for thread in others:
            thread.start()
        self._run(0, blocks, given, memory)
        for thread in others:
            thread.join()
        if self._library.have_parted():
            raise RuntimeError("the threads of a block take different branches: some wait for others that never come")

    def _run(self, thread: int, blocks: range, given: list[Any], memory: Any) -> None:
        """Run one thread of each block."""
        before = self._library.get_mode()
        self._library.set_mode(before | self._mode)
        try:
            for number in blocks:
                room = memory[number % len(memory)]
                self._library.set_block(ctypes.c_longlong(number), ctypes.c_void_p(room.ctypes.data), thread)
                self._kernel(*given)
        finally:
            self._library.set_mode(before)


def _argument(a: Any) -> Any:
    """A pointer to an array on the device, or a NumPy number as its C type."""
    if isinstance(a, ndarray):
        if not a._a.flags.c_contiguous:
            raise ValueError("the kernel reads arrays in C order")
        return ctypes.c_void_p(a._a.ctypes.data)
    if isinstance(a, np.generic):
        return TYPES[a.dtype.name](a.item())
    raise TypeError(f"got {type(a).__name__}, want an array on the device or a number of NumPy")

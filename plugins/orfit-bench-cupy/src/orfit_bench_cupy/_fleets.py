"""Fleets: one launch of a CUDA kernel for all rows of a call, with some threads for each member.

`fleets.cu` contains code shared by the kernels; each kernel is in a separate file. The state of a fleet is on the
device. A call copies to the device its rows, unless they are already there, and the values that differ between members.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from orfit_bench.spec.arrays import take, to_host
from orfit_bench.spec.kernel_arguments import FleetParams
from orfit_bench_cupy._transfers import Array, Host

SOURCES = {
    "learn_covariances": "fleet_covariances.cu",
    "learn_gradients": "fleet_gradients.cu",
    "learn_information": "fleet_ridge.cu",
    "learn_filters": "fleet_filters.cu",
    "learn_subspaces": "fleet_subspaces.cu",
    "learn_windows": "fleet_windows.cu",
}
"""The kernels and their files."""
LANES = 32
"""Number of partial sums of a product in `fleets.cu`."""
SHARED_MEMORY = 48 * 1024
"""Bytes of shared memory that a block has by default on every device; larger members learn on the host."""
LARGE_MEMBER = 8 * 1024
"""Bytes of shared memory per member; if members are larger, fewer than about 30 fit on a multiprocessor at a time."""
MIN_THREADS, MAX_THREADS = 8, 256
"""Smallest and largest number of threads of a member."""
WARP = 32
"""Number of threads that can be synchronized without the rest of their block."""
THREADS_OF_SHARED_BLOCK = 128
"""Number of threads of a block with several members."""
NULL = np.int64(0)
"""A null pointer."""
FLAGS = ("--std=c++17", "--fmad=false")
"""Fused multiply-add is disabled, so that a device computes the same bits as a host compiler."""


def source(kernel: str) -> str:
    """The source code of a kernel, after the shared code."""
    folder = files(__package__)
    return "\n".join(folder.joinpath(name).read_text() for name in ("fleets.cu", SOURCES[kernel]))


def has_room(numbers: int, X: Array) -> bool:
    """Whether this number of values of the dtype of X fits into shared memory."""
    return bool(numbers * X.dtype.itemsize <= SHARED_MEMORY)


@cache
def _function(xp: Any, name: str, dtype: np.dtype[Any]) -> Any:
    real = "double" if dtype.itemsize == 8 else "float"
    return xp.RawModule(code=source(name), options=(*FLAGS, f"-DREAL={real}")).get_function(name)


def threads_of(d: int, room: int) -> tuple[int, int]:
    """The number of threads of a member with d features, and of members of a block; each member takes `room` bytes.

    The number of threads is a power of two, so that the threads of a member never belong to two warps. On an H200, one
    thread per two features was the fastest, and one per feature if few members fit on a multiprocessor.
    """
    for_each = 1 << (d - 1).bit_length()
    threads = min(max(for_each if room > LARGE_MEMBER else for_each // 2, MIN_THREADS), MAX_THREADS)
    return threads, max(1, min(THREADS_OF_SHARED_BLOCK // threads, SHARED_MEMORY // room)) if threads <= WARP else 1


class Call:
    """The rows of a call on the device, and the common arguments of kernels: bounds of members, predictions, counts.

    places: the members in p.members that learn, starting at row learned[j]; by default all, starting at their first
    row.
    """

    def __init__(
        self,
        X: Array,
        Y: Array,
        p: FleetParams,
        out: Array | None,
        places: Host | slice = slice(None),
        learned: Host | int = 0,
    ) -> None:
        self.xp, self.dtype = X.__array_namespace__(), np.dtype(X.dtype)
        self.places, self._p = places, p
        rows_each = None if np.any(learned) else p.rows_each
        if rows_each is None:
            starts, ends = (p.starts[:-1] + learned)[places], p.starts[1:][places]
            self._counts, bounds = ends - starts, self.xp.asarray(np.stack([starts, ends], axis=1))
        else:
            self._counts, bounds = np.broadcast_to(np.int64(rows_each), p.size), NULL
        self.everyone = len(self._counts) == p.size
        self.d, self.r = X.shape[1], Y.shape[1]
        self._rows = X, Y, bounds, np.int64(rows_each or 0), np.int32(len(self._counts))
        self._learned = self.xp.empty(len(self._counts), dtype="int64")
        self._degraded: Array | None = None
        self._happened = self.xp.zeros(2, dtype="int32")
        self._noted = self._learned, self._happened, X if out is None else out, np.int32(out is not None)

    @property
    def members(self) -> Host:
        """The members that learn (m,)."""
        found: Host = self._p.members[self.places]
        return found

    def gather(self, field: Array) -> Array:
        """The entries of the members in a field (N, ...), for the kernel to change: the field itself if all learn."""
        return field if self.everyone else take(field, self.members)

    def scatter(self, field: Array, part: Array) -> None:
        """Assign the entries that the kernel has changed to the field."""
        if part is not field:
            field[... if self.everyone else self.xp.asarray(self.members)] = part

    def values(self, a: Host, dtype: type[np.generic] | None = None) -> tuple[Array, Any]:
        """The two arguments of a kernel for numbers in host memory, one for each member or row.

        These are an array on the device and 0, or a null pointer and the number that all share. The default dtype is
        that of the rows.
        """
        to = dtype or self.dtype.type
        return (NULL, to(a[0])) if are_alike(a) else (self.place(a, to), to(0))

    def place(self, a: Host, dtype: type[np.generic] | None = None) -> Array:
        """Copy numbers from the host to the device; the default dtype is that of the rows."""
        return self.xp.asarray(np.ascontiguousarray(a, dtype or self.dtype))

    def launch(self, name: str, fields: tuple[Any, ...], more: tuple[Any, ...], room: int, *rest: Any) -> Host:
        """Launch a kernel with `room` numbers of shared memory for each member; returns how many rows each learned.

        fields are its first arguments, `more` come after the rows, and `rest` after the results. The host waits once,
        unless a member stopped.
        """
        function, memory = _function(self.xp, name, self.dtype), room * self.dtype.itemsize
        threads, members = threads_of(self.d, memory)
        sizes = np.int32(room), np.int32(self.d), np.int32(self.r)
        given = (*fields, *self._rows, *sizes, *more, *self._noted, *rest)
        blocks = -(-len(self._counts) // members)
        function((blocks,), (threads, members), given, shared_mem=members * memory)
        stopped, self._lost_digits = to_host(self._happened).tolist()
        learned: Host = to_host(self._learned) if stopped else self._counts
        return learned

    @property
    def degraded(self) -> Array:
        """The array (m,) in which a kernel records for each member whether it lost digits."""
        if self._degraded is None:
            self._degraded = self.xp.empty(len(self._counts), dtype="int64")
        return self._degraded

    def members_that_lost_digits(self) -> Host:
        """The members that lost digits; call this after the launch."""
        if not self._lost_digits:
            return np.empty(0, np.int64)
        lost: Host = self.members[to_host(self._degraded) > 0]
        return lost


def are_alike(values: Host) -> bool:
    """Whether all numbers are equal; a view of one number, with strides of zero, is not read."""
    return not any(values.strides) or bool(values[0] == values[-1] and (values == values[0]).all())

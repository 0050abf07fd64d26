"""Fleets: one launch of a kernel in CUDA for all rows of a call, with a block of threads for each member.

`fleets.cu` has what the kernels share; each is in a file of its own.

The state of a fleet lies on the device. A call moves its rows there, unless they lie there already, and two or three
numbers for each member.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from orfit_bench.spec.arrays import take, to_host
from orfit_bench_cupy._transfers import Array, Host

SOURCES = {
    "learn_covariances": "fleet_covariances.cu",
    "learn_gradients": "fleet_gradients.cu",
    "learn_information": "fleet_ridge.cu",
    "learn_filters": "fleet_filters.cu",
    "learn_subspaces": "fleet_subspaces.cu",
    "learn_windows": "fleet_windows.cu",
}
"""The kernels, and the files that they are in."""
MANY = 16_384
"""Members from which on numbers that are alike are filled in on the device: a launch then takes less than a copy."""
LANES = 32
"""Partial sums of a product in `fleets.cu`."""
SHARED_MEMORY = 48 * 1024
"""Bytes of shared memory that a block has on every device without asking for more; wider members learn on the host."""
MAX_THREADS = 256
FLAGS = ("--std=c++17", "--fmad=false")
"""Without contraction to fused multiplications, so that a device computes the same bits as a host compiler."""


def source(kernel: str) -> str:
    """The text of a kernel, with what all share before it."""
    folder = files(__package__)
    return "\n".join(folder.joinpath(name).read_text() for name in ("fleets.cu", SOURCES[kernel]))


def has_room(numbers: int, X: Array) -> bool:
    """Whether so many numbers of the dtype of X fit into shared memory."""
    return bool(numbers * X.dtype.itemsize <= SHARED_MEMORY)


@cache
def _function(xp: Any, name: str, dtype: np.dtype[Any]) -> Any:
    real = "double" if dtype.itemsize == 8 else "float"
    return xp.RawModule(code=source(name), options=(*FLAGS, f"-DREAL={real}")).get_function(name)


class Call:
    """The rows of a call on the device, and what every kernel gets: bounds of the members, predictions, counts.

    places: those of p.members that learn, from row learned[j] on; all of them from their first row on if not given.
    """

    def __init__(
        self,
        X: Array,
        Y: Array,
        p: Any,
        out: Array | None,
        places: Host | slice = slice(None),
        learned: Host | int = 0,
    ) -> None:
        self.xp, self.dtype = X.__array_namespace__(), np.dtype(X.dtype)
        self.members, self.places = p.members[places], places
        self.everyone = len(self.members) == p.size
        self.d, self.r = X.shape[1], Y.shape[1]
        self._counts = (np.diff(p.starts) - learned)[places]
        self._rows = X, Y, self._bounds(p.starts, learned, places)
        self._learned = self.xp.empty(len(self.members), dtype="int64")
        self._degraded: Array | None = None
        self._happened = self.xp.zeros(2, dtype="int32")
        self._out = X if out is None else out
        self._predicts = np.int32(out is not None)

    def _bounds(self, starts: Host, learned: Host | int, places: Host | slice) -> Array:
        """The first row of each member, and the one after its last (m, 2)."""
        m = len(self._counts)
        if m >= MANY and self._counts.sum() == starts[-1] and are_alike(self._counts):  # nothing is learned yet
            return self.xp.arange(1, 2 * m + 1) // 2 * int(self._counts[0])
        return self.xp.asarray(np.ascontiguousarray(np.stack([starts[:-1] + learned, starts[1:]], axis=1)[places]))

    def gather(self, field: Array) -> Array:
        """The members' part of a field (N, ...), for the kernel to change: the field itself where all of them learn."""
        return field if self.everyone else take(field, self.members)

    def scatter(self, field: Array, part: Array) -> None:
        """Assign what the members have learned to the field."""
        if part is not field:
            field[... if self.everyone else self.indices(self.members)] = part

    def numbers(self, values: Host) -> Array:
        """Host numbers on the device, in the dtype of the rows."""
        return self._placed(values, self.dtype)

    def indices(self, values: Host) -> Array:
        """Host integers on the device."""
        return self._placed(values, np.dtype(np.int64))

    def _placed(self, values: Host, dtype: np.dtype[Any]) -> Array:
        if values.ndim == 1 and len(values) >= MANY and are_alike(values):
            return self.xp.full(len(values), values[0], dtype=dtype)
        return self.xp.asarray(np.ascontiguousarray(values, dtype))

    def launch(self, name: str, fields: tuple[Array, ...], more: tuple[Array, ...], room: int, *rest: Any) -> Host:
        """Launch a kernel with `room` numbers of shared memory; returns how many rows each member learned.

        fields are its first arguments, `more` follow the rows, and `rest` the sizes. The host waits once, unless a
        member stopped.
        """
        function, memory = _function(self.xp, name, self.dtype), room * self.dtype.itemsize
        threads = min(MAX_THREADS, -(-max(self.d, LANES) // LANES) * LANES)
        noted = self._learned, self._happened, self._out, self._predicts
        given = (*fields, *self._rows, *more, *noted, np.int32(self.d), np.int32(self.r), *rest)
        function((len(self.members),), (threads,), given, shared_mem=memory)
        stopped, self._lost_digits = to_host(self._happened).tolist()
        learned: Host = to_host(self._learned) if stopped else self._counts
        return learned

    @property
    def degraded(self) -> Array:
        """Where a kernel notes for each member whether it lost digits (m,)."""
        if self._degraded is None:
            self._degraded = self.xp.empty(len(self.members), dtype="int64")
        return self._degraded

    def members_that_lost_digits(self) -> Host:
        """After the launch."""
        lost: Host = self.members[to_host(self._degraded) > 0] if self._lost_digits else self.members[:0]
        return lost


def are_alike(values: Host) -> bool:
    """Whether all of some numbers are equal."""
    return bool((values == values[0]).all())

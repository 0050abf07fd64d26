"""Fleets: one launch of a kernel of `fleets.cu` for all rows of a call, with a block of threads for each member.

The state of a fleet lies in host memory, and a call moves what its members need to the device and back: 2 d^2 numbers a
member for a method with a P. Calls with many rows for each member pay for that; with one row each, Numba is faster.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from orfit_bench.kernels.fleets import FleetLearn
from orfit_bench.spec.arrays import to_host
from orfit_bench_cupy._transfers import Array, Host
from orfit_bench_numba import lms, nlms, rls

NO_FLEETS = {"fleets": "it has no kernel in CUDA with a block of threads for each learner; numba learns its fleets"}
LANES = 32
"""Partial sums of a product in `fleets.cu`."""
SHARED_MEMORY = 48 * 1024
"""Bytes of shared memory that a block has on every device without asking for more; wider members learn on the host."""
MAX_THREADS = 256
FLAGS = ("--std=c++17", "--fmad=false")
"""Without contraction to fused multiplications, so that a device computes the same bits as a host compiler."""


def source() -> str:
    """The text of `fleets.cu`."""
    return files(__package__).joinpath("fleets.cu").read_text()


def has_room(numbers: int, X: Array) -> bool:
    """Whether so many numbers of the dtype of X fit into shared memory."""
    return bool(numbers * X.dtype.itemsize <= SHARED_MEMORY)


@cache
def _function(xp: Any, name: str, dtype: np.dtype[Any]) -> Any:
    real = "double" if dtype.itemsize == 8 else "float"
    return xp.RawModule(code=source(), options=(*FLAGS, f"-DREAL={real}")).get_function(name)


class Call:
    """The rows of a call on the device, and what every kernel gets: starts of the members, predictions, counts."""

    def __init__(self, X: Array, Y: Array, p: Any, out: Array | None) -> None:
        self.xp, self.dtype = X.__array_namespace__(), np.dtype(X.dtype)
        self.members = p.members
        self.everyone = len(p.members) == p.size
        self.d, self.r = X.shape[1], Y.shape[1]
        self._rows = X, Y, self.xp.asarray(p.starts)
        self._learned = self.xp.zeros(len(p.members), dtype="int64")
        self._out = X if out is None else out
        self._predicts = np.int32(out is not None)

    def upload(self, field: Host) -> Array:
        """The members' part of a field (N, ...) on the device."""
        return self.xp.asarray(field if self.everyone else field[self.members])

    def download(self, field: Host, part: Array) -> None:
        """Assign what the members have learned to the field."""
        field[slice(None) if self.everyone else self.members] = to_host(part)

    def numbers(self, values: Host) -> Array:
        """Host numbers on the device, in the dtype of the rows."""
        return self.xp.asarray(np.ascontiguousarray(values, self.dtype))

    def launch(self, name: str, fields: tuple[Array, ...], more: tuple[Array, ...], room: int, *rest: Any) -> Host:
        """Launch a kernel with `room` numbers of shared memory; returns how many rows each member learned.

        fields are its first arguments, `more` follow the rows, and `rest` the sizes.
        """
        function, memory = _function(self.xp, name, self.dtype), room * self.dtype.itemsize
        threads = min(MAX_THREADS, -(-max(self.d, LANES) // LANES) * LANES)
        given = (*fields, *self._rows, *more, self._out, self._predicts, np.int32(self.d), np.int32(self.r), *rest)
        function((len(self.members),), (threads,), given, shared_mem=memory)
        return to_host(self._learned)

    @property
    def learned(self) -> Array:
        """The counts that the kernel writes."""
        return self._learned


def learn_on_host(learn: FleetLearn, s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> Host:
    """The rows by the kernel of another backend in host memory."""
    predictions = None if out is None else np.empty(Y.shape, Y.dtype)
    learned: Host = learn(s, to_host(X), to_host(Y), p, predictions)
    if out is not None:
        out[...] = out.__array_namespace__().asarray(predictions)
    return learned


def learn_covariances(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> Host:
    """The rows of rls and class_rls: a member reads and writes its P once, in shared memory if that has room."""
    room = X.shape[1] * Y.shape[1] + 3 * X.shape[1] + Y.shape[1] + 1
    if not (hasattr(s, "P") and len(p.members) and has_room(room, X)):
        return learn_on_host(rls.fleet_learn, s, X, Y, p, out)
    call, info = Call(X, Y, p, out), np.finfo(np.dtype(X.dtype))
    P, w = call.upload(s.P), call.upload(s.w)
    degraded = call.xp.zeros(len(p.members), dtype="int64")
    keeps_p = has_room(room + call.d**2, X)
    more = call.numbers(p.forgetting_factor), call.learned, degraded
    numbers = (np.int32(keeps_p), *(call.dtype.type(a) for a in (info.eps, float(info.eps) ** (1 / 3), info.max)))
    learned = call.launch("learn_covariances", (P, w), more, room + keeps_p * call.d**2, *numbers)
    call.download(s.P, P)
    call.download(s.w, w)
    s.precision_lost[p.members[to_host(degraded) > 0]] = 1
    return learned


def learn_gradients(s: Any, X: Array, Y: Array, p: Any, eps: Host | None, out: Array | None) -> Host:
    """The rows of lms, and of nlms with its eps (m,)."""
    room = X.shape[1] * Y.shape[1] + X.shape[1] + LANES * (Y.shape[1] + 1) + Y.shape[1] + 1
    if not (len(p.members) and has_room(room, X)):
        return learn_on_host((lms if eps is None else nlms).fleet_learn, s, X, Y, p, out)
    call, info = Call(X, Y, p, out), np.finfo(np.dtype(X.dtype))
    w = call.upload(s.w)
    eps_or_zeros = np.zeros(len(p.members)) if eps is None else eps
    more = call.numbers(p.step_size), call.numbers(eps_or_zeros), call.learned
    numbers = np.int32(eps is not None), call.dtype.type(info.tiny / info.eps), call.dtype.type(info.max)
    learned = call.launch("learn_gradients", (w,), more, room, *numbers)
    call.download(s.w, w)
    return learned

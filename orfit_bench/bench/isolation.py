"""Fresh processes for cells, forked from servers that have imported the kernels but run none of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple, Self

from orfit_bench.bench import roofline
from orfit_bench.bench.cell import MEMORY_BUDGET, Cell, make_record, run_cell
from orfit_bench.jobs import fingerprint
from orfit_bench.jobs.forking import CAN_FORK
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.processes import Call, DiedError, Process, default_memory_limit
from orfit_bench.jobs.sessions import Answer, ForkServer, Session
from orfit_bench.plugins.registry import registry

MACHINE_SECONDS = 120.0
"""Time limit for measuring the roofline of the machine."""
NAMED = 3
"""So many functions that a plugin replaced are named."""

USED = ("scipy.linalg", "scipy.ndimage")
"""Modules that cells import while they run, and that are slow to import."""
READERS = ("pandas", "pyarrow.dataset", "pyarrow.compute", "zarr")
"""Modules that cells import to read files, nearly a second each time; a server imports those that are used here."""
Kernel = tuple[str, str, str]
"""Backend, method and dtype."""


class Limits(NamedTuple):
    """What a cell may use: seconds, bytes of a metric, and bytes of its process (None: a share of the machine's)."""

    seconds: float
    memory_budget: float = MEMORY_BUDGET
    memory: float | None = None


_loaded: list[fingerprint.Fingerprint] = []
"""One, in the server of the cells: taken before it imported a kernel."""


class CellProcesses:
    """Runs calls of cells, each in a fresh process; where processes cannot be forked, all in one process.

    Threads may call it at the same time, and wait while `count` calls are running.

    Parameters
    ----------
    count : int
        Number of calls that run at the same time.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count if CAN_FORK else 1

    def __enter__(self) -> Self:
        self._kernels: list[Kernel] = []
        self._free: Queue[Session | None] = Queue()  # None: to be started
        for _ in range(self.count):
            self._free.put(None)
        with ExitStack() as stack:
            self._process = None if CAN_FORK else stack.enter_context(Process())
            self._resources = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def expect(self, kernels: Iterable[Kernel]) -> None:
        """Name kernels that will be used, so that they are imported and loaded only once."""
        self._kernels = sorted(set(kernels))

    def run(self, cell: Cell, limits: Limits, timed: bool) -> Answer:
        """Run a cell; the value of the answer is its record, or the TimeoutError or DiedError that ended it."""
        memory = default_memory_limit(self.count) if limits.memory is None else int(limits.memory)
        return self.call(call_of(cell, limits, timed), memory)

    def measure_machine(self, fresh: bool = False) -> Path:
        """Measure the roofline of the machine if it is unknown, and return the file in which it is stored."""
        value = self.call(Call(roofline.ensure_measured, (fresh,), MACHINE_SECONDS)).value
        if isinstance(value, Exception):
            raise value
        file: Path = value
        return file

    def call(self, call: Call, memory: int | None = None) -> Answer:
        """Run a call, which may allocate so many bytes."""
        if self._process:
            try:
                return Answer(self._process.call(call))
            except (TimeoutError, DiedError) as error:
                return Answer(error)
        session = self._free.get()
        try:
            if session is None or not session.alive:
                session = self._start_server()
            return session.call(call, memory)
        except DiedError as error:
            session = None  # the next call starts another one
            return Answer(error)
        finally:
            self._free.put(session)

    def _start_server(self) -> Session:
        """Start a server; kernels at whose import it dies, or that replace functions, are left to their own cells."""
        kernels = self._kernels
        while True:
            try:
                readers = [name for name in READERS if name in sys.modules]
                session = self._resources.enter_context(ForkServer(prepare, (kernels, readers)))
            except (DiedError, TimeoutError) as error:
                if not kernels:
                    raise RuntimeError(
                        f"the worker process does not start: {error}; call run(isolate=False)"
                    ) from error
                kernels = []
                continue
            if not session.prepared:
                return session
            kernels = [kernel for kernel in kernels if kernel != session.prepared]


def call_of(cell: Cell, limits: Limits, timed: bool) -> Call:
    """The call that runs a cell."""
    return Call(_run, (cell, limits.memory_budget, timed), limits.seconds)


def kernels_of(cells: Iterable[Cell]) -> list[Kernel]:
    """The kernels that cells need."""
    return sorted({(cell.backend, cell.method, cell.dtype) for cell in cells})


def prepare(kernels: list[Kernel], readers: Sequence[str] = ()) -> Kernel | None:
    """Import these kernels and load their machine code; return the one that replaced functions thereby, if any.

    Kernels on a device are left to the cells, since a device cannot be used after a fork.
    """
    for module in (*USED, *readers):
        importlib.import_module(module)
    known = registry()
    _loaded[:] = [fingerprint.take()]
    for backend, method, dtype in kernels:
        if known.backends[backend].memory:  # it counts the memory of a device
            continue
        try:
            kernel, load_kernel = known.kernel(backend, method), known.backends[backend].load
            if load_kernel:
                load_kernel(kernel, dtype)
        except Exception:  # its cell records why
            continue
        if fingerprint.changed(_loaded[0]):
            return backend, method, dtype
    return None


def _run(cell: Cell, memory_budget: float, timed: bool) -> dict[str, Any]:
    try:
        record = run_cell(cell, memory_budget, timed)
    except BaseException as error:  # also a KeyboardInterrupt, which only a plugin can raise here
        return make_record(cell, "failed", describe_error(error))
    if replaced := [name for loaded in _loaded for name in fingerprint.changed(loaded)]:
        names = ", ".join(replaced[:NAMED])
        reason = f"a plugin replaced functions outside of it, so nothing that was measured is right: {names}"
        return make_record(cell, "failed", reason)
    return record

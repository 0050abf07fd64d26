"""Executors of cells: a fresh process for each cell, or this process."""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple, Self

from orfit_bench.bench import roofline
from orfit_bench.bench.cell import MEMORY_BUDGET, Cell, make_record, run_cell
from orfit_bench.jobs import fingerprint
from orfit_bench.jobs.forking import CAN_FORK, Answer, ForkServer
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.processes import NOT_STARTED, Call, DiedError, Process, one_blas_thread, threads
from orfit_bench.plugins.registry import registry

MACHINE_SECONDS = 120.0
"""Time limit for measuring the roofline of the machine."""
MEMORY_SHARE = 0.75
"""Share of the machine's memory that a cell may allocate by default."""
LAST_LINES = 3
"""So many lines of what a cell printed are part of the reason why it failed."""
NAMED = 3
"""So many functions that a plugin replaced are named."""

USED = ("scipy.linalg", "scipy.ndimage")
"""Modules that cells import while they run, and that are slow to import."""
Kernel = tuple[str, str, str]
"""Backend, method and dtype."""


class Limits(NamedTuple):
    """What a cell may use: seconds, bytes of a metric, and bytes of its process (None: a share of the machine's)."""

    seconds: float
    memory_budget: float = MEMORY_BUDGET
    memory: float | None = None


_loaded: list[fingerprint.Fingerprint] = []
"""One, in the server of the cells: taken before it imported a kernel."""


class SubprocessExecutor:
    """Runs each cell in a fresh process, forked from a server that has imported the kernels but run none of them.

    Where processes cannot be forked, one process runs all cells, without a limit of memory.

    Parameters
    ----------
    jobs : int
        Number of cells that run at the same time. If there are several, none is timed.
    """

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs if CAN_FORK else 1

    def __enter__(self) -> Self:
        self._kernels: list[Kernel] = []
        self._free: Queue[ForkServer | None] = Queue()  # None: to be started
        for _ in range(self.jobs):
            self._free.put(None)
        with ExitStack() as stack:
            stack.enter_context(one_blas_thread())
            self._process = None if CAN_FORK else stack.enter_context(Process())
            self._resources = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    @property
    def threads(self) -> dict[str, str]:
        """The variables for numbers of threads in the environment of the cells."""
        return threads()

    def expect(self, cells: Collection[Cell]) -> None:
        """Name the cells that will be run, so that their kernels are imported and compiled only once."""
        self._kernels = sorted({(cell.backend, cell.method, cell.dtype) for cell in cells})

    def run_all(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run cells, and yield the key and the record of each as it finishes."""
        if self.jobs == 1:
            yield from ((key, self.run(cell, limits)) for key, cell in cells.items())
            return
        pool = ThreadPoolExecutor(self.jobs)  # each thread waits for a process
        try:
            keys = {pool.submit(self.run, cell, limits): key for key, cell in cells.items()}
            for future in as_completed(keys):
                yield keys[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def run(self, cell: Cell, limits: Limits) -> dict[str, Any]:
        """Run a cell and return its record; "timeout" and "crashed" are recorded too."""
        limit = default_memory_limit(self.jobs) if limits.memory is None else int(limits.memory)
        work = Call(_work, (cell, limits.memory_budget, self.jobs == 1), limits.seconds)
        answer = self._answer(work, limit)
        lines = answer.output.strip().splitlines()[-LAST_LINES:]
        printed = f"; it printed at the end: {' / '.join(lines)}" if lines else ""
        if isinstance(answer.value, TimeoutError):
            return make_record(cell, "timeout", f"{answer.value}{printed}")
        if isinstance(answer.value, DiedError):
            return make_record(cell, "crashed", f"{answer.value}{printed}")
        record: dict[str, Any] = answer.value
        if record["status"] == "failed":
            record["reason"] += printed
        return record

    def measure_machine(self, fresh: bool = False) -> Path:
        """Measure the roofline of the machine if it is unknown, and return the file in which it is stored."""
        if not fresh and roofline.load():
            return roofline.path()
        with Process() as process:
            file: Path = process.call(Call(roofline.ensure_measured, (fresh,), MACHINE_SECONDS))
        return file

    def _answer(self, call: Call, memory: int) -> Answer:
        if self._process:
            try:
                return Answer(self._process.call(call))
            except (TimeoutError, DiedError) as error:
                return Answer(error)
        server = self._free.get()
        try:
            if server is None or not server.alive:
                server = self._start_server()
            return server.call(call, memory)
        except DiedError as error:
            server = None  # the next cell starts another one
            return Answer(error)
        finally:
            self._free.put(server)

    def _start_server(self) -> ForkServer:
        """Start a server; kernels at whose import it dies, or that replace functions, are left to their own cells."""
        kernels = self._kernels
        while True:
            try:
                server = self._resources.enter_context(ForkServer(prepare, (kernels,)))
            except (DiedError, TimeoutError) as error:
                if not kernels:
                    raise RuntimeError(NOT_STARTED) from error
                kernels = []
                continue
            if not server.prepared:
                return server
            kernels = [kernel for kernel in kernels if kernel != server.prepared]


def prepare(kernels: list[Kernel]) -> Kernel | None:
    """Import these kernels and load their machine code; return the one that replaced functions thereby, if any.

    Kernels on a device are left to the cells, since a device cannot be used after a fork.
    """
    for module in USED:
        importlib.import_module(module)
    known = registry()
    _loaded[:] = [fingerprint.take()]
    for backend, method, dtype in kernels:
        if known.backends[backend].memory:  # it counts the memory of a device
            continue
        try:
            kernel, compile_kernel = known.kernel(backend, method), known.backends[backend].compile
            if compile_kernel:
                compile_kernel(kernel, dtype)
        except Exception:  # its cell records why
            continue
        if fingerprint.changed(_loaded[0]):
            return backend, method, dtype
    return None


def default_memory_limit(jobs: int = 1) -> int:
    """Three quarters of the machine's memory, in bytes, divided among the jobs."""
    return int(MEMORY_SHARE / jobs * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _work(cell: Cell, memory_budget: float, timed: bool) -> dict[str, Any]:
    try:
        record = run_cell(cell, memory_budget, timed)
    except BaseException as error:  # also a KeyboardInterrupt, which only a plugin can raise here
        return make_record(cell, "failed", describe_error(error))
    if replaced := [name for loaded in _loaded for name in fingerprint.changed(loaded)]:
        names = ", ".join(replaced[:NAMED])
        reason = f"a plugin replaced functions outside of it, so nothing that was measured is right: {names}"
        return make_record(cell, "failed", reason)
    return record


class InProcessExecutor:
    """Runs cells in this process, without isolation and without limits of time and memory."""

    def __init__(self) -> None:
        self.threads = threads()

    def run_all(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run cells one after the other, and yield the key and the record of each."""
        yield from ((key, run_cell(cell, limits.memory_budget)) for key, cell in cells.items())

    def measure_machine(self) -> None:
        """Measure the roofline of the machine if it is unknown."""
        roofline.ensure_measured()

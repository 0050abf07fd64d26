"""Executors of cells on this machine: a fresh process for each cell, or this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Queue
from typing import Any, Protocol, Self

from orfit_bench.bench import isolation, roofline
from orfit_bench.bench.cell import Cell, make_record, run_cell
from orfit_bench.bench.compilation import compile_ahead
from orfit_bench.bench.isolation import READERS, KernelKey, Limits, call_of, kernels_of
from orfit_bench.errors import warn
from orfit_bench.jobs.forking import CAN_FORK
from orfit_bench.jobs.notes import printable
from orfit_bench.jobs.processes import ONE_THREAD, Call, DiedError, Process, threads
from orfit_bench.jobs.sessions import Answer, ForkServer, Session

MACHINE_SECONDS = 120.0
"""Time limit for measuring the roofline of the machine."""
LAST_LINES = 3
"""Number of printed lines of a cell that are part of the reason why it failed."""


class Executor(Protocol):
    """Runs cells."""

    @property
    def threads(self) -> dict[str, str]:
        """The environment variables for numbers of threads in the cells."""

    def prepare(self, cells: Collection[Cell]) -> dict[str, float]:
        """Prepare for these cells; return the seconds spent on compiling kernels, by the keys of cells."""

    def run_all(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run cells, and yield the key and the record of each as it finishes."""


class SubprocessExecutor:
    """Runs each cell in a fresh process; if processes cannot be forked, all cells in one process.

    The processes are forked from servers that have imported the kernels but run none of them.

    Parameters
    ----------
    jobs : int
        Number of cells that run at the same time; a thread waits for each.
    timed : bool
        Whether to measure times.
    """

    def __init__(self, jobs: int = 1, timed: bool = True) -> None:
        self._count, self._timed = jobs if CAN_FORK else 1, timed
        self._kernels: list[KernelKey] = []

    def __enter__(self) -> Self:
        self._free: Queue[Session | None] = Queue()  # None: to be started
        for _ in range(self._count):
            self._free.put(None)
        with ExitStack() as stack:
            self._process = None if CAN_FORK else stack.enter_context(Process())
            self._resources = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    @property
    def threads(self) -> dict[str, str]:
        """The variables for numbers of threads in the environment of the cells."""
        return threads(os.environ | ONE_THREAD)

    def prepare(self, cells: Collection[Cell]) -> dict[str, float]:
        """Compile kernels in several processes, and measure the machine if it is unknown."""
        compiled = compile_ahead(cells)
        self._kernels = kernels_of(cells)  # servers import and load them only once
        if self._timed:
            with suppress(Exception):  # only the share of the limit would be missing
                _warn_if_not_stored(self.measure_machine())
        return compiled

    def run_all(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run cells, and yield the key and the record of each as it finishes."""
        if self._count == 1:
            yield from ((key, self.run(cell, limits)) for key, cell in cells.items())
            return
        pool = ThreadPoolExecutor(self._count)  # each thread waits for a process
        try:
            keys = {pool.submit(self.run, cell, limits): key for key, cell in cells.items()}
            for future in as_completed(keys):
                yield keys[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def run(self, cell: Cell, limits: Limits) -> dict[str, Any]:
        """Run a cell and return its record, also if it timed out or crashed."""
        return record_of(cell, self._call(call_of(cell, limits, self._timed), limits.memory))

    def measure_machine(self, fresh: bool = False) -> Path:
        """Measure the roofline of the machine if it is unknown, and return the file in which it is stored."""
        value = self._call(Call(roofline.ensure_measured, (fresh,), MACHINE_SECONDS)).value
        if isinstance(value, Exception):
            raise value
        file: Path = value
        return file

    def _call(self, call: Call, memory: float | None = None) -> Answer:
        """Run a call that may allocate `memory` bytes; several threads may run calls at the same time."""
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
        """Start a server; kernels whose import ends it, or that replace functions, are left to their own cells."""
        kernels = self._kernels
        while True:
            try:
                readers = [name for name in READERS if name in sys.modules]
                session = self._resources.enter_context(ForkServer(isolation.prepare, (kernels, readers)))
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


def record_of(cell: Cell, answer: Answer) -> dict[str, Any]:
    """The record of a cell that ran in its own process, however it ended."""
    lines = printable(answer.output).strip().splitlines()[-LAST_LINES:]
    printed = f"; it printed at the end: {' / '.join(lines)}" if lines else ""
    if isinstance(answer.value, TimeoutError):
        return make_record(cell, "timeout", f"{answer.value}{printed}")
    if isinstance(answer.value, DiedError):
        return make_record(cell, "crashed", f"{answer.value}{printed}")
    record: dict[str, Any] = answer.value
    if record["status"] == "failed":
        record["reason"] += printed
    return record


class InProcessExecutor:
    """Runs cells in this process, without isolation and without time and memory limits.

    Parameters
    ----------
    timed : bool
        Whether to measure times.
    """

    def __init__(self, timed: bool = True) -> None:
        self._timed = timed

    @property
    def threads(self) -> dict[str, str]:
        """The variables for numbers of threads in this process."""
        return threads()

    def run_all(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run cells one after the other, and yield the key and the record of each."""
        yield from ((key, run_cell(cell, limits.memory_budget, self._timed)) for key, cell in cells.items())

    def prepare(self, cells: Collection[Cell]) -> dict[str, float]:
        """Measure the machine if it is unknown."""
        if self._timed:
            with suppress(Exception):  # only the share of the limit would be missing
                _warn_if_not_stored(roofline.ensure_measured())
        return {}


def _warn_if_not_stored(file: Path) -> None:
    """Warn if the measured roofline could not be stored, since cells read it from its file."""
    if roofline.read(file) is None:
        warn(f"{file}: the roofline of this machine cannot be stored, so the column roofline is n/a", UserWarning)

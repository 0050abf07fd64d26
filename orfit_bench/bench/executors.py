"""Executors of cells on this machine: a fresh process for each cell, or this process."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, Self

from orfit_bench.bench import roofline
from orfit_bench.bench.cell import Cell, make_record, run_cell
from orfit_bench.bench.compilation import compile_ahead
from orfit_bench.bench.isolation import CellProcesses, Limits, kernels_of
from orfit_bench.jobs.processes import ONE_THREAD, DiedError, threads
from orfit_bench.jobs.sessions import Answer

LAST_LINES = 3
"""So many lines of what a cell printed are part of the reason why it failed."""


class Executor(Protocol):
    """Runs cells."""

    @property
    def threads(self) -> dict[str, str]:
        """The variables for numbers of threads in the environment of the cells."""

    def prepare(self, cells: Collection[Cell]) -> dict[str, float]:
        """Prepare for these cells; return the seconds for which kernels were compiled, by the keys of cells."""

    def run_all(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run cells, and yield the key and the record of each as it finishes."""


class SubprocessExecutor:
    """Runs each cell in a fresh process; see `CellProcesses`.

    Parameters
    ----------
    jobs : int
        Number of cells that run at the same time.
    timed : bool
        Whether to measure times.
    """

    def __init__(self, jobs: int = 1, timed: bool = True) -> None:
        self._processes, self._timed = CellProcesses(jobs), timed

    def __enter__(self) -> Self:
        self._processes.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.__exit__()

    @property
    def threads(self) -> dict[str, str]:
        """The variables for numbers of threads in the environment of the cells."""
        return threads(os.environ | ONE_THREAD)

    def prepare(self, cells: Collection[Cell]) -> dict[str, float]:
        """Compile kernels in several processes, and measure the machine if it is unknown."""
        compiled = compile_ahead(cells)
        self._processes.expect(kernels_of(cells))
        if self._timed:
            with suppress(Exception):  # only the share of the limit would be missing
                self.measure_machine()
        return compiled

    def run_all(self, cells: Mapping[str, Cell], limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run cells, and yield the key and the record of each as it finishes."""
        if self._processes.count == 1:
            yield from ((key, self.run(cell, limits)) for key, cell in cells.items())
            return
        pool = ThreadPoolExecutor(self._processes.count)  # each thread waits for a process
        try:
            keys = {pool.submit(self.run, cell, limits): key for key, cell in cells.items()}
            for future in as_completed(keys):
                yield keys[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def run(self, cell: Cell, limits: Limits) -> dict[str, Any]:
        """Run a cell and return its record; "timeout" and "crashed" are recorded too."""
        return record_of(cell, self._processes.run(cell, limits, self._timed))

    def measure_machine(self, fresh: bool = False) -> Path:
        """Measure the roofline of the machine if it is unknown, and return the file in which it is stored."""
        return self._processes.measure_machine(fresh)


def record_of(cell: Cell, answer: Answer) -> dict[str, Any]:
    """The record of a cell that ran in a process of its own, however it ended."""
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


class InProcessExecutor:
    """Runs cells in this process, without isolation and without limits of time and memory.

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
                roofline.ensure_measured()
        return {}

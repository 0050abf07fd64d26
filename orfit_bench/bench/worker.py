"""Executors of cells: a worker process, which a cell may crash, or this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orfit_bench.bench import roofline
from orfit_bench.bench.cell import MEMORY_BUDGET, Cell, make_record, run_cell
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.processes import Call, DiedError, Process, threads

MACHINE_SECONDS = 120.0
"""Time limit for measuring the roofline of the machine."""


class SubprocessExecutor(Process):
    """Runs cells in a worker process."""

    def run(self, cell: Cell, timeout: float, memory_budget: float = MEMORY_BUDGET) -> dict[str, Any]:
        """Run a cell for at most `timeout` seconds and return its record; "timeout" and "crashed" are recorded too."""
        try:
            record: dict[str, Any] = self.call(Call(_work, (cell, memory_budget), timeout))
        except TimeoutError as error:
            return make_record(cell, "timeout", str(error))
        except DiedError as error:
            return make_record(cell, "crashed", str(error))
        return record

    def measure_machine(self, fresh: bool = False) -> Path:
        """Measure the roofline of the machine if it is unknown, and return the file in which it is stored."""
        file: Path = self.call(Call(roofline.ensure_measured, (fresh,), MACHINE_SECONDS))
        return file


def _work(cell: Cell, memory_budget: float) -> dict[str, Any]:
    try:
        return run_cell(cell, memory_budget)
    except BaseException as error:  # also a KeyboardInterrupt, which only a plugin can raise here
        return make_record(cell, "failed", describe_error(error))


class InProcessExecutor:
    """Runs cells in this process, without isolation and without a time limit."""

    def __init__(self) -> None:
        self.threads = threads()

    def run(self, cell: Cell, timeout: float, memory_budget: float = MEMORY_BUDGET) -> dict[str, Any]:
        """Run a cell and return its record."""
        return run_cell(cell, memory_budget)

    def measure_machine(self) -> None:
        """Measure the roofline of the machine if it is unknown."""
        roofline.ensure_measured()

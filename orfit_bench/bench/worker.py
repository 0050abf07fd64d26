"""A process that runs one cell at a time, so that a cell can take nothing but itself down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orfit_bench.bench import roofline
from orfit_bench.bench.cell import Cell, outcome, run_cell
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.processes import Call, DiedError, Process, threads

MACHINE_SECONDS = 120.0
"""Longest time that measuring the machine may take."""


class SubprocessExecutor(Process):
    """A process for cells."""

    def run(self, cell: Cell, timeout: float) -> dict[str, Any]:
        """What `run_cell` says, or that the worker crashed, or was stopped after `timeout` seconds."""
        try:
            record: dict[str, Any] = self.call(Call(_work, (cell,), timeout))
        except TimeoutError as error:
            return outcome(cell, "timeout", str(error))
        except DiedError as error:
            return outcome(cell, "crashed", str(error))
        return record

    def measure_machine(self, fresh: bool = False) -> Path:
        """Have the machine's limits measured, once on this machine; returns the file that keeps them."""
        file: Path = self.call(Call(roofline.ensure_measured, (fresh,), MACHINE_SECONDS))
        return file


def _work(cell: Cell) -> dict[str, Any]:
    try:
        return run_cell(cell)
    except BaseException as error:  # even a KeyboardInterrupt that a plugin raises: here it is not the user's
        return outcome(cell, "failed", describe_error(error))


class InProcessExecutor:
    """In the place of a Worker: this process, without protection and without a time limit."""

    def __init__(self) -> None:
        self.threads = threads()

    def run(self, cell: Cell, timeout: float) -> dict[str, Any]:
        """What `run_cell` says."""
        return run_cell(cell)

    def measure_machine(self) -> None:
        """Have the machine's limits measured, once on this machine."""
        roofline.ensure_measured()

"""Compiling kernels in several processes, before a single process measures the cells of a suite one at a time."""

from __future__ import annotations

from collections.abc import Iterable

from orfit_bench.bench.cell import Cell
from orfit_bench.bench.measuring import warm_up
from orfit_bench.jobs.processes import Call, cores, open_processes, spread
from orfit_bench.plugins.registry import registry

SECONDS = 300.0
"""Time limit for the cells of one kernel."""


def compile_ahead(cells: Iterable[Cell]) -> dict[str, float]:
    """Compile the kernels that cells need, in several processes, and return the seconds for each cell.

    One cell is compiled for each method, backend, dtype, model and stream: other cells need the same code, or compile
    theirs when they run. Errors are left to the run, which records them. Nothing is compiled if there is only one
    kernel or core, or for backends that do not compile.

    Parameters
    ----------
    cells : iterable of Cell
        The cells that will be run.

    Returns
    -------
    dict
        From the key of a cell to the seconds for its first rows.
    """
    kernels: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in cells:
        if registry().backends[cell.backend].compile:
            variants = kernels.setdefault((cell.backend, cell.method, cell.dtype), {})
            variants.setdefault(f"{cell.stream} {sorted(cell.model.items())}", cell)
    count = min(cores(), len(kernels))
    if count < 2:
        return {}
    with open_processes(count) as processes:
        calls = enumerate(Call(_first_rows, (list(variants.values()),), SECONDS) for variants in kernels.values())
        found = [seconds for _, seconds in spread(processes, calls) if isinstance(seconds, dict)]
    return {key: seconds for of_kernel in found for key, seconds in of_kernel.items()}


def _first_rows(cells: list[Cell]) -> dict[str, float]:
    """The seconds for the first rows of each cell that can be learned."""
    seconds = {}
    for cell in cells:
        try:
            seconds[cell.key] = warm_up(cell.create, cell.data())
        except (Exception, SystemExit):
            continue
    return seconds

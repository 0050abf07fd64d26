"""Running a suite: one cell at a time, each finished cell kept at once."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orfit_bench.bench import results
from orfit_bench.bench.cell import Cell, outcome
from orfit_bench.bench.suite import Suite
from orfit_bench.bench.worker import InProcessExecutor, SubprocessExecutor
from orfit_bench.jobs.files import ensure_writable
from orfit_bench.jobs.journal import Journal, folder_of
from orfit_bench.jobs.provenance import provenance
from orfit_bench.jobs.runner import Progress, Record, run_resumable
from orfit_bench.plugins.registry import registry

if TYPE_CHECKING:
    import xarray

TIMEOUT = 300.0


def run(
    suite: Suite | None = None,
    output: str | Path | None = None,
    *,
    isolate: bool = True,
    timeout: float = TIMEOUT,
    fresh: bool = False,
    progress: Progress | None = None,
) -> xarray.Dataset:
    """Measure every cell of a suite (the default one: every method and backend) and return the results.

    With `output` they are also written there, unless every cell is absent, and until then a journal beside it keeps
    each finished cell: the same call after a kill takes these over, unless `fresh`; cells of other calls stay there for
    these. isolate=False runs the cells in this process, where a crash ends all and `timeout`, seconds a cell, is not
    watched. progress(done, all, record) is called once with None and the number of cells taken over, then after each
    cell; absent cells are not counted.

    ValueError or TypeError where the suite is wrong, UnavailableError where no backend is installed, OSError where
    output cannot be written: all before anything is run or written. A cell that fails is a cell with another status
    than "ok", and ends nothing.
    """
    suite = suite or Suite()
    planned = suite.cells()
    if not timeout > 0:
        raise ValueError(f"timeout={timeout}: want a number of seconds > 0")
    if isolate:
        registry().require_installed("pass isolate=False")
    target = None if output is None else _writable(Path(output))
    with SubprocessExecutor() if isolate else nullcontext(InProcessExecutor()) as worker:
        told = provenance(worker.threads)
        with suppress(Exception):  # without it the share of the limit is missing, and nothing else
            worker.measure_machine()
        journal = None if target is None else Journal(target, told, suite.files)
        records = _run_all(planned, worker, timeout, journal, fresh, progress or (lambda done, total, record: None))
    table = results.dataset(records, told, suite.config())
    if target is not None and journal is not None:
        if not results.is_empty(table):  # which must not replace what was measured before
            results.write(table, target)
        journal.remove(cell.key for cell, _ in planned)
    return table


def _run_all(
    planned: list[tuple[Cell, str]],
    worker: SubprocessExecutor | InProcessExecutor,
    timeout: float,
    journal: Journal | None,
    fresh: bool,
    progress: Progress,
) -> list[Record]:
    """The records in the order of the plan, with those of absent cells, which are never run."""
    wanted = {cell.key: cell for cell, absent in planned if not absent}
    records = run_resumable(wanted, partial(worker.run, timeout=timeout), journal, fresh=fresh, progress=progress)
    return [outcome(cell, "absent", absent) if absent else records[cell.key] for cell, absent in planned]


def _writable(output: Path) -> Path:
    """Output, if it and its journal can be written: better said now than after the last cell."""
    ensure_writable(output)
    if (folder := folder_of(output)).exists() and not folder.is_dir():
        raise NotADirectoryError(f"{output}: finished cells are kept in a folder {folder}, where a file is: move it")
    return output

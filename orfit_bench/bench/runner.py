"""Running a suite: one cell at a time; each finished cell is stored immediately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orfit_bench.bench import results
from orfit_bench.bench.cell import MEMORY_BUDGET, Cell, make_record
from orfit_bench.bench.changed_data import check_unchanged, differing_rows, file_digests
from orfit_bench.bench.cluster import DaskExecutor
from orfit_bench.bench.collection import gather
from orfit_bench.bench.executors import Executor, InProcessExecutor, SubprocessExecutor
from orfit_bench.bench.isolation import Limits
from orfit_bench.bench.progress import print_progress
from orfit_bench.bench.resuming import find_cells_to_repeat, registrations, used_by
from orfit_bench.bench.suite import Suite
from orfit_bench.errors import warn
from orfit_bench.jobs import timeouts
from orfit_bench.jobs.files import ensure_distinct, ensure_writable
from orfit_bench.jobs.forking import CAN_FORK
from orfit_bench.jobs.journal import Journal, folder_of
from orfit_bench.jobs.locks import lock
from orfit_bench.jobs.on_dask import check_client
from orfit_bench.jobs.processes import default_memory_limit
from orfit_bench.jobs.provenance import provenance
from orfit_bench.jobs.runner import Progress, Record, run_resumable
from orfit_bench.jobs.sources import plugin_sources
from orfit_bench.plugins.registry import registry

if TYPE_CHECKING:
    import xarray

LEAST_MEMORY = 32e6
"""Minimum memory limit of a cell, in bytes; with less, threads that other threads wait for cannot start."""


def run(
    suite: Suite | None = None,
    output: str | Path | None = None,
    *,
    isolate: bool = True,
    timeout: float = timeouts.OF_CELL,
    memory_budget: float = MEMORY_BUDGET,
    memory_limit: float | None = None,
    jobs: int = 1,
    timed: bool | None = None,
    client: Any = None,
    fresh: bool = False,
    progress: Progress | None = print_progress,
) -> xarray.Dataset:
    """Measure every cell of a suite.

    Parameters
    ----------
    suite : Suite, optional
        By default every method on every backend.
    output : str or Path, optional
        File for the results; not written if every cell is absent. Until the run is finished, a journal next to it
        stores the finished cells, and the same call after an interruption resumes the run.
    isolate : bool
        Whether to run each cell in a process of its own. Otherwise a crash ends the run, and `timeout` has no effect.
    timeout : float
        Seconds per cell.
    memory_budget : float
        Bytes that a metric may allocate, for a batch solution for example; above it, the metric is not computed and the
        results note why.
    memory_limit : float, optional
        Bytes that a cell may allocate in its process, at least 32 MB; above it, allocations fail. By default three
        quarters of the machine's memory, divided by `jobs`. It has no effect with `isolate=False`, and on systems other
        than Linux.
    jobs : int
        Number of cells that run at the same time, each in its own process. With more than one, errors are measured but
        times are not, since cells would slow each other down. Requires `isolate` and Linux.
    timed : bool, optional
        Whether to measure times too. Default: only without `client` and with jobs=1. On a cluster, timed cells run only
        on workers with the resource "timing", of which each machine should have one.
    client : distributed.Client, optional
        A Dask cluster whose workers run the cells, each in its own process (extra `dask`). Their machines, versions and
        commits are part of the results.
    fresh : bool
        Whether to discard the finished cells of an interrupted run.
    progress : callable, optional
        Called as progress(done, total, record): first with the number of resumed cells and None, then after each cell.
        Absent cells are not counted. By default prints lines on stderr; None shows nothing.

    Returns
    -------
    xarray.Dataset
        The results over the dimension `cell`; a cell that could not be measured has a `status` other than "ok".

    Raises
    ------
    ValueError, TypeError
        If the suite is wrong; or later if data change while they are learned. Finished cells of the new data are kept.
    UnavailableError
        If no backend is installed.
    OSError
        If `output` cannot be written; before the first cell, if this is known then.
    ConnectionError
        If the scheduler of the cluster is lost. Finished cells are stored: the same call resumes the run.

    Examples
    --------
    >>> suite = Suite(methods=["lms"], backends=["numpy"], streams=["regression"], rows=[50])
    >>> run(suite, isolate=False, progress=None)["status"].values.tolist()
    ['ok']
    """
    suite = Suite() if suite is None else suite
    if not isinstance(suite, Suite):
        raise TypeError(f"suite: got {type(suite).__name__}, want a Suite")
    planned = suite.cells()
    _check_limits(timeout, memory_budget, memory_limit)
    if timed is None:
        timed = jobs == 1 and client is None
    _check_executor(isolate, jobs, timed, client)
    if isolate:
        otherwise = "pass isolate=False" if client is None and jobs == 1 else "pass isolate=False, jobs=1 and no client"
        registry().require_installed(used_by(cell for cell, absent in planned if not absent), otherwise)
    target = None if output is None else _check_output(Path(output), suite.files())
    with lock(target) if target else nullcontext(), _executor(isolate, jobs, timed, client) as executor:
        origin = provenance(executor.threads) | ({} if timed else {"timed": "no"})
        origin |= {} if client is None else {"executor": "dask"}
        if memory_limit is None and client is None and isolate and CAN_FORK:
            memory_limit = default_memory_limit(jobs)
        limits = Limits(timeout, memory_budget, memory_limit)
        journal = None
        if target is not None:
            kind = "" if timed else "untimed"
            journal = Journal(target, origin | {"sources": plugin_sources()}, suite.files, kind)
        kept = _take_over(journal, planned, limits) if journal and not fresh else set()
        compiled = executor.prepare([cell for cell, absent in planned if not absent and cell.key not in kept])
        report = progress or (lambda done, total, record: None)
        run_cells = partial(_run_cells, executor=executor, limits=limits, compiled=compiled, files=suite.files)
        wanted = {cell.key: cell for cell, absent in planned if not absent}
        found = run_resumable(wanted, run_cells, journal, fresh=fresh, progress=report)
        records = [make_record(cell, "absent", absent) if absent else found[cell.key] for cell, absent in planned]
        if changed := differing_rows(records):
            if client is None:
                raise ValueError(changed)
            warn(changed, UserWarning)  # machines of a cluster may round the rows that a stream generates differently
        table = gather(records, origin, suite.config())
        if target is not None and journal is not None:
            if not results.is_empty(table):  # an empty table must not replace earlier results
                results.write(table, target)
            journal.remove(cell.key for cell, _ in planned)
    return table


def _check_limits(timeout: float, memory_budget: float, memory_limit: float | None) -> None:
    """Raise ValueError if a limit of the cells is too small."""
    if not timeout > 0:
        raise ValueError(f"timeout={timeout}: want a number of seconds > 0")
    if not memory_budget >= 0:
        raise ValueError(f"memory_budget={memory_budget}: want a number of bytes >= 0")
    if memory_limit is not None and not memory_limit >= LEAST_MEMORY:
        raise ValueError(
            f"memory_limit={memory_limit}: want at least {LEAST_MEMORY:.0f} bytes ({LEAST_MEMORY / 1e9:g} GB): the "
            f"threads that read files need them"
        )


def _check_executor(isolate: bool, jobs: int, timed: bool, client: Any) -> None:
    """Raise ValueError or TypeError if cells cannot be run in this way."""
    if jobs < 1:
        raise ValueError(f"jobs={jobs}: want an integer >= 1")
    if jobs > 1 and timed:
        raise ValueError(
            f"jobs={jobs}: cells that run at the same time cannot be timed: pass timed=False (--untimed), or jobs=1"
        )
    if client is not None:
        check_client(client)
        if jobs > 1 or not isolate:
            raise ValueError("client: the workers of a cluster run the cells: leave jobs and isolate out")
    if jobs > 1 and not (isolate and CAN_FORK):
        raise ValueError(f"jobs={jobs}: only processes of their own run at the same time, on Linux: pass jobs=1")


def _executor(isolate: bool, jobs: int, timed: bool, client: Any) -> AbstractContextManager[Executor]:
    if client is not None:
        return DaskExecutor(client, timed)
    return SubprocessExecutor(jobs, timed) if isolate else nullcontext(InProcessExecutor(timed))


def _take_over(journal: Journal, planned: list[tuple[Cell, str]], limits: Limits) -> set[str]:
    """The keys of the cells of an interrupted run that are not measured again; removes the others from the journal."""
    finished = journal.read()
    again = find_cells_to_repeat([cell for cell, _ in planned], limits, finished)
    journal.remove(again)
    return set(finished).difference(again)


def _run_cells(
    cells: Mapping[str, Cell],
    executor: Executor,
    limits: Limits,
    compiled: Mapping[str, float],
    files: Callable[[], Iterable[Path]],
) -> Iterator[tuple[str, Record]]:
    """Run cells; add to each record the limits and registrations, and to `seconds_compile` the compilation in advance.

    Raises ValueError if one of the files, from which rows are read, has changed before a record is stored.
    """
    known = file_digests(files())
    for key, record in executor.run_all(cells, limits):
        check_unchanged(known)
        if record.get("seconds_compile") is not None:
            record["seconds_compile"] += compiled.get(key, 0.0)
        yield key, record | {"limits": limits._asdict(), "registered": registrations(cells[key])}


def _check_output(output: Path, files: Iterable[Path]) -> Path:
    """Raise OSError or ValueError if the output or its journal cannot be written, before the first cell is run.

    `files` are input files of the user, which must not be overwritten.
    """
    for path in files:
        ensure_distinct(path, output, "rows")
    results.ensure_netcdf(output)
    ensure_writable(output)
    if (folder := folder_of(output)).exists() and not folder.is_dir():
        raise NotADirectoryError(
            f"{output}: finished cells are stored in the folder {folder}, but a file has this name: move it"
        )
    return output

"""Run an experiment: each cell in a separate process, with finished cells kept, then write one file and one page."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from orfit_bench.bench import results as files
from orfit_bench.jobs.files import ensure_writable, make_folder, replace_text
from orfit_bench.jobs.journal import Journal
from orfit_bench.jobs.keys import make_key
from orfit_bench.jobs.locks import lock
from orfit_bench.jobs.notes import collect_notes, describe_error
from orfit_bench.jobs.processes import Call, DiedError, Process, threads
from orfit_bench.jobs.provenance import provenance
from orfit_bench.jobs.runner import Record, one_by_one, run_resumable
from orfit_bench.jobs.sources import plugin_sources
from orfit_bench.plugins.registry import registry
from orfit_bench.report.page import require
from orfit_bench.spec.experiment import Experiment, Progress, Reproduced, Request
from orfit_bench_papers import data as data_sets
from orfit_bench_papers import page
from orfit_bench_papers.procedure import Cell, Procedure, Setup
from orfit_bench_papers.results import describe, join
from orfit_bench_papers.setups import find, make_setup

if TYPE_CHECKING:
    import xarray

__all__ = ["RunOutput", "find", "make_setup", "reproduce", "run"]

TIMEOUT = 3600.0
"""Longest time of one cell, in seconds."""
Measure = Callable[[Cell], Record]


class RunOutput(NamedTuple):
    """The results and files of a run."""

    results: xarray.Dataset
    file: Path
    page: Path


def reproduce(experiment: Experiment, request: Request) -> Reproduced:
    """Compute an experiment for `orfit-bench reproduce`; raises the same errors as `run`."""
    procedure = find(experiment.name)
    protocol = {} if request.runs is None else {"runs": request.runs}
    chosen = make_setup(procedure, request.data, **protocol)
    output = run(procedure, chosen, request.folder, fresh=request.fresh, progress=request.progress)
    return Reproduced(output.file, output.page)


def run(
    procedure: Procedure,
    chosen: Setup,
    folder: str | Path,
    *,
    isolate: bool = True,
    fresh: bool = False,
    progress: Progress = lambda done, total, last: None,
) -> RunOutput:
    """Compute all cells and write NAME.nc and NAME.html into the folder, which is created if its parent exists.

    If a run was killed, the same call reuses the finished cells, unless `fresh`, and gives the same numbers.
    progress(done, all, last cell) is called once at the start and after each cell. Raises RuntimeError if a cell fails;
    finished cells are kept. Raises ValueError for the setup of another experiment, and UnavailableError immediately if
    matplotlib or Jinja is not installed.
    """
    require()
    if wrong := set(chosen.protocol) ^ set(procedure.protocol):
        raise ValueError(f"{procedure.name}: the setup is that of another experiment, which differs in {sorted(wrong)}")
    folder = Path(folder)
    make_folder(folder)
    first = chosen.data in ("its own", *procedure.data[:1])
    stem = procedure.name if first else f"{procedure.name}-{chosen.data}"
    file, html = folder / f"{stem}.nc", folder / f"{stem}.html"
    for path in (file, html):
        ensure_writable(path)
    if isolate:
        registry().require_installed(registry().suppliers, "pass isolate=False")
    with lock(file):
        with Process() if isolate else nullcontext() as process:
            origin = provenance(process.threads if process else threads())
            code = {"sources": plugin_sources()}
            journal = Journal(file, origin | code, lambda: data_sets.files(chosen.data))
            measure = partial(measure_in, process, procedure.name, chosen)
            records = _run_all(procedure, chosen, journal, measure, fresh, progress)
        results = join(procedure.axes(chosen), list(records.values()))
        results.attrs = describe(procedure, chosen, origin, list(records.values()))
        files.write(results, file)
        text = page.render(procedure, results, chosen)
        replace_text(html, text)
        journal.remove(records)
    return RunOutput(results, file, html)


def _run_all(
    procedure: Procedure, chosen: Setup, journal: Journal, measure: Measure, fresh: bool, progress: Progress
) -> dict[str, Record]:
    """The records of all cells by their keys; RuntimeError if one fails, or if files of the user changed meanwhile."""
    cells = {make_key([procedure.name, asdict(chosen), cell]): cell for cell in _cells(procedure, chosen)}
    begun = journal.identity()

    def perform(cell: Cell) -> Record:
        record = measure(cell)
        if reason := record.get("failed"):
            raise RuntimeError(f"{procedure.name} failed at {_place(cell) or 'its cell'}: {reason}")
        return record

    def tell(done: int, total: int, record: Record | None) -> None:
        progress(done, total, _place(cells[record["key"]]) if record else "")

    records = run_resumable(cells, one_by_one(perform), journal, fresh=fresh, progress=tell)
    if journal.identity() != begun:
        raise RuntimeError(
            f"{procedure.name}: the files of {chosen.data} changed while it ran, so its cells are of different "
            "images: run it again, cells of the files as they are now are kept"
        )
    return records


def _cells(procedure: Procedure, chosen: Setup) -> list[Cell]:
    axes = procedure.axes(chosen)
    return [dict(zip(axes, place, strict=True)) for place in itertools.product(*axes.values())]


def _place(cell: Cell) -> str:
    """The position of a cell, for messages."""
    return ", ".join(str(value) for value in cell.values())


def measure_in(process: Process | None, name: str, chosen: Setup, cell: Cell) -> Record:
    """Call `measure_cell`, in a separate process if possible, so that a crash or hang does not affect other cells."""
    if process is None:
        return measure_cell(name, chosen, cell)
    try:
        record: Record = process.call(Call(measure_cell, (name, chosen, cell), TIMEOUT))
    except (TimeoutError, DiedError) as error:
        return {"failed": str(error)}
    return record


def measure_cell(name: str, chosen: Setup, cell: Cell) -> dict[str, Any]:
    """One cell as plain values with its warnings, or why it failed, since a call in a worker must not raise."""
    try:
        with collect_notes() as notes:
            measured = find(name).measure(chosen, cell).to_dict()
    except (Exception, SystemExit) as error:
        return {"failed": describe_error(error)}
    return {"measured": measured, "notes": notes}

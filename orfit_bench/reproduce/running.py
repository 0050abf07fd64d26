"""Running an experiment: cell by cell in a process of its own, each finished cell kept, then one file and one page."""

from __future__ import annotations

import hashlib
import itertools
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orfit_bench.bench import results as files
from orfit_bench.errors import UnavailableError, hint
from orfit_bench.jobs.files import make_folder, replace, writable
from orfit_bench.jobs.journal import Journal
from orfit_bench.jobs.notes import describe_error as said_by
from orfit_bench.jobs.notes import one_line as line
from orfit_bench.jobs.processes import Call, DiedError, Process, finished, threads
from orfit_bench.jobs.provenance import provenance
from orfit_bench.plugins.registry import registry
from orfit_bench.report.page import require
from orfit_bench.reproduce import data as data_sets
from orfit_bench.reproduce import page
from orfit_bench.reproduce.experiment import Cell, Experiment, Setup
from orfit_bench.reproduce.experiments import EXPERIMENTS
from orfit_bench.spec.setting import inside

if TYPE_CHECKING:
    import xarray

FORMAT = "orfit_bench reproduction 1"
TIMEOUT = 3600.0
"""Longest time of one cell, in seconds."""
Progress = Callable[[int, int, str], None]


class Made(NamedTuple):
    """What a run leaves behind."""

    results: xarray.Dataset
    file: Path
    page: Path


def find(name: str) -> Experiment:
    """The experiment of this name. ValueError with the nearest name where there is none."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment {name!r}{hint(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]


def setup(experiment: Experiment, data: str | None = None, **protocol: Any) -> Setup:
    """What a run of it is made of, the backend being numba where it is installed, else numpy.

    ValueError for data that the experiment does not take, protocol names that it does not have and numbers outside
    their range, TypeError for another kind than the default's, UnavailableError where the data are not here.
    """
    made = data or next(iter(experiment.data), "its own")
    if data and data not in experiment.data:
        takes = f"want one of {', '.join(experiment.data)}" if experiment.data else "it makes its own rows"
        raise ValueError(f"{experiment.name} with data {data!r}: {takes}")
    if reason := data_sets.why_absent(made):
        raise UnavailableError(f"{experiment.name} with data {made!r}: {reason}")
    for name in protocol:
        if name not in experiment.protocol:
            raise ValueError(f"{experiment.name} has no {name!r} to set{hint(name, experiment.protocol)}")
    whole = {**experiment.protocol, **protocol}
    whole = {name: _checked(experiment, name, whole) for name in whole}
    here = [b for b in ("numba", "numpy") if b in registry().backends and not registry().backends[b].reason]
    if not here:
        raise UnavailableError("neither the numba nor the numpy backend is installed")
    return Setup(made, here[0], whole)


def _checked(experiment: Experiment, name: str, protocol: Mapping[str, Any]) -> Any:
    """The number of this name, or the tuple of them, each of the default's kind and in its range."""
    value, default = protocol[name], experiment.protocol[name]
    many = isinstance(default, tuple)
    integer = isinstance(default[0] if many else default, int)
    interval = experiment.ranges.get(name, "[1, inf)").format(**protocol)
    wanted = f"{'an integer' if integer else 'a number'} in {interval}"
    if many:
        wanted = f"a tuple, each greater than the one before and {wanted}"
    kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    found = value if many else (value,)
    if not isinstance(found, (tuple, list)) or not all(isinstance(v, kinds) and not isinstance(v, bool) for v in found):
        raise TypeError(f"{experiment.name}: {name}={value!r}, want {wanted}")
    if not found or not all(inside(v, interval) for v in found) or any(np.diff(found) <= 0):
        raise ValueError(f"{experiment.name}: {name}={value!r}, want {wanted}")
    plain = tuple(int(v) if integer else float(v) for v in found)
    return plain if many else plain[0]


def run(
    experiment: Experiment,
    chosen: Setup,
    folder: Path,
    *,
    isolate: bool = True,
    fresh: bool = False,
    progress: Progress = lambda done, total, now: None,
) -> Made:
    """Compute all cells and write NAME.nc and NAME.html into the folder, which is made where only it is missing.

    After a kill at any moment the same call takes over the finished cells, unless `fresh`, and ends in the same
    numbers. progress(done, all, what was done last) is called once at the start and after each cell. RuntimeError
    where a cell fails; the finished ones are kept. UnavailableError at once where matplotlib or Jinja is not installed.
    """
    require()
    make_folder(folder)
    stem = experiment.name if chosen.data in ("its own", *experiment.data[:1]) else f"{experiment.name}-{chosen.data}"
    file, html = folder / f"{stem}.nc", folder / f"{stem}.html"
    for path in (file, html):
        writable(path)
    if not isolate:
        return _made(experiment, chosen, file, html, threads(), fresh, progress, _measured)
    registry().require_installed("pass isolate=False")
    with Process() as process:

        def apart(*arguments: Any) -> dict[str, Any]:
            record: dict[str, Any] = finished(process.begin(Call(_measured, arguments, TIMEOUT)))
            return record

        return _made(experiment, chosen, file, html, process.threads, fresh, progress, apart)


def _made(
    experiment: Experiment,
    chosen: Setup,
    file: Path,
    html: Path,
    said: dict[str, str],
    fresh: bool,
    progress: Progress,
    measured: Callable[[str, Setup, Cell], dict[str, Any]],
) -> Made:
    told = provenance(said)
    cells = _cells(experiment, chosen)
    journal = Journal(file, told, lambda: data_sets.files(chosen.data))
    begun = journal.identity()
    keys = [_key(experiment, chosen, cell) for cell in cells]
    if fresh:
        journal.remove(keys)
    records = {key: record for key, record in journal.read().items() if key in keys}
    progress(len(records), len(cells), "")
    for key, cell in zip(keys, cells, strict=True):
        if key in records:
            continue
        what = ", ".join(str(value) for value in cell.values())
        try:
            records[key] = {"key": key, **measured(experiment.name, chosen, cell)}
        except (TimeoutError, DiedError) as error:
            records[key] = {"failed": str(error)}
        if reason := records[key].get("failed"):
            raise RuntimeError(f"{experiment.name} failed at {what or 'its cell'}: {reason}")
        journal.write(records[key])
        progress(len(records), len(cells), what)
    if journal.identity() != begun:
        raise RuntimeError(
            f"{experiment.name}: the files of {chosen.data} changed while it ran, so its cells are of different "
            "images: run it again, cells of the files as they are now are kept"
        )
    results = _joined(experiment.axes(chosen), [records[key] for key in keys])
    results.attrs = _attributes(experiment, chosen, told, list(records.values()))
    files.write(results, file)
    html_text = page.render(experiment, results, chosen)
    replace(html, lambda path: path.write_text(html_text, encoding="utf-8"))
    journal.remove(keys)
    return Made(results, file, html)


def _cells(experiment: Experiment, chosen: Setup) -> list[Cell]:
    axes = experiment.axes(chosen)
    return [dict(zip(axes, place, strict=True)) for place in itertools.product(*axes.values())]


def _key(experiment: Experiment, chosen: Setup, cell: Cell) -> str:
    text = json.dumps([experiment.name, asdict(chosen), cell], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _measured(name: str, chosen: Setup, cell: Cell) -> dict[str, Any]:
    """One cell as plain values, and what was warned of; or why it failed, for a worker's call must not raise."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for said in (UserWarning, RuntimeWarning):  # lost digits and overflow speak of the result
            warnings.simplefilter("always", said)
        try:
            measured = find(name).measure(chosen, cell).to_dict()
        except (Exception, SystemExit) as error:
            return {"failed": said_by(error)}
    return {"measured": measured, "notes": sorted({f"{w.category.__name__}: {line(w.message)}" for w in caught})}


def _joined(axes: Mapping[str, list[Any]], records: list[dict[str, Any]]) -> xarray.Dataset:
    """The cells, in the order of their product, as one Dataset with a dimension for each axis."""
    import xarray

    parts = [xarray.Dataset.from_dict(record["measured"]) for record in records]
    for axis, places in reversed(list(axes.items())):
        n = len(places)
        index = xarray.DataArray(places, dims=axis, name=axis)
        parts = [
            xarray.concat(parts[i : i + n], index, combine_attrs="override", join="exact", coords="minimal")
            for i in range(0, len(parts), n)
        ]
    (whole,) = parts
    return whole


def _attributes(
    experiment: Experiment, chosen: Setup, told: dict[str, Any], records: list[dict[str, Any]]
) -> dict[str, str]:
    """No date: the same numbers are the same file."""
    notes = sorted({note for record in records for note in record["notes"]})
    attrs = {"format": FORMAT, "experiment": experiment.name, "source": experiment.source}
    attrs |= {"data": chosen.data, "backend": chosen.backend}
    plain = {"protocol": dict(chosen.protocol), "notes": notes, **told}
    return attrs | {k: v if isinstance(v, str) else json.dumps(v, sort_keys=True) for k, v in plain.items()}

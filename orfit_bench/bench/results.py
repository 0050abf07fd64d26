"""The results: one labelled Dataset, in memory and in a netCDF file. What is not applicable is NaN, never zero."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.bench import models
from orfit_bench.bench.error import ERRORS
from orfit_bench.bench.protocol import Protocol
from orfit_bench.files import replace
from orfit_bench.host.registry import registry
from orfit_bench.spec import Metric

if TYPE_CHECKING:
    import xarray

FORMAT = "orfit_bench results 2"
"""2: kind, model and error stand beside each cell, and forgetting is the survey's (1: the rise of the root of E)."""
NEEDED = ("date", "versions", "machine", "commit", "suite")
"""Attributes of every file of it."""
Get = Callable[[dict[str, Any]], Any]

COORDINATES: dict[str, tuple[Get, str]] = {
    "method": (lambda r: r["cell"]["method"], "learning rule"),
    "kind": (lambda r: _kind(r), "what the method learns: regression, filter, classification or subspace"),
    "model": (lambda r: models.made(r["cell"]["model"]).name, "what the method fits"),
    "backend": (lambda r: r["cell"]["backend"], "what computed it"),
    "stream": (lambda r: r["cell"]["stream"], "what was learned"),
    "settings": (lambda r: json.dumps(r["cell"]["settings"]), "all settings of the method, JSON"),
    "stream_settings": (lambda r: json.dumps(r["cell"]["stream_settings"]), "all settings of the stream, JSON"),
    "seed": (lambda r: r["cell"]["seed"], "random_state of the learner, seed of the stream"),
    "error": (lambda r: ERRORS[_kind(r)].name, "what test_error is in this cell"),
    "protocol": (lambda r: Protocol(**r["cell"]["protocol"]).name, "passes and learners"),
    "dtype": (lambda r: r["cell"]["dtype"], "numbers of the state"),
    "status": (lambda r: r["status"], "ok, failed, timeout, crashed or absent"),
    "reason": (lambda r: r["reason"], "why it is not ok"),
    "notes": (lambda r: "; ".join(r.get("notes", [])), "warnings, and metrics that failed"),
    "supplier": (lambda r: r["supplier"], "distribution that supplied the kernel"),
    "key": (lambda r: r["key"], "hash of what the cell was"),
}
NUMBERS: dict[str, tuple[str, str]] = {
    "n": ("row", "rows of the stream"),
    "d": ("feature", "features of the stream"),
    "seconds": ("s", "wall time of learning alone, median of timed_runs runs"),
    "timed_runs": ("1", "runs against the clock"),
    "seconds_compile": ("s", "wall time of a first learner and a few rows: import, compilation, start"),
    "seconds_transfer": ("s", "wall time of bringing all rows to the backend's device, a part of seconds"),
}
SERIES: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    "rows_learned": ("rows_learned", ("point",), "row", "rows learned when the point was taken"),
    "test_error_trajectory": (
        "test_error",
        ("point",),
        "by kind",
        "the coordinate error, on the test set",
    ),
    "task_error": (
        "task_error",
        ("task_after", "task"),
        "by kind",
        "on the rows of task after the last row of task_after: mean squared error, share of wrong labels, or "
        "mean compression loss",
    ),
}


def dataset(records: Sequence[dict[str, Any]], provenance: dict[str, Any], suite: Any) -> xarray.Dataset:
    """The records as one Dataset over `cell`, with trajectories over `point` and the tasks' error matrices.

    attrs hold one JSON text each for versions, machine, commit and suite.
    """
    import xarray

    variables: dict[str, Any] = {}
    for name, (unit, meaning) in NUMBERS.items():
        variables[name] = "cell", _numbers(r.get(name) for r in records), {"units": unit, "long_name": meaning}
    for name, (key, dims, unit, meaning) in SERIES.items():
        values = _padded([np.array(r.get(key, []), float) for r in records], len(dims))
        variables[name] = ("cell", *dims), values, {"units": unit, "long_name": meaning}
    for metric in registry().metrics.values():
        values = _numbers(r.get("metrics", {}).get(metric.name) for r in records)
        variables[f"metric_{metric.name}" if metric.name in variables else metric.name] = "cell", values, _about(metric)
    coordinates = {
        name: ("cell", np.array([get(r) for r in records]), {"long_name": meaning})
        for name, (get, meaning) in COORDINATES.items()
    }
    attrs = {"format": FORMAT, "date": datetime.now(UTC).isoformat(timespec="seconds"), "suite": json.dumps(suite)}
    attrs |= {k: v if isinstance(v, str) else json.dumps(v, sort_keys=True) for k, v in provenance.items()}
    return xarray.Dataset(variables, coordinates, attrs)


def _kind(record: dict[str, Any]) -> str:
    return registry().methods[record["cell"]["method"]].kind


def _about(metric: Metric) -> dict[str, str]:
    attrs = {"units": metric.unit, "long_name": metric.summary, "formula": metric.formula}
    return attrs | {"source": metric.source, "better": metric.better}


def _numbers(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], float)


def _padded(arrays: list[NDArray[Any]], ndim: int) -> NDArray[np.float64]:
    """The arrays as one, NaN where one is shorter than the longest."""
    whole = [a if a.ndim == ndim else np.empty((0,) * ndim) for a in arrays]
    longest = [max((a.shape[i] for a in whole), default=0) for i in range(ndim)]
    out = np.full((len(whole), *longest), np.nan)
    for row, a in zip(out, whole, strict=True):
        row[tuple(slice(k) for k in a.shape)] = a
    return out


def write(results: xarray.Dataset, path: Path) -> None:
    """Write a netCDF file; path holds the old file or the whole new one at every moment."""
    replace(path, lambda temporary: results.to_netcdf(temporary, engine="h5netcdf"))


def load(path: str | Path) -> xarray.Dataset:
    """The results in a file that `run` wrote; ValueError where it is something else."""
    import xarray

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        results = xarray.load_dataset(path, engine="h5netcdf")
    except (OSError, ValueError, KeyError, RuntimeError) as error:  # the last from HDF5, of a damaged file
        said = str(error).partition("\n")[0]
        raise ValueError(f"{path}: no netCDF file, or a damaged one ({type(error).__name__}: {said})") from error
    if (found := str(results.attrs.get("format", ""))) != FORMAT:
        if found.startswith(FORMAT.rstrip("0123456789")):
            raise ValueError(f"{path}: written as {found!r}, this version reads {FORMAT!r}: run it again")
        raise ValueError(f"{path}: no file of {FORMAT}")
    if missing := [name for name in NEEDED if name not in results.attrs]:
        raise ValueError(f"{path}: a damaged file of {FORMAT}, without {', '.join(missing)}: run it again")
    return results

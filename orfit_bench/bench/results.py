"""The results: one labelled Dataset, in memory and in a netCDF file. A value that does not apply is NaN, not zero."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.bench import models
from orfit_bench.bench.digests import decode, encode, is_intact
from orfit_bench.bench.error import ERRORS
from orfit_bench.bench.protocol import Protocol
from orfit_bench.jobs import system
from orfit_bench.jobs.files import ensure_regular, replace
from orfit_bench.jobs.provenance import as_attributes
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Metric

if TYPE_CHECKING:
    import xarray

FORMAT = "orfit_bench results 2"
"""2: cells have a kind, model and error, and forgetting is defined as in the survey (1: the increase of the root)."""
ATTRIBUTES = ("date", "versions", "machine", "commit", "suite")
"""The attributes of every file."""
ORIGIN = ("machine", "versions", "commit", "date")
"""Attributes that become coordinates of the cells in a merged file, with their hash `run`."""
TABLES = ("versions", "machine", "commit", "suite", "settings", "stream_settings")
"""Attributes and coordinates that are JSON objects."""
MACHINE = ("cpu", "cores", "memory", "platform")
METRICS = (
    "test_error",
    "forgetting",
    "throughput",
    "seconds_per_sample",
    "share_of_limit",
    "host_memory",
    "device_memory",
)
"""Metrics that tables and figures access by name."""
RENAMED = {"samples_per_second": "throughput", "deviation_P": "inverse_gram_error"}
"""Metrics that earlier versions wrote under other names: from old to new name."""
FILE = "file"
"""The stream of the user's files."""
ROWS_HASH = "rows_hash"
"""A coordinate that is missing in files of earlier versions."""
OTHER_FORMATS = (".csv", ".parquet", ".md", ".json", ".html", ".npz")
"""Endings that a file of results must not have, since they denote other formats than netCDF."""
NO_MEMORY = "there is not enough memory to read this file"
Get = Callable[[dict[str, Any]], Any]

COORDINATES: dict[str, tuple[Get, str]] = {
    "method": (lambda r: r["cell"]["method"], "learning rule"),
    "kind": (lambda r: _kind(r), "what the method learns: regression, filter, classification or subspace"),
    "model": (lambda r: models.build(r["cell"]["model"]).name, "the model that the method fits"),
    "backend": (lambda r: r["cell"]["backend"], "the backend that computed it"),
    "stream": (lambda r: r["cell"]["stream"], "the stream that was learned"),
    "settings": (lambda r: json.dumps(r["cell"]["settings"]), "all settings of the method, JSON"),
    "stream_settings": (lambda r: json.dumps(r["cell"]["stream_settings"]), "all settings of the stream, JSON"),
    "seed": (lambda r: r["cell"]["seed"], "random_state of the learner, seed of the stream"),
    "error": (lambda r: ERRORS[_kind(r)].name, "the meaning of test_error in this cell"),
    "protocol": (lambda r: Protocol(**r["cell"]["protocol"]).name, "passes and learners"),
    "dtype": (lambda r: r["cell"]["dtype"], "dtype of the state"),
    "status": (lambda r: r["status"], "ok, failed, timeout, crashed or absent"),
    "reason": (lambda r: r["reason"], "why the status is not ok"),
    "notes": (lambda r: "; ".join(r.get("notes", [])), "warnings, and metrics that failed"),
    "supplier": (lambda r: r["supplier"], "distribution that supplied the kernel"),
    ROWS_HASH: (
        lambda r: r.get(ROWS_HASH, ""),
        "hash of the rows, or of the stream if they stayed in a file; empty if a seed draws those, or the cell failed",
    ),
    "key": (lambda r: r["key"], "hash of the description of the cell"),
}
NUMBERS: dict[str, tuple[str, str]] = {
    "n": ("row", "rows of the stream"),
    "d": ("feature", "features of the stream"),
    "seconds": ("s", "wall time of learning alone, median of timed_runs runs"),
    "timed_runs": ("1", "number of timed runs"),
    "seconds_compile": ("s", "wall time of a first learner and a few rows: import, compilation, initialization"),
    "seconds_transfer": ("s", "wall time of the transfer of all rows to the device, part of seconds"),
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

KNOWN = (*COORDINATES, *NUMBERS, *SERIES, *METRICS)
"""The variables of every file."""


def stream_name(stream: str, settings: Mapping[str, Any]) -> str:
    """The name of a stream; for a file of the user, the name of the file."""
    path = settings.get("path") if stream == FILE else ""
    return str(path or "").rstrip("/").rsplit("/", 1)[-1] or stream


def stream_names(results: xarray.Dataset) -> list[str]:
    """The name of the stream of each cell, or of its file."""
    given = zip(results["stream"].values, results["stream_settings"].values, strict=True)
    return [stream_name(str(stream), json.loads(settings)) for stream, settings in given]


def per_cell() -> set[str]:
    """The variables with one value per cell that a run may write, including metrics of plugins."""
    return {*COORDINATES, *NUMBERS, *METRICS, *registry().metrics}


def to_dataset(records: Sequence[dict[str, Any]], provenance: dict[str, Any], suite: Any) -> xarray.Dataset:
    """Return the records as one Dataset over `cell`, with trajectories over `point` and error matrices over tasks.

    The attributes versions, machine, commit and suite are JSON strings.
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
        variables[metric.name] = "cell", values, _about(metric)
    coordinates = {
        name: ("cell", _coordinate([get(r) for r in records]), {"long_name": meaning})
        for name, (get, meaning) in COORDINATES.items()
    }
    attrs = {"format": FORMAT, "date": datetime.now(UTC).isoformat(timespec="seconds"), "suite": json.dumps(suite)}
    return xarray.Dataset(variables, coordinates, attrs | as_attributes(provenance))


def _coordinate(values: list[Any]) -> NDArray[Any]:
    """An array of strings or integers; NumPy would round integers of both halves of the range of uint64 to floats."""
    found = np.array(values)
    return np.array(values, np.uint64) if found.dtype.kind == "f" else found


def _kind(record: dict[str, Any]) -> str:
    return registry().methods[record["cell"]["method"]].kind


def _about(metric: Metric) -> dict[str, str]:
    attrs = {"units": metric.unit, "long_name": metric.summary, "formula": metric.formula}
    return attrs | {"source": metric.source, "better": metric.better}


def _numbers(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], float)


def _padded(arrays: list[NDArray[Any]], ndim: int) -> NDArray[np.float64]:
    """The arrays stacked, with shorter ones padded by NaN."""
    valid = [a if a.ndim == ndim else np.empty((0,) * ndim) for a in arrays]
    longest = [max((a.shape[i] for a in valid), default=0) for i in range(ndim)]
    out = np.full((len(valid), *longest), np.nan)
    for row, a in zip(out, valid, strict=True):
        row[tuple(slice(k) for k in a.shape)] = a
    return out


def ensure_netcdf(path: Path) -> None:
    """Raise ValueError if the path has the ending of another format."""
    if path.suffix.lower() in OTHER_FORMATS:
        raise ValueError(f"{path}: results are netCDF, want .nc; orfit-bench export writes other formats of them")


def write(results: xarray.Dataset, path: Path) -> None:
    """Write a netCDF file atomically, with digests of its arrays and of its content."""
    data = encode(results)
    replace(path, lambda file: file.write(data))


def is_empty(results: xarray.Dataset) -> bool:
    """Whether every cell is absent, so that nothing was measured."""
    return bool((results["status"].values == "absent").all())


def load(path: str | Path) -> xarray.Dataset:
    """Read a file of results and check it.

    Parameters
    ----------
    path : str or Path
        A netCDF file written by `run`.

    Returns
    -------
    xarray.Dataset
        The results; metrics that an earlier version wrote under other names are renamed.

    Raises
    ------
    OSError
        If the path is not a regular file, or cannot be read.
    ValueError
        If the file is damaged, or not a file of results of this version.
    MemoryError
        If there is not enough memory to read the file, and no damage was found before.

    Examples
    --------
    >>> import tempfile
    >>> from orfit_bench.bench import Suite, load, run
    >>> path = Path(tempfile.mkdtemp(), "results.nc")
    >>> suite = Suite(methods=["lms"], backends=["numpy"], streams=["regression"], rows=[50])
    >>> _ = run(suite, path, isolate=False)
    >>> load(path)["status"].values.tolist()
    ['ok']
    """
    return checked(read(Path(path)), path)


def read(path: Path) -> xarray.Dataset:
    """Read a file of `write` with any results, and check its digests. Raises the same errors as `load`."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: this is a folder, want a file of results")
    ensure_regular(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        data = system.read(path)
    except OSError as error:
        raise type(error)(f"{path}: the results cannot be read ({error.strerror or type(error).__name__})") from error
    except MemoryError as error:
        raise MemoryError(f"{path}: {NO_MEMORY}") from error
    try:
        return decode(data)
    except Exception as error:  # HDF5 raises anything for a damaged file
        if isinstance(error, MemoryError) and is_intact(data):
            raise MemoryError(f"{path}: {NO_MEMORY}") from error
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path}: not a netCDF file, or damaged ({type(error).__name__}: {reason})") from error


def checked(results: xarray.Dataset, path: str | Path) -> xarray.Dataset:
    """The results of a benchmark, with current names. Raises ValueError if the file contains something else."""
    results = results.rename({old: new for old, new in RENAMED.items() if old in results and new not in results})
    if ROWS_HASH not in results and "cell" in results.sizes:
        results = results.assign_coords({ROWS_HASH: ("cell", np.full(results.sizes["cell"], ""))})
    if (found := str(results.attrs.get("format", ""))) != FORMAT:
        if found.startswith(FORMAT.rstrip("0123456789")):
            raise ValueError(
                f"{path}: written in the format {found!r}, but this version reads {FORMAT!r}: run the benchmark again"
            )
        raise ValueError(f"{path}: not a file of {FORMAT}")
    if wrong := _missing(results) or _shapes(results) or _tables(results):
        raise ValueError(f"{path}: a damaged file of {FORMAT}: {wrong}")
    if not results.sizes["cell"]:
        raise ValueError(f"{path}: the results have no cells")
    return results


def _missing(results: xarray.Dataset) -> str:
    """A message about missing variables and attributes; empty if there are none."""
    origin = (*ORIGIN, "run") if "run" in results.variables else ()
    missing = [name for name in ATTRIBUTES if name not in results.attrs]
    missing += [name for name in (*KNOWN, *origin) if name not in results.variables]
    return f"{', '.join(missing)} missing; run the benchmark again" if missing else ""


def _shapes(results: xarray.Dataset) -> str:
    """A message about a variable with wrong dimensions; empty if there is none."""
    hint = "" if "cell" in results.dims else "; select cells with a list, as in isel(cell=[0])"
    for name in KNOWN:
        want = ("cell", *SERIES[name][1]) if name in SERIES else ("cell",)
        if (got := results[name].dims) != want:
            return f"{name} has dimensions {got}, want {want}{hint}"
    return ""


def _tables(results: xarray.Dataset) -> str:
    """A message about a string that is not the expected JSON; empty if there is none."""
    for name in TABLES:
        texts = [results.attrs[name]] if name in results.attrs else []
        texts += list(results[name].values) if name in results.variables else []
        for text in {str(text) for text in texts}:
            try:
                table = json.loads(text)
            except ValueError as error:
                return f"{name} is not JSON ({error}): {text[:40]!r}"
            needed = MACHINE if name == "machine" else ()
            if not isinstance(table, dict) or any(key not in table for key in needed):
                return f"{name} is not a table{' of ' if needed else ''}{', '.join(needed)}: {text[:40]!r}"
    return ""

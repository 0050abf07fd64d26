"""The results: one labelled Dataset, in memory and in a netCDF file. A value that does not apply is NaN, not zero."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.bench.netcdf import decode, encode, is_intact
from orfit_bench.bench.results_checks import checked
from orfit_bench.bench.variables import COORDINATES, FORMAT, NUMBERS, SERIES
from orfit_bench.jobs import system
from orfit_bench.jobs.files import ensure_regular, replace
from orfit_bench.jobs.notes import printable
from orfit_bench.jobs.provenance import as_attributes
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Metric

if TYPE_CHECKING:
    import xarray

OTHER_FORMATS = (".csv", ".parquet", ".md", ".json", ".html", ".npz")
"""Endings that a file of results must not have, since they denote other formats than netCDF."""
NO_MEMORY = "there is not enough memory to read this file"


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


def _about(metric: Metric) -> dict[str, str]:
    attrs = {"units": metric.unit, "long_name": metric.summary, "formula": metric.formula, "source": metric.source}
    return {name: printable(text) for name, text in attrs.items()} | {"better": metric.better}


def _numbers(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array(list(values), float)  # None becomes NaN


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

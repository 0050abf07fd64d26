"""Results of several runs in one table, and that table in other formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench.results import FORMAT, ORIGIN
from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.files import replace
from orfit_bench.jobs.keys import make_text_key
from orfit_bench.plugins.registry import registry

if TYPE_CHECKING:
    import pandas as pd
    import xarray

SHOWN_IF_DIFFERENT = ("stream_settings", "error", "protocol", "dtype", "run", "processor")
"""Columns of a table for readers only where cells differ in them."""


def merge(results: Sequence[xarray.Dataset]) -> xarray.Dataset:
    """One Dataset with the cells of all, each with its machine, versions, commit and date, and their hash as `run`.

    A cell is replaced only by a later one of the same machine, versions and commit. ValueError without results.
    """
    import xarray

    if not results:
        raise ValueError("no results to merge")
    parts = [_texts(_with_origin(r), object) for r in results]
    longest = {dim: max(r.sizes[dim] for r in parts) for dim in parts[0].dims if dim != "cell"}
    whole = [r.pad({dim: (0, n - r.sizes[dim]) for dim, n in longest.items()}) for r in parts]
    table = _texts(xarray.concat(whole, "cell", join="outer", combine_attrs="drop_conflicts"), str)
    table.attrs = {"format": FORMAT, "merged": json.dumps(len(results))} | _common(results)
    latest: dict[tuple[str, str], int] = {}
    for i in np.argsort(table["date"].values.astype(str), kind="stable"):
        latest[str(table["key"].values[i]), str(table["run"].values[i])] = int(i)
    return table.isel(cell=sorted(latest.values()))


def runs(results: xarray.Dataset) -> list[str]:
    """Each cell's run, by the order in which a merged file has them; of a file of one run it is "run 1"."""
    if "run" not in results.coords:
        return ["run 1"] * results.sizes["cell"]
    order = {run: f"run {k}" for k, run in enumerate(dict.fromkeys(map(str, results["run"].values)), start=1)}
    return [order[str(run)] for run in results["run"].values]


def origin(results: xarray.Dataset, name: str) -> list[str]:
    """Of each cell one of ORIGIN: what stands beside it in a merged file, else what stands in the file's attributes."""
    if name in results.coords:
        return [str(text) for text in results[name].values]
    return [str(results.attrs[name])] * results.sizes["cell"]


def _common(results: Sequence[xarray.Dataset]) -> dict[str, str]:
    """The attributes of the latest result; what stands beside the cells is of each its own."""
    last = max(results, key=lambda r: str(r.attrs["date"]))
    return {name: str(value) for name, value in last.attrs.items() if name != "format"}


def _with_origin(results: xarray.Dataset) -> xarray.Dataset:
    if "run" in results.coords:  # merged before
        return results
    origin = {name: str(results.attrs[name]) for name in ORIGIN}
    same = [origin[name] for name in ORIGIN if name != "date"]
    origin["run"] = make_text_key(json.dumps(same))
    n = results.sizes["cell"]
    return results.assign_coords({name: ("cell", np.full(n, text)) for name, text in origin.items()})


def _texts(results: xarray.Dataset, kind: Any) -> xarray.Dataset:
    """With its texts as objects, which may be joined at any length, or as texts again."""
    names = [name for name, c in results.coords.items() if c.dtype.kind in "UO"]
    return results.assign_coords({name: results[name].astype(kind) for name in names})


def to_frame(results: xarray.Dataset) -> pd.DataFrame:
    """A row a cell: what it was, and every number; trajectories and matrices are left to the netCDF file."""
    plain = results[[name for name, v in results.data_vars.items() if v.dims == ("cell",)]]
    return plain.to_dataframe().reset_index(drop=True)


def export(results: xarray.Dataset, path: Path) -> None:
    """Write the flat table as the path's ending says: .csv, .parquet or .md.

    ValueError for another ending, UnavailableError where Parquet's library is not installed, OSError as
    `orfit_bench.jobs.files.replace`.
    """
    writers: dict[str, Any] = {".csv": _csv, ".parquet": _parquet, ".md": _markdown}
    if path.suffix.lower() not in writers:
        raise ValueError(f"{path}: want a file ending in one of {', '.join(writers)}")
    table = _readable(results) if path.suffix.lower() == ".md" else to_frame(results)
    replace(path, lambda temporary: writers[path.suffix.lower()](table, temporary))


def _csv(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False)


def _parquet(table: pd.DataFrame, path: Path) -> None:
    try:
        table.to_parquet(path, index=False)
    except ImportError:
        raise UnavailableError("Parquet files need pyarrow, which is not installed: pip install pyarrow") from None


def _readable(results: xarray.Dataset) -> pd.DataFrame:
    """What tells cells apart, and the metrics that apply to any, with four digits."""
    processors = [json.loads(machine)["cpu"] for machine in origin(results, "machine")]
    table = to_frame(results).assign(run=runs(results), processor=processors)
    apart = [name for name in SHOWN_IF_DIFFERENT if table[name].nunique() > 1]
    names = ["method", "settings", "model", "backend", "stream", "seed", *apart, "status", *registry().metrics]
    shown = table[[name for name in names if name in table]].dropna(axis=1, how="all")
    return shown.map(lambda v: f"{v:.4g}" if isinstance(v, float) else str(v))


def _markdown(table: pd.DataFrame, path: Path) -> None:
    lines = [list(table.columns), ["---"] * table.shape[1], *table.values.tolist()]
    text = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    path.write_text(text + "\n", encoding="utf-8")

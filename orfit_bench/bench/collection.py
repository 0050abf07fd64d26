"""Merging the results of several runs, and exporting results to other formats."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from orfit_bench.bench.results import to_dataset
from orfit_bench.bench.variables import FORMAT, ORIGIN, ROWS_HASH, stream_names
from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.files import replace
from orfit_bench.jobs.keys import make_text_key
from orfit_bench.plugins.registry import registry

if TYPE_CHECKING:
    import pandas as pd
    import xarray

SHOWN_IF_DIFFERENT = ("stream_settings", "error", "protocol", "dtype", "run", "processor")
"""Columns that a Markdown table has only if cells differ in them."""


def merge(results: Sequence[xarray.Dataset]) -> xarray.Dataset:
    """Merge the results of several runs.

    Parameters
    ----------
    results : sequence of xarray.Dataset
        Results of `run` or `load`, or merged results.

    Returns
    -------
    xarray.Dataset
        All cells, with coordinates for machine, versions, commit and date, and `run`, a hash of the first three. Of
        equal cells with equal `run`, measured on the same rows, the latest with times is kept, or the latest if none
        has times. A cell that failed replaces equal cells that were measured earlier; one without data does not.

    Raises
    ------
    ValueError
        If there are no results.
    """
    import xarray

    if not results:
        raise ValueError("no results to merge")
    seeds = np.uint64 if any(r["seed"].dtype.kind in "uf" for r in results) else np.int64
    parts = [_texts(_with_origin(r), object).assign_coords(seed=r["seed"].astype(seeds)) for r in results]
    longest = {dim: max(r.sizes[dim] for r in parts) for dim in parts[0].dims if dim != "cell"}
    padded = [r.pad({dim: (0, n - r.sizes[dim]) for dim, n in longest.items()}) for r in parts]
    joined = xarray.concat(padded, "cell", join="outer", combine_attrs="drop_conflicts")
    table = _texts(joined.drop_encoding(), str)  # an integer variable that is missing in one of them is now NaN there
    table.attrs = {"format": FORMAT, "merged": json.dumps(len(results))} | _common(results)
    latest: dict[tuple[str, str], dict[str, int]] = {}
    key, run, rows, date = (table[name].values.astype(str).tolist() for name in ("key", "run", ROWS_HASH, "date"))
    is_timed, status = np.isfinite(table["seconds"].values), table["status"].values.astype(str)
    for i in np.argsort(date, kind="stable"):
        found = latest.setdefault((key[i], run[i]), {})
        if rows[i] in found and status[i] == "ok" and is_timed[found[rows[i]]] > is_timed[i]:
            continue  # the same errors without times
        if found and status[i] == "absent":
            continue
        if rows[i]:
            found.pop("", None)
        else:  # not measured, regardless of the rows
            found.clear()
        found[rows[i]] = int(i)
    return table.isel(cell=sorted(i for found in latest.values() for i in found.values()))


def gather(records: Sequence[dict[str, Any]], provenance: dict[str, Any], suite: Any) -> xarray.Dataset:
    """The records as one Dataset, in order; records of several machines or versions are kept as by `merge`.

    A record that was made elsewhere has its own provenance as `origin`.
    """
    origins = [record.get("origin", {}) for record in records]
    usual: dict[str, Any] = next(filter(None, origins), {})  # for cells that were not run
    texts = [json.dumps(found or usual, sort_keys=True) for found in origins]
    parts = []
    for text in dict.fromkeys(texts):
        same = [record for record, of_record in zip(records, texts, strict=True) if of_record == text]
        parts.append(to_dataset(same, provenance | json.loads(text), suite))
    if len(parts) == 1:
        return parts[0]
    place = {record["key"]: i for i, record in enumerate(records)}
    merged = merge(parts)
    return merged.isel(cell=np.argsort([place[key] for key in merged["key"].values]))


def runs(results: xarray.Dataset) -> list[str]:
    """Return the label of the run of each cell, "run 1", "run 2", ... in order of occurrence.

    Runs on the same machine with the same versions and commit have the same label, unless they measured the same cells
    on different rows.
    """
    if "run" not in results.coords:
        return ["run 1"] * results.sizes["cell"]
    key, run, date = (results[name].values.astype(str).tolist() for name in ("key", "run", "date"))
    repeated = {one for (_, one), count in Counter(zip(key, run, strict=True)).items() if count > 1}
    found, seen = [], Counter[tuple[str, str, str]]()
    for cell in zip(key, run, date, strict=True):
        found.append((cell[1], cell[2], seen[cell]) if cell[1] in repeated else (cell[1], "", 0))
        seen[cell] += 1
    order = {one: f"run {k}" for k, one in enumerate(dict.fromkeys(found), start=1)}
    return [order[one] for one in found]


def origin(results: xarray.Dataset, name: str) -> list[str]:
    """Return machine, versions, commit or date of each cell, from a coordinate (merged file) or an attribute."""
    if name in results.coords:
        return [str(text) for text in results[name].values]
    return [str(results.attrs[name])] * results.sizes["cell"]


def _common(results: Sequence[xarray.Dataset]) -> dict[str, str]:
    """The attributes of the latest result; those that differ between runs are coordinates of the cells."""
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
    """Convert string coordinates to this kind: object, so that strings of any length can be concatenated, or back."""
    names = [name for name, c in results.coords.items() if c.dtype.kind in "UO"]
    return results.assign_coords({name: results[name].astype(kind) for name in names})


def to_frame(results: xarray.Dataset) -> pd.DataFrame:
    """Return a table with one row per cell, without trajectories and error matrices."""
    plain = results[[name for name, v in results.data_vars.items() if v.dims == ("cell",)]]
    return plain.to_dataframe().reset_index(drop=True)


def export(results: xarray.Dataset, path: Path) -> None:
    """Write the results as a table, in the format given by the ending of the path: .csv, .parquet or .md.

    Raises ValueError for another ending, UnavailableError if pyarrow is required and not installed, and OSError as
    `orfit_bench.jobs.files.replace` does.
    """
    writers: dict[str, Any] = {".csv": _csv, ".parquet": _parquet, ".md": _markdown}
    if path.suffix.lower() not in writers:
        raise ValueError(f"{path}: want a file ending in one of {', '.join(writers)}")
    table = _readable(results) if path.suffix.lower() == ".md" else to_frame(results)
    replace(path, lambda file: writers[path.suffix.lower()](table, file))


def _csv(table: pd.DataFrame, file: BinaryIO) -> None:
    table.to_csv(file, index=False)


def _parquet(table: pd.DataFrame, file: BinaryIO) -> None:
    try:
        table.to_parquet(file, index=False)
    except ImportError:
        raise UnavailableError("Parquet files require pyarrow, which is not installed: pip install pyarrow") from None


def _readable(results: xarray.Dataset) -> pd.DataFrame:
    """The columns in which cells differ, and the metrics that apply to any cell, with four digits."""
    processors = [json.loads(machine)["cpu"] for machine in origin(results, "machine")]
    table = to_frame(results).assign(run=runs(results), processor=processors, stream=stream_names(results))
    differing = [name for name in SHOWN_IF_DIFFERENT if table[name].nunique() > 1]
    names = ["method", "settings", "model", "backend", "stream", "seed", *differing, "status", *registry().metrics]
    shown = table[[name for name in names if name in table]].dropna(axis=1, how="all")
    return shown.map(lambda v: str(v) if not isinstance(v, float) else "n/a" if math.isnan(v) else f"{v:.4g}")


def _markdown(table: pd.DataFrame, file: BinaryIO) -> None:
    lines = [list(table.columns), ["---"] * table.shape[1], *table.values.tolist()]
    text = "\n".join("| " + " | ".join(map(_one_line, line)) + " |" for line in lines)
    file.write(f"{text}\n".encode())


def _one_line(cell: str) -> str:
    """The text of a cell of a Markdown table, with bars, tags and ends of lines escaped."""
    return "<br>".join(re.sub(r"([\\|<])", r"\\\1", cell).splitlines())

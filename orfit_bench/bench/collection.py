"""Merging the results of several runs, and telling the runs apart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench.results import to_dataset
from orfit_bench.bench.variables import FORMAT, ORIGIN, ROWS_HASH
from orfit_bench.jobs.keys import make_text_key

if TYPE_CHECKING:
    import xarray


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

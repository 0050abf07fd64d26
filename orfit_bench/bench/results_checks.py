"""Checks of a Dataset that a file contains: whether it holds results of this version, with every variable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from orfit_bench.bench.variables import FORMAT, KNOWN, ORIGIN, ROWS_HASH, SERIES

if TYPE_CHECKING:
    import xarray

ATTRIBUTES = ("date", "versions", "machine", "commit", "suite")
"""The attributes of every file."""
TABLES = ("versions", "machine", "commit", "suite", "settings", "stream_settings")
"""Attributes and coordinates that are JSON objects."""
MACHINE = ("cpu", "cores", "memory", "platform")
RENAMED = {"samples_per_second": "throughput", "deviation_P": "inverse_gram_error"}
"""Metrics that earlier versions wrote under other names: from old to new name."""


def checked(results: xarray.Dataset, path: str | Path) -> xarray.Dataset:
    """The results of a benchmark, with current names. Raises ValueError if the file contains something else."""
    results = results.rename({old: new for old, new in RENAMED.items() if old in results and new not in results})
    if ROWS_HASH not in results and "cell" in results.sizes:
        results = results.assign_coords({ROWS_HASH: ("cell", np.full(results.sizes["cell"], ""))})
    if (found := str(results.attrs.get("format", ""))) != FORMAT:
        if name := results.attrs.get("experiment"):
            raise ValueError(
                f"{path}: results of the experiment {name}, want those of orfit-bench run: open the page {name}.html "
                f"next to it, or read it by xarray.open_dataset"
            )
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

"""Export of results to other formats."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from orfit_bench.bench.collection import origin, runs
from orfit_bench.bench.variables import stream_names
from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.files import replace
from orfit_bench.plugins.registry import registry

if TYPE_CHECKING:
    import pandas as pd
    import xarray

SHOWN_IF_DIFFERENT = ("stream_settings", "error", "protocol", "dtype", "run", "processor")
"""Columns that a Markdown table has only if cells differ in them."""


def export(results: xarray.Dataset, path: Path) -> None:
    """Write the results as a table, in the format given by the ending of the path: .csv, .parquet or .md.

    Raises ValueError for another ending, UnavailableError if pyarrow is required and not installed, and OSError as
    `orfit_bench.jobs.files.replace` does.
    """
    writers: dict[str, Any] = {".csv": _csv, ".parquet": _parquet, ".md": _markdown}
    if path.suffix.lower() not in writers:
        raise ValueError(f"{path}: want a file ending in one of {', '.join(writers)}")
    table = _readable(results) if path.suffix.lower() == ".md" else _table(results)
    replace(path, lambda file: writers[path.suffix.lower()](table, file))


def _table(results: xarray.Dataset) -> pd.DataFrame:
    """A table with one row per cell, without trajectories and error matrices."""
    plain = results[[name for name, v in results.data_vars.items() if v.dims == ("cell",)]]
    return plain.to_dataframe().reset_index(drop=True)


def _csv(table: pd.DataFrame, file: BinaryIO) -> None:
    table.to_csv(file, index=False)


def _parquet(table: pd.DataFrame, file: BinaryIO) -> None:
    try:
        table.to_parquet(file, index=False)
    except ImportError:
        raise UnavailableError("Parquet files require pyarrow: pip install 'orfit-bench[parquet]'") from None


def _readable(results: xarray.Dataset) -> pd.DataFrame:
    """The columns in which cells differ, and the metrics that apply to any cell, with four digits."""
    processors = [json.loads(machine)["cpu"] for machine in origin(results, "machine")]
    table = _table(results).assign(run=runs(results), processor=processors, stream=stream_names(results))
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

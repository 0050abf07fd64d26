"""The columns of result tables: columns for each kind of error, for metrics of plugins, or chosen by the user."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.errors import suggest
from orfit_bench.plugins.discovery import is_own
from orfit_bench.plugins.registry import registry
from orfit_bench.report.labels import is_ok, number

if TYPE_CHECKING:
    import xarray

Columns = dict[str, tuple[str, str]]
"""Maps a variable to its column heading and format."""
COST: Columns = {
    "throughput": ("samples/s", ",.0f"),
    "share_of_limit": ("roofline", "share"),
    "state_bytes": ("state", "B"),
}
CLOSENESS: Columns = {"forgetting": ("forgetting", ".3g"), "deviation": ("deviation", ".1e")}
COLUMNS: dict[str, Columns] = {
    "root mean squared error": {
        **COST,
        "test_error": ("test RMSE", ".4g"),
        "a_priori_error": ("a-priori MSE", ".4g"),  # shown only if a stream has no test set
        **CLOSENESS,
    },
    "share of wrong labels": {**COST, "test_error": ("error rate", ".2%"), **CLOSENESS},
    "mean compression loss": {
        **COST,
        "test_error": ("test loss", ".4g"),
        "excess_loss": ("% over PCA", ".3g"),
        "forgetting": ("forgetting", ".3g"),
    },
}
"""Columns by kind of test error; errors of different kinds are never shown in one column."""
WAITING: Columns = {"latency_p50": ("p50", "s"), "latency_p99": ("p99", "s")}
MEMORY: Columns = {"host_memory": ("peak memory", "B"), "device_memory": ("device memory", "B")}
TEXT = "text"
"""The format of string columns."""


def choose_columns(names: Sequence[str], known: Iterable[str]) -> list[str]:
    """The variables with these names or headings. Raises ValueError for an unknown one, with the nearest name."""
    headings = {heading: name for columns in _all() for name, (heading, _) in columns.items()}
    available = set(known)
    variables = [name if name in available else headings.get(name, name) for name in names]
    for name in variables:
        if name not in available:
            raise ValueError(f"no column {name!r}{suggest(name, dict.fromkeys([*headings, *sorted(available)]))}")
    return variables


def chosen_columns(results: xarray.Dataset, names: Sequence[str], error: str) -> Columns:
    """The columns of these variables that the results have."""
    names = [name for name in names if name in results]
    known = {name: column for columns in _all() for name, column in columns.items()} | COLUMNS[error]
    texts = {name: (name, TEXT) for name in names if results[name].dtype.kind not in "iufb"}
    return {name: texts.get(name) or known.get(name) or (name, _form(results[name].values)) for name in names}


def _form(values: NDArray[Any]) -> str:
    """The format of numbers: in full if all are integers."""
    known = values[np.isfinite(values)]
    return ".0f" if (known == np.round(known)).all() and (abs(known) < 1e15).all() else ".4g"


def _all() -> list[Columns]:
    return [*COLUMNS.values(), WAITING, MEMORY]


def by_error(results: xarray.Dataset) -> dict[str, list[int]]:
    """The planned cells by kind of test error."""
    measured = [i for i, status in enumerate(results["status"].values) if status != "absent"]
    error = results["error"].values
    return {name: cells for name in COLUMNS if (cells := [i for i in measured if error[i] == name])}


def columns_of(results: xarray.Dataset, error: str, cells: Sequence[int]) -> Columns:
    """The columns of a table of these cells."""
    untested = any(is_ok(results, i) and math.isnan(number(results, "test_error", i)) for i in cells)
    own = {name: column for name, column in COLUMNS[error].items() if untested or name != "a_priori_error"}
    return own | plugin_metrics(results, cells)


def plugin_metrics(results: xarray.Dataset, cells: Sequence[int]) -> Columns:
    """The columns of the metrics of plugins, if any of these cells has a value."""
    known = registry()
    names = [n for n in known.metrics if not is_own(known.suppliers["metrics", n])]
    return {
        name: (name, ".4g")
        for name in names
        if name in results and any(not math.isnan(number(results, name, i)) for i in cells)
    }

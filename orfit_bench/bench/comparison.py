"""Comparison of two results of the same cells: improvements, regressions and missing cells."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from orfit_bench.bench.cell import FAILURES
from orfit_bench.bench.collection import origin
from orfit_bench.bench.selection import with_defaults
from orfit_bench.bench.variables import ROWS_HASH, per_cell, stream_name, stream_names
from orfit_bench.errors import suggest
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Metric

if TYPE_CHECKING:
    import xarray

Columns = Mapping[str, NDArray[Any]]
"""The variables of results by name, each with an entry per cell."""
OF_TIMES = ("s", "1/s")
"""Units of metrics that are missing if cells were not timed."""
SHARES_OF_TIMES = ("share_of_limit",)
"""Further metrics that are missing then."""

DETAILS = ("seed", "model", "protocol", "dtype")
DESCRIPTION = ("method", "backend", "stream", *DETAILS)
"""Coordinates that, with the settings, describe a cell."""
MOST = 100
"""Number of cells of each result that are compared to find a difference."""


class Change(NamedTuple):
    """A change of a metric or of the status of a cell."""

    cell: dict[str, str]
    """method, backend, stream and settings, and the cell's key."""
    metric: str
    before: float | str
    after: float | str
    relative: float
    """(after - before) / |before|; NaN if one of the values is missing."""
    worse: bool


def changes(
    before: xarray.Dataset, after: xarray.Dataset, tolerated: Mapping[str, float] | None = None
) -> list[Change]:
    """Return the changes that exceed the tolerance, regressions and large changes first.

    Parameters
    ----------
    before, after : xarray.Dataset
        Results of single runs.
    tolerated : mapping, optional
        Relative changes to ignore, by metric; overrides the declarations of the metrics (`Metric.tolerated`).

    Raises
    ------
    ValueError
        If a metric is unknown, a tolerance is not >= 0, or the results have no cell in common.
    """
    limits = _limits(tolerated or {})
    old, new = _cells(before), _cells(after)
    common = [key for key in old if key in new]
    if not common:
        raise ValueError(f"the two results have no cell in common: {_difference(before, after)}")
    was, now = _columns(before), _columns(after)
    found = [c for key in common for c in _of_cell(was, old[key], now, new[key], limits)]
    return sorted(found, key=lambda c: (not c.worse, -abs(c.relative) if math.isfinite(c.relative) else -math.inf))


def unmatched(before: xarray.Dataset, after: xarray.Dataset) -> tuple[list[str], list[str]]:
    """Return the labels of the cells that only the first result has, and of those that only the second has."""
    old, new = _cells(before), _cells(after)
    lost, added = [i for key, i in old.items() if key not in new], [i for key, i in new.items() if key not in old]
    if not lost and not added:
        return [], []
    was, now = _columns(before), _columns(after)
    varying = _varying([_description(columns, i) for columns in (was, now) for i in range(len(columns["key"]))])
    return [_label(was, i, varying) for i in lost], [_label(now, i, varying) for i in added]


def _varying(cells: list[dict[str, Any]]) -> list[str]:
    """The names of the details (such as the seed) and stream settings in which these cells differ."""
    names = [name for name in dict.fromkeys(chain(*cells)) if name in DETAILS or name.startswith("stream_")]
    return [name for name in names if len({json.dumps(cell.get(name)) for cell in cells}) > 1]


def differences(before: xarray.Dataset, after: xarray.Dataset) -> list[str]:
    """Describe differences between the rows, times, machines and versions of the runs, which may also cause changes."""
    old, new = _cells(before), _cells(after)
    pairs = [(i, new[key]) for key, i in old.items() if key in new]
    found: Counter[str] = Counter()
    was, now = _columns(before), _columns(after)
    names = stream_names(before)
    for i, j in pairs:
        rows = was[ROWS_HASH][i], now[ROWS_HASH][j]
        if all(rows) and rows[0] != rows[1]:
            found[f"rows: those of {names[i]} have changed"] += 1
        runs = _timed_runs(was, i), _timed_runs(now, j)
        if min(runs) == 0 < max(runs):
            found[f"times: only those {'before' if runs[0] else 'after'} were measured, and are not compared"] += 1
    for name in ("machine", "versions"):
        origins = origin(before, name), origin(after, name)
        for texts, n in Counter((origins[0][i], origins[1][j]) for i, j in pairs).items():
            a, b = map(json.loads, texts)
            other = [key for key in {**a, **b} if a.get(key) != b.get(key)]
            found.update({f"{name}: {key} was {a.get(key)}, is {b.get(key)}": n for key in other})
    return [f"{line} ({n} of {len(pairs)} cells)" if n < len(pairs) else line for line, n in found.items()]


def undeclared(before: xarray.Dataset, after: xarray.Dataset) -> list[str]:
    """Return the metrics of both results that no loaded plugin declares, so that they cannot be compared."""
    known = per_cell()
    return [
        str(name)
        for name, values in before.data_vars.items()
        if name in after and name not in known and values.dims == ("cell",) and values.dtype.kind == "f"
    ]


def _difference(before: xarray.Dataset, after: xarray.Dataset) -> str:
    """The difference of the two most similar cells, one of each result, among the first `MOST` of each."""
    one, other = (
        [_description(columns, i) for i in range(min(MOST, len(columns["key"])))]
        for columns in (_columns(before), _columns(after))
    )
    unlike = min(
        (
            {name: (a.get(name), b.get(name)) for name in {**a, **b} if a.get(name) != b.get(name)}
            for a in one
            for b in other
        ),
        key=len,
    )
    return "those that are most alike differ in " + "; ".join(f"{name}: {a} and {b}" for name, (a, b) in unlike.items())


def _columns(results: xarray.Dataset) -> Columns:
    """The arrays of the results by name, in which an entry is found a hundred times faster."""
    return {str(name): values.values for name, values in results.variables.items()}


def _description(results: Columns, i: int) -> dict[str, Any]:
    """The description of a cell, with its settings by name."""
    found = {name: str(results[name][i]) for name in DESCRIPTION}
    for name in ("settings", "stream_settings"):
        found |= {
            f"{name.removesuffix('settings')}{key}": value for key, value in json.loads(str(results[name][i])).items()
        }
    return found


def _limits(tolerated: Mapping[str, float]) -> dict[str, float]:
    known = registry().metrics
    for name, share in tolerated.items():
        if name not in known:
            raise ValueError(f"no metric {name!r}{suggest(name, known)}")
        if not share >= 0:
            raise ValueError(f"{name}={share}: want a relative change >= 0, such as 0.1 for 10 %")
    return {name: metric.tolerated for name, metric in known.items()} | dict(tolerated)


def _cells(results: xarray.Dataset) -> dict[str, int]:
    cells = {str(key): i for i, key in enumerate(results["key"].values)}
    if len(cells) < results.sizes["cell"]:
        raise ValueError("a file contains several runs of one cell: compare the files that were merged")
    return cells


def _of_cell(before: Columns, i: int, after: Columns, j: int, limits: Mapping[str, float]) -> Iterator[Change]:
    cell = {name: str(before[name][i]) for name in ("method", "backend", "stream", "settings", "key")}
    was, now = (str(r["status"][k]) for r, k in ((before, i), (after, j)))
    if was != now and (now == "ok" or was not in FAILURES):
        yield Change(cell, "status", was, now, math.nan, now in FAILURES or was == "ok")
    untimed = 0 in (_timed_runs(before, i), _timed_runs(after, j))
    for name, metric in registry().metrics.items():
        if name in before and was == now == "ok":
            old = float(before[name][i])
            new = float(after[name][j]) if name in after else math.nan
            if untimed and (metric.unit in OF_TIMES or name in SHARES_OF_TIMES) and math.isnan(old) != math.isnan(new):
                continue
            gone = math.isnan(old) != math.isnan(new) and limits[name] < math.inf
            if gone or _factor(old, new, metric) > 1 + limits[name]:
                worse = math.isnan(new) if gone else (new > old) == (metric.better == "lower")
                yield Change(cell, name, old, new, _relative(old, new, metric), worse)


def _timed_runs(results: Columns, i: int) -> float:
    """The number of timed runs of a cell; NaN if it was not measured, or the file has no such numbers."""
    return float(results["timed_runs"][i]) if "timed_runs" in results else math.nan


def _relative(old: float, new: float, metric: Metric) -> float:
    """A change relative to the old value, or to the metric's floor if that is larger; NaN if a value is missing."""
    if math.isnan(old) or math.isnan(new):
        return math.nan
    if math.isinf(old):
        return math.copysign(math.inf, new - old)
    scale = max(abs(old), metric.floor)
    return (new - old) / scale if scale else math.inf * (new - old)


def _factor(old: float, new: float, metric: Metric) -> float:
    """1 plus the difference of two values relative to the smaller one, or to the floor if that is larger."""
    if math.isnan(old) or math.isnan(new) or old == new or max(abs(old), abs(new)) <= metric.floor:
        return 1.0
    if math.isinf(old) or math.isinf(new):
        return math.inf
    smaller = max(min(abs(old), abs(new)), metric.floor)
    return 1 + abs(new - old) / smaller if smaller else math.inf


def _label(results: Columns, i: int, varying: list[str]) -> str:
    """The method with its non-default settings, the backend and the stream, and the details that vary."""
    method, backend = (str(results[name][i]) for name in ("method", "backend"))
    declared = registry().methods.get(method)
    defaults = with_defaults(declared, {}) if declared else {}
    settings, given = (json.loads(str(results[name][i])) for name in ("settings", "stream_settings"))
    stream = stream_name(str(results["stream"][i]), given)
    changed = ", ".join(f"{name}={value}" for name, value in settings.items() if defaults.get(name) != value)
    description = _description(results, i)
    more = "".join(f", {name.removeprefix('stream_')}={description[name]}" for name in varying if name in description)
    return f"{method}{f' ({changed})' if changed else ''} on {backend}, {stream}{more}"

"""The results as one table, best first, with what is missing said underneath."""

from __future__ import annotations

import json
import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import xarray

WIDTH = 100
LABEL = 24
"""Longest line of a label with settings, which goes on in a further line; a single word may be longer."""
NOT_APPLICABLE = "n/a: the metric does not apply, e.g. no exact batch solution for these rows and settings"
NUMBERS = {
    "samples_per_second": ("samples/s", ",.0f"),
    "state_bytes": ("state", "B"),
    "test_error": ("test error", ".4g"),
    "forgetting": ("forgetting", ".3g"),
    "deviation": ("deviation", ".1e"),
}
"""Variable to column and format."""


def results_table(results: xarray.Dataset) -> Table:
    """A row for each cell that was to be measured: by stream, the least test error first, then the fastest.

    "deviation" is that from the exact solution. n/a stands where a number does not apply. No column wraps: a console
    narrower than the table would cut numbers off.
    """
    machine = json.loads(results.attrs["machine"])
    title = f"{', '.join(_distinct(results, 'protocol'))}, {', '.join(_distinct(results, 'dtype'))}, {machine['cpu']}"
    methods, streams = _labels(results, "method", "settings"), _labels(results, "stream", "stream_settings")
    table = grid(title, "method", "backend", "stream")
    for name, _ in NUMBERS.values():
        table.add_column(name, justify="right")
    for column in table.columns:
        column.no_wrap = True
    status = results["status"].values
    for i in sorted(_measured(results), key=lambda i: (streams[i], *_rank(results, i))):
        numbers = [_shown(_value(results, name, i), form) for name, (_, form) in NUMBERS.items()]
        if status[i] != "ok":
            numbers[0] = str(status[i])
        labels = [_folded(methods[i]), str(results["backend"].values[i]), _folded(streams[i])]
        table.add_row(*map(Text, [*labels, *numbers]))
    return table


def legend(results: xarray.Dataset) -> list[str]:
    """What the table's n/a means, where a cell that was measured has one."""
    good = [i for i, status in enumerate(results["status"].values) if status == "ok"]
    lacks = any(math.isnan(_value(results, name, i)) for name in NUMBERS for i in good)
    return [NOT_APPLICABLE] if lacks else []


def reasons(results: xarray.Dataset) -> list[str]:
    """One line for each reason why cells are absent, failed, crashed or timed out, and for each note, with who."""
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    columns = (results[name].values for name in ("method", "backend", "stream", "status", "reason", "notes"))
    for method, backend, stream, status, reason, notes in zip(*columns, strict=True):
        if status != "ok":
            who[str(status), str(reason)].append(f"{method} on {backend}, {stream}")
        if notes:
            who["note", str(notes)].append(f"{method} on {backend}, {stream}")
    return [f"{status}: {_some(cells)}: {reason}" for (status, reason), cells in who.items()]


def grid(title: str, *columns: str) -> Table:
    """An empty table in the house's style; its first column holds names and never wraps."""
    table = Table(title=Text(title), title_style="bold", title_justify="left", box=box.SIMPLE_HEAD)
    table.pad_edge, table.padding = False, (0, 1, 0, 0)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == columns[0])
    return table


def _measured(results: xarray.Dataset) -> list[int]:
    return [i for i, status in enumerate(results["status"].values) if status != "absent"]


def _rank(results: xarray.Dataset, i: int) -> tuple[float, float]:
    """Test error and slowness, what is unknown last."""
    error, speed = _value(results, "test_error", i), _value(results, "samples_per_second", i)
    return (math.inf if math.isnan(error) else error), (math.inf if math.isnan(speed) else -speed)


def _value(results: xarray.Dataset, name: str, i: int) -> float:
    return float(results[name].values[i]) if name in results else math.nan


def _shown(value: float, form: str) -> str:
    if math.isnan(value):
        return "n/a"
    return _bytes(value) if form == "B" else format(value, form)


def _bytes(value: float) -> str:
    """Three digits and a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5 or unit == "GB":
            break
        value /= 1000
    return f"{value:.3g} {unit}"


def _labels(results: xarray.Dataset, name: str, settings: str) -> list[str]:
    """Each cell's name with the settings in which cells of this name differ; a stream's with the seed too."""
    names, given = [str(n) for n in results[name].values], [json.loads(s) for s in results[settings].values]
    if name == "stream":
        given = [{**s, "seed": int(seed)} for s, seed in zip(given, results["seed"].values, strict=True)]
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    for n, s in zip(names, given, strict=True):
        for key, value in s.items():
            kinds[n, key].add(json.dumps(value))
    return [
        " ".join([n, *(f"{key}={_plain(value)}" for key, value in s.items() if len(kinds[n, key]) > 1)])
        for n, s in zip(names, given, strict=True)
    ]


def _folded(label: str) -> str:
    """The label in lines that end between words, for a name or a value cut in two is none."""
    return textwrap.fill(label, LABEL, break_long_words=False, break_on_hyphens=False)


def _plain(value: Any) -> str:
    """A setting as a user writes it: a constant schedule is its number."""
    if isinstance(value, dict) and list(value) == ["constant"]:
        value = value["constant"]["value"]
    return value if isinstance(value, str) else json.dumps(value)


def _distinct(results: xarray.Dataset, name: str) -> list[str]:
    return sorted({str(v) for v in results[name].values})


def _some(cells: Sequence[str]) -> str:
    return cells[0] if len(cells) == 1 else f"{len(cells)} cells ({_list(cells)})"


def _list(cells: Iterable[str]) -> str:
    """The names in front of " on ", each once: enough to know who is meant."""
    names = list(dict.fromkeys(cell.partition(", ")[0] for cell in cells))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

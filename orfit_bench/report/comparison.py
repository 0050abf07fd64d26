"""Changes between two result files, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from orfit_bench.bench.comparison import Change
from orfit_bench.report import labels
from orfit_bench.report.labels import folded
from orfit_bench.report.table import grid

if TYPE_CHECKING:
    import xarray


def changes_table(changes: Sequence[Change], before: xarray.Dataset) -> Table:
    """One row per change, in the given order, with the settings and conditions in which cells of `before` differ."""
    conditions = labels.conditions(before)
    table = grid("Changes", "method", "backend", "stream", *conditions, "metric", "before", "after", "change")
    for column in table.columns:
        column.no_wrap = True
    place = {str(key): i for i, key in enumerate(before["key"].values)}
    methods, streams = labels.methods(before), labels.streams(before)
    for c in changes:
        i = place[c.cell["key"]]
        cells = [folded(methods[i]), c.cell["backend"], folded(streams[i])]
        cells += [*(texts[i] for texts in conditions.values()), c.metric]
        table.add_row(*map(Text, [*cells, _number(c.before), _number(c.after), _relative(c)]))
    return table


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else "n/a" if math.isnan(value) else f"{value:.4g}"


def _relative(change: Change) -> str:
    verdict = "worse" if change.worse else "better"
    return verdict if not math.isfinite(change.relative) else f"{change.relative:+.1%} {verdict}"

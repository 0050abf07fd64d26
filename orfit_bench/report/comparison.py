"""Changes between two result files, as a table."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from orfit_bench.bench.comparison import Change
from orfit_bench.report.table import grid


def changes_table(changes: Sequence[Change]) -> Table:
    """One row per change, in the given order. Settings are shown if a method occurs with several."""
    table = grid("Changes", "method", "backend", "stream", "metric", "before", "after", "change")
    for column in table.columns:
        column.no_wrap = True
    settings = {(c.cell["method"], c.cell["settings"]) for c in changes}
    several = {m for m, _ in settings if sum(name == m for name, _ in settings) > 1}
    for c in changes:
        suffix = f" {json.loads(c.cell['settings'])}" if c.cell["method"] in several else ""
        cells = [c.cell["method"] + suffix, c.cell["backend"], c.cell["stream"], c.metric]
        table.add_row(*map(Text, [*cells, _number(c.before), _number(c.after), _relative(c)]))
    return table


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else "n/a" if math.isnan(value) else f"{value:.4g}"


def _relative(change: Change) -> str:
    verdict = "worse" if change.worse else "better"
    return verdict if not math.isfinite(change.relative) else f"{change.relative:+.1%} {verdict}"

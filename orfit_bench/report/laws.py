"""The laws as a table: name, methods, source, measured deviation and bound."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from orfit_bench.conformance.laws import Case, Finding, worst
from orfit_bench.report.table import grid


def laws_table(found: dict[Case, list[Finding]], title: str) -> Table:
    """One row per law: the data set with the largest deviation relative to its bound."""
    table = grid(title, "law", "methods", "source")
    for name in ("deviation", "bound", "data set"):
        table.add_column(name, justify="right", no_wrap=True)
    table.columns[0].no_wrap = True
    for case, measured in found.items():
        f = worst(measured)
        mark = "" if f.ratio < 1 else " !"
        numbers = f"{f.measured.deviation:.1e}{mark}", f"{f.bound:.1e}", f.rows
        table.add_row(*map(Text, (case.law.name, case.name, case.law.source, *numbers)))
    return table


def summary(found: dict[Case, list[Finding]]) -> str:
    """How many laws hold, and which has the largest deviation relative to its bound."""
    measured = [worst(findings) for findings in found.values()]
    broken = [f for f in measured if not f.ratio < 1]
    nearest = max(measured, key=lambda f: f.ratio)
    count = f"{len(measured) - len(broken)} of {len(measured)} laws hold"
    return f"{count}; largest deviation/bound: {nearest.ratio:.2g} ({nearest.law.name} of {nearest.method})"

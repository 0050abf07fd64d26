"""The laws as a table: what was claimed, by whom, of which methods, how far off it was and how far it may be."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from orfit_bench.conformance.laws import Case, Finding, worst
from orfit_bench.report.table import grid


def laws_table(found: dict[Case, list[Finding]], title: str) -> Table:
    """A row a law: where deviation over bound is largest among the rows of which it speaks."""
    table = grid(title, "law", "methods", "source")
    for name in ("deviation", "bound", "rows"):
        table.add_column(name, justify="right", no_wrap=True)
    table.columns[0].no_wrap = True
    for case, measured in found.items():
        f = worst(measured)
        mark = "" if f.ratio < 1 else " !"
        numbers = f"{f.measured.deviation:.1e}{mark}", f"{f.bound:.1e}", f.rows
        table.add_row(*map(Text, (case.law.name, case.name, case.law.source, *numbers)))
    return table


def summary(found: dict[Case, list[Finding]]) -> str:
    """How many hold, and the one that comes nearest to its bound."""
    measured = [worst(findings) for findings in found.values()]
    broken = [f for f in measured if not f.ratio < 1]
    nearest = max(measured, key=lambda f: f.ratio)
    said = f"{len(measured) - len(broken)} of {len(measured)} laws hold"
    return f"{said}; nearest to its bound: {nearest.law.name} of {nearest.method}, at {nearest.ratio:.2g} of it"

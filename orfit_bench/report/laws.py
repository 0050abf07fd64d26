"""The laws as a table: name, methods, source, measured deviation and bound."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from orfit_bench.conformance.check import Deviation, worst
from orfit_bench.conformance.laws import LawCase
from orfit_bench.report.table import grid


def laws_table(found: dict[LawCase, list[Deviation]], title: str) -> Table:
    """One row per law: the data set with the largest deviation relative to its bound."""
    table = grid(title, "law", "methods", "source")
    for name in ("deviation", "bound", "data set"):
        table.add_column(name, justify="right", no_wrap=True)
    for column in table.columns[:2]:
        column.no_wrap = True
    for case, deviations in found.items():
        d = worst(deviations)
        numbers = f"{d.value:.1e}{'' if d.holds else ' !'}", f"{d.bound:.1e}", d.of
        table.add_row(*map(Text, (case.law.name, case.name, case.law.source, *numbers)))
    return table


def summary(found: dict[LawCase, list[Deviation]]) -> str:
    """The number of laws that hold, and the law with the largest deviation relative to its bound."""
    measured = {case: worst(deviations) for case, deviations in found.items()}
    largest = max(measured, key=lambda case: measured[case].ratio)
    count = f"{sum(d.holds for d in measured.values())} of {len(measured)} laws hold"
    return f"{count}; largest deviation/bound: {measured[largest].ratio:.2g} ({largest.law.name} of {largest.name})"

"""Tables on a narrow terminal: which columns are left out first."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from orfit_bench.report.table import without_columns


def make_table(**columns: list[str]) -> Table:
    table = Table(*columns)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, row))
    return table


def test_columns_without_a_number_go_before_less_important_ones() -> None:
    table = make_table(
        method=["lms", "rls"], state=["1 kB", "2 kB"], forgetting=["n/a", "n/a"], deviation=["n/a", "0.1"]
    )
    for count, left_out in (
        (3, ["forgetting"]),
        (2, ["forgetting", "state"]),
        (1, ["forgetting", "state", "deviation"]),
    ):
        shown, found = without_columns(table, lambda part, count=count: len(part.columns) <= count)
        assert found == left_out
        assert len(shown.columns) == count


def test_a_table_keeps_all_columns_if_they_fit_or_cannot_fit() -> None:
    table = make_table(method=["lms"], forgetting=["n/a"])
    for fits in (True, False):
        shown, left_out = without_columns(table, lambda part, fits=fits: fits)
        assert (len(shown.columns), left_out) == (2, [])

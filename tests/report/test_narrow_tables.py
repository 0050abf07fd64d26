"""Tables on a narrow terminal: which columns are left out first."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from orfit_bench.report.table import without_columns


def table(**columns: list[str]) -> Table:
    made = Table(*columns)
    for row in zip(*columns.values(), strict=True):
        made.add_row(*map(Text, row))
    return made


def test_columns_without_a_number_go_before_less_important_ones() -> None:
    whole = table(method=["lms", "rls"], state=["1 kB", "2 kB"], forgetting=["n/a", "n/a"], deviation=["n/a", "0.1"])
    for count, left_out in (
        (3, ["forgetting"]),
        (2, ["forgetting", "state"]),
        (1, ["forgetting", "state", "deviation"]),
    ):
        shown, found = without_columns(whole, lambda part, count=count: len(part.columns) <= count)
        assert found == left_out
        assert len(shown.columns) == count


def test_a_table_that_fits_and_one_that_cannot_fit_stay_whole() -> None:
    whole = table(method=["lms"], forgetting=["n/a"])
    for fits in (True, False):
        shown, left_out = without_columns(whole, lambda part, fits=fits: fits)
        assert (len(shown.columns), left_out) == (2, [])

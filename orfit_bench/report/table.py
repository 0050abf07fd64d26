"""The results as tables, best first, followed by explanations and the reasons for missing results."""

from __future__ import annotations

import copy
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

from orfit_bench.bench.collection import origin
from orfit_bench.bench.variables import stream_names
from orfit_bench.report import labels
from orfit_bench.report.columns import TEXT, Columns, by_error, chosen_columns, columns_of
from orfit_bench.report.labels import distinct, folded, is_ok, number, shown
from orfit_bench.report.page import Listing

if TYPE_CHECKING:
    import xarray

WIDTH = 100
BEYOND = "above 100%: the machine was busy when its limits were measured; repeat with orfit-bench roofline --fresh"
LIMIT = "roofline: samples/s as a share of the roofline limit of one thread (see orfit-bench roofline)"
OVER_PCA = "% over PCA: compression loss on the learned rows above that of batch PCA, in percent"
NOT_APPLICABLE = "n/a: not applicable, e.g. the stream has no test set or the settings have no exact batch solution"
DROPPED_FIRST = (
    *("supplied by", "source", "data set", "bound", "kind", "merge"),
    *("state", "roofline", "device", "expected", "skipped", "forgetting", "ties", "effect size", "p", "deviation"),
    *("samples/s", "losses", "seeds", "features", "backend"),
)
"""Headings of columns that are omitted on a narrow terminal, the least important first."""
SENTENCE = 24
"""Minimum width of a column of sentences."""
SHORTEST_SENTENCE = 40
"""Columns with a longer cell contain sentences."""
LONGEST_WORD = 40
"""Longer words are broken."""


def keep_words(table: Table) -> None:
    """Make every column wide enough for its longest cell or, if it wraps, for its longest word and for sentences."""
    for column in table.columns:
        longest = _longest_line(column)
        if not column.no_wrap:
            texts = map(str, (column.header, *column.cells))
            words = max((cell_len(word) for text in texts for word in text.split()), default=0)
            longest = max(min(words, LONGEST_WORD), SENTENCE if longest > SHORTEST_SENTENCE else 0)
        column.min_width = longest


def fix_widths(table: Table, spare: int) -> None:
    """Fix the widths of all columns at their minimum, plus `spare` characters shared by the columns that wrap.

    rich would narrow the widest columns below their minimum widths, and then cut the line.
    """
    wrapping = [column for column in table.columns if not column.no_wrap]
    wants = {i: _longest_line(column) - (column.min_width or 0) for i, column in enumerate(wrapping)}
    for column in table.columns:
        column.width = column.min_width
    for done, i in enumerate(sorted(wants, key=lambda i: wants[i])):  # short cells stay whole, sentences share the rest
        more = min(wants[i], spare // (len(wants) - done))
        wrapping[i].width, spare = (wrapping[i].min_width or 0) + more, spare - more


def _longest_line(column: Column) -> int:
    return max(cell_len(line) for text in (column.header, *column.cells) for line in str(text).split("\n"))


def without_columns(table: Table, fits: Callable[[Table], bool]) -> tuple[Table, list[str]]:
    """The table with the columns that fit, and the headings of the others; the whole table if omitting does not help.

    Columns whose cells are all n/a are omitted first.
    """
    shown, left_out = table, list[str]()
    headings = [str(column.header) for column in table.columns]
    empty = [str(column.header) for column in table.columns if {str(cell) for cell in column.cells} == {"n/a"}]
    for heading in (*empty, *DROPPED_FIRST):
        if fits(shown):
            return shown, left_out
        if heading in headings and heading not in left_out:
            left_out.append(heading)
            shown = _with_columns(table, [name for name in headings if name not in left_out])
    return (shown, left_out) if fits(shown) else (table, [])


def _with_columns(table: Table, headings: Sequence[str]) -> Table:
    """The table with only these columns."""
    kept = [column for column in table.columns if str(column.header) in headings]
    part = copy.copy(table)
    part.columns, part.rows = [], []
    for column in kept:
        part.add_column(
            column.header,
            justify=column.justify,
            no_wrap=column.no_wrap,
            overflow=column.overflow,
            min_width=column.min_width,
        )
    for cells in zip(*(column.cells for column in kept), strict=True):
        part.add_row(*cells)
    return part


def results_tables(results: xarray.Dataset, chosen: Sequence[str] = ()) -> Iterator[Table]:
    """One table per kind of error, with one row per planned cell; with the chosen columns, if any.

    Protocol, dtype and run are columns if cells differ in them.

    Rows are sorted by stream, then by test error (by a-priori error if there is no test set), then by throughput.
    "deviation" is the deviation from the exact batch solution; n/a means not applicable. No column wraps, since a
    console narrower than the table would cut off numbers.
    """
    methods, streams, conditions = labels.methods(results), labels.streams(results), labels.conditions(results)
    for error, cells in by_error(results).items():
        numbers = chosen_columns(results, chosen, error) if chosen else columns_of(results, error, cells)
        table = grid(f"{_conditions(results)}: {error}", "method", "backend", "stream", *conditions)
        for heading, _ in numbers.values():
            table.add_column(heading, justify="right")
        for column in table.columns:
            column.no_wrap = True
        for i in ranked(results, streams, cells):
            who = [folded(methods[i]), str(results["backend"].values[i]), folded(streams[i])]
            who += [texts[i] for texts in conditions.values()]
            table.add_row(*map(Text, [*who, *_row(results, numbers, i)]))
        yield table


def _conditions(results: xarray.Dataset) -> str:
    processors = sorted({json.loads(machine)["cpu"] for machine in origin(results, "machine")})
    return ", ".join([*distinct(results, "protocol"), *distinct(results, "dtype"), *processors])


def _row(results: xarray.Dataset, numbers: Columns, i: int) -> list[str]:
    texts = [
        folded(str(results[name].values[i])) if form == TEXT else shown(number(results, name, i), form)
        for name, (_, form) in numbers.items()
    ]
    return texts if is_ok(results, i) else [str(results["status"].values[i]), *texts[1:]]


def legend(results: xarray.Dataset, chosen: Sequence[str] = ()) -> list[str]:
    """Explanations of the tables: models, percentages, n/a."""
    fits = defaultdict(list)
    for method, model in zip(results["method"].values, results["model"].values, strict=True):
        fits[str(model)].append(str(method))
    lines = [f"{', '.join(dict.fromkeys(who))}: {model}" for model, who in fits.items() if model != "linear"]
    tables = {
        error: (chosen_columns(results, chosen, error) if chosen else columns_of(results, error, cells), cells)
        for error, cells in by_error(results).items()
    }
    limited = [cells for numbers, cells in tables.values() if "share_of_limit" in numbers]
    shares = [number(results, "share_of_limit", i) for cells in limited for i in cells]
    if not all(map(math.isnan, shares)):
        lines += [LIMIT, *[BEYOND] * any(share >= 1.005 for share in shares)]
    if any("excess_loss" in numbers for numbers, _ in tables.values()):
        lines.append(OVER_PCA)
    good = [
        (name, i)
        for numbers, cells in tables.values()
        for i in cells
        if is_ok(results, i)
        for name, (_, form) in numbers.items()
        if form != TEXT
    ]
    return lines + [NOT_APPLICABLE] * any(math.isnan(number(results, name, i)) for name, i in good)


def reasons(results: xarray.Dataset) -> list[str]:
    """One line per reason why cells are absent, failed, crashed or timed out, and per note, with the cells."""
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    columns = (results[name].values for name in ("method", "backend", "status", "reason", "notes", "seed"))
    has_seeds = len(set(results["seed"].values.tolist())) > 1
    for stream, method, backend, status, reason, notes, seed in zip(stream_names(results), *columns, strict=True):
        cell = f"{method} on {backend}, {stream}" + f", seed {seed}" * has_seeds
        if status != "ok":
            who[str(status), str(reason)].append(cell)
        if notes:
            who["note", str(notes)].append(cell)
    return [f"{status}: {_some(cells)}: {reason}" for (status, reason), cells in who.items()]


def grid(title: str, *columns: str) -> Table:
    """An empty table in the common style; its first column holds names and never wraps."""
    table = Table(title=Text(title), title_style="bold", title_justify="left", box=box.SIMPLE_HEAD)
    table.pad_edge, table.padding = False, (0, 1, 0, 0)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == columns[0])
    return table


def listed(listing: Listing) -> Table:
    """A table of a page, for a terminal."""
    table = grid(listing.caption)
    for column, numeric in zip(listing.columns, listing.numeric, strict=True):
        table.add_column(column, justify="right" if numeric else "left", no_wrap=True)
    for row in listing.rows:
        table.add_row(*(Text(folded(cell) if isinstance(cell, str) else cell.text) for cell in row))
    return table


def ranked(results: xarray.Dataset, streams: Sequence[str], cells: Iterable[int]) -> list[int]:
    """The cells sorted by stream, and by the numbers in its label, the best first."""
    return sorted(cells, key=lambda i: (_with_numbers(streams[i]), *_rank(results, i)))


NUMBER = re.compile(r"((?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def _with_numbers(text: str) -> tuple[str | float, ...]:
    """The text as its words and numbers in turns, so that 4 is sorted before 16."""
    return tuple(float(part) if k % 2 else part for k, part in enumerate(re.split(NUMBER, text)))


def _rank(results: xarray.Dataset, i: int) -> tuple[float, ...]:
    """Test error, a-priori error and negative throughput; unknown values sort last."""
    error, ahead = number(results, "test_error", i), number(results, "a_priori_error", i)
    slowness = -number(results, "throughput", i)
    return tuple(math.inf if math.isnan(value) else value for value in (error, ahead, slowness))


def _some(cells: Sequence[str]) -> str:
    return cells[0] if len(cells) == 1 else f"{len(cells)} cells ({_list(cells)})"


def _list(cells: Iterable[str]) -> str:
    """The distinct "METHOD on BACKEND" of the cells, at most three of them."""
    names = list(dict.fromkeys(cell.partition(", ")[0] for cell in cells))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

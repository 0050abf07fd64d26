"""Terminal output of the commands: consoles, tables and progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NARROWEST = 60
"""Least width at which no name in a list is cut; a narrower terminal wraps the lines itself."""


def console(err: bool = False) -> Console:
    """A console as wide as the terminal, and 100 columns wide in a file or pipe."""
    from rich.console import Console

    from orfit_bench.report.table import WIDTH

    terminal = (sys.stderr if err else sys.stdout).isatty()
    out = Console(stderr=err, width=None if terminal else WIDTH, highlight=False, soft_wrap=False)
    if not err:
        widen(out, NARROWEST)
    return out


def widen(out: Console, columns: int) -> None:
    """Make the console at least `columns` wide."""
    from rich.console import ConsoleDimensions

    out.size = ConsoleDimensions(max(out.width, columns), out.height)  # a width alone is ignored where TERM=dumb


def show(item: RenderableType) -> None:
    """Print to stdout without trailing blanks; a table that must not wrap is printed at its full width."""
    from rich.measure import Measurement
    from rich.table import Table

    out = console()
    if isinstance(item, Table) and all(column.no_wrap for column in item.columns):
        endless = out.options.update(max_width=100_000)
        widen(out, Measurement.get(out, endless, item).maximum)
    with out.capture() as captured:
        out.print(item, markup=False)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


class Bar(NamedTuple):
    """A progress bar on stderr, shown only on a terminal."""

    moves: bool
    """Whether stderr is a terminal."""
    say: Callable[[str], None]
    """Print a line above the bar."""
    update: Callable[[int, int, str], None]
    """Takes the number done, the total and the name of the current item."""


@contextmanager
def bar() -> Iterator[Bar]:
    """Show a progress bar, which is removed at the end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    err = console(err=True)
    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as shown:
        task = shown.add_task("", total=None)

        def say(text: str) -> None:
            err.print(text, markup=False, soft_wrap=True)

        def update(done: int, total: int, now: str) -> None:
            shown.update(task, completed=done, total=total, description=now)

        yield Bar(err.is_terminal, say, update)

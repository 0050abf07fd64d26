"""Where the commands write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NARROWEST = 60
"""Columns at which every name of a list is whole; a narrower terminal wraps the lines itself."""


def console(err: bool = False) -> Console:
    """A console as wide as the terminal, and 100 columns wide in a file or pipe."""
    from rich.console import Console

    from orfit_bench.report.table import WIDTH

    terminal = (sys.stderr if err else sys.stdout).isatty()
    made = Console(stderr=err, width=None if terminal else WIDTH, highlight=False, soft_wrap=False)
    if not err:
        widen(made, NARROWEST)
    return made


def widen(out: Console, columns: int) -> None:
    """Make the console at least so wide."""
    from rich.console import ConsoleDimensions

    out.size = ConsoleDimensions(max(out.width, columns), out.height)  # a width alone is ignored where TERM=dumb


def show(item: RenderableType) -> None:
    """Print on stdout without blanks at the ends of lines, as wide as the words that must not be cut."""
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
    """A progress bar on stderr, which moves on a terminal only."""

    moves: bool
    say: Callable[[str], None]
    """Print a line above the bar."""
    update: Callable[[int, int, str], None]
    """How many are done, of how many, and what is at work."""


@contextmanager
def bar() -> Iterator[Bar]:
    """A bar, which is gone at the end."""
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

"""Terminal output of the commands: consoles, tables and progress bars."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from orfit_bench.jobs.files import ensure_writable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
WIDE = "orfit_bench.wide"
"""The key of --wide in the context of a command."""
CHOSEN = "orfit_bench.chosen"
"""The key of --column in the context of a command."""
WRITTEN = "orfit_bench.written"
"""The key, in the context of a command, of the file that has all results of a finished run."""
NARROWEST = 60
"""Smallest width at which no name in a list is cut; a narrower terminal wraps the lines itself."""


CONTROLS = dict.fromkeys(c for c in (*range(32), *range(127, 160)) if chr(c) not in "\n\t")
"""Characters with which a name could move the cursor or change colours, for `str.translate`."""


def with_wide(command: Decorated) -> Decorated:
    """Add the option --wide, which `show` reads."""
    text = "Show all columns of tables, even if the lines are longer than the terminal is wide."
    return click.option("--wide", is_flag=True, expose_value=False, callback=_remember_wide, help=text)(command)


def with_columns(command: Decorated) -> Decorated:
    """Add the option --column, the argument `columns`; tables show all chosen columns."""
    text = (
        "Show this variable of the results next to method, backend and stream; may be repeated. Default: columns that "
        "suit the kind of error."
    )
    return click.option("--column", "columns", multiple=True, metavar="NAME", callback=_keep_columns, help=text)(
        command
    )


def _keep_columns(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if value:
        context.meta[CHOSEN] = True
    return value


def _remember_wide(context: click.Context, option: click.Parameter, value: bool) -> None:
    context.meta[WIDE] = value


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """Raise OSError or ValueError if an output file, given by its option, cannot be written."""
    given = {option: path for option, path in files.items() if path is not None}
    for path in given.values():
        ensure_writable(path)
    if len({os.path.realpath(path) for path in given.values()}) < len(given):
        raise ValueError(f"{', '.join(given)}: two of them name the same file; give each its own")


def width_of(err: bool = False) -> int | None:
    """The width that lines must fit: that of the terminal, or COLUMNS; None in a file or pipe."""
    stream = sys.stderr if err else sys.stdout
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked):
        return int(asked)
    return shutil.get_terminal_size().columns if stream.isatty() else None


def console(err: bool = False) -> Console:
    """A console as wide as the terminal, and 100 columns wide in a file or pipe."""
    from rich.console import Console

    from orfit_bench.report.table import WIDTH

    out = Console(stderr=err, width=width_of(err) or WIDTH, highlight=False, soft_wrap=False)
    if not err:
        widen(out, NARROWEST)
    return out


def widen(out: Console, columns: int) -> None:
    """Make the console at least `columns` wide."""
    from rich.console import ConsoleDimensions

    out.size = ConsoleDimensions(max(out.width, columns), out.height)  # TERM=dumb ignores a width without height


class Printable:
    """Something that rich renders, without control characters in its strings."""

    def __init__(self, item: RenderableType) -> None:
        self._item = item

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The segments of the item."""
        from rich.segment import Segment

        for segment in console.render(self._item, options):
            yield segment if segment.control else Segment(segment.text.translate(CONTROLS), segment.style)


def show(item: RenderableType) -> None:
    """Print to stdout without trailing blanks.

    Unless --wide is given, a table leaves out columns, the least important first, until numbers and names fit on one
    line and sentences wrap between words. In a file or pipe it has all columns.
    """
    from rich.table import Table

    out = console()
    left_out: list[str] = []
    if isinstance(item, Table):
        item, left_out = _fit(item, out)
    with out.capture() as captured:
        out.print(Printable(item), markup=False)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
    if left_out:
        say(f"not shown for lack of space: {', '.join(left_out)} (--wide shows all columns)")


def _fit(table: Table, out: Console) -> tuple[Table, list[str]]:
    """The table with the columns that fit, and the headings of the others; widens the console if necessary."""
    from rich.measure import Measurement

    from orfit_bench.report.table import fix_widths, keep_words, without_columns

    endless = out.options.update(max_width=100_000)

    def least_width(table: Table) -> int:
        return Measurement.get(out, endless, table).minimum

    keep_words(table)
    left_out: list[str] = []
    context, width = click.get_current_context(silent=True), width_of()
    if width and not (context and (context.meta.get(WIDE) or context.meta.get(CHOSEN))):
        table, left_out = without_columns(table, lambda part: least_width(part) <= width)
    least = least_width(table)
    widen(out, least)
    fix_widths(table, out.width - least)
    return table, left_out


def say(text: str, err: bool = False) -> None:
    """Print a line of text, wrapped between words if it is longer than the terminal is wide."""
    width, text = width_of(err), text.translate(CONTROLS)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) if width else [text]
    click.echo("\n".join(lines) or text, err=err)


def say_command(before: str, command: str) -> None:
    """Print a command that can be copied; lines wider than the terminal are continued after a backslash."""
    width, text = width_of(), (before + command).translate(CONTROLS)
    if width and len(text) > width and command == shlex.join(command.split()):  # a quoted line cannot be wrapped
        kept = re.sub(r"(--[\w-]+) (?!-)", "\\1\xa0", text)  # an option and its value stay in one line
        lines = textwrap.wrap(kept, width - 2, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        text = " \\\n".join(lines).replace("\xa0", " ")
    click.echo(text)


class Bar(NamedTuple):
    """A progress bar on stderr, shown only on a terminal."""

    moves: bool
    """Whether stderr is a terminal."""
    say: Callable[[str], None]
    """Print a line above the bar."""
    update: Callable[[int, int, str], None]
    """Called with the number done, the total and the name of the current item."""


@contextmanager
def bar() -> Iterator[Bar]:
    """Show a progress bar, which is removed at the end."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    err = console(err=True)
    times = TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()
    columns = BarColumn(), MofNCompleteColumn(), *times, TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as shown:
        task = shown.add_task("", total=None)

        def say(text: str) -> None:
            between_words = err.is_terminal
            err.print(text.translate(CONTROLS), markup=False, soft_wrap=not between_words)

        def update(done: int, total: int, now: str) -> None:
            shown.update(task, completed=done, total=total, description=now.translate(CONTROLS))

        yield Bar(err.is_terminal, say, update)

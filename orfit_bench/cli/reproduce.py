"""`orfit-bench reproduce`: the sources' experiments, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orfit_bench.cli.output import bar, show
from orfit_bench.cli.plugins import plugins

if TYPE_CHECKING:
    from rich.table import Table


@click.command("reproduce")
@click.argument("name", required=False)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default="reproduced",
    show_default=True,
    metavar="DIR",
    help="Folder for NAME.nc (netCDF) and NAME.html.",
)
@click.option("--data", metavar="DATA", help="digits, mnist or cifar10. Default: the digits that ship.")
@click.option("--runs", type=int, metavar="N", help="Runs with seeds of their own. Default: as many as the source's.")
@click.option("--fresh", is_flag=True, help="Forget the finished cells of a run that was killed.")
def reproduce_command(name: str | None, output: Path, data: str | None, runs: int | None, fresh: bool) -> None:
    """List the sources' experiments, or compute NAME again: its figures and tables, our numbers beside the source's.

    The page says what the source leaves open and how much that moves the result. Finished cells are kept beside the
    results, so that the same command goes on after a kill.

    \b
    Examples:
      orfit-bench reproduce
      orfit-bench reproduce orfit-rotated-digits
      orfit-bench reproduce orfit-rotated-digits --data mnist
      orfit-bench reproduce krasulina-table-1 --runs 3 --output mine

    Ends with 0, with 1 where a cell failed, with 2 where the command was wrong.
    """
    from orfit_bench import reproduce

    plugins()
    if name is None:
        show(_listed())
        return
    experiment = reproduce.find(name)
    given = {} if runs is None else {"runs": runs}
    setup = reproduce.setup(experiment, data, **given)
    with bar() as shown:

        def tell(done: int, total: int, now: str) -> None:
            if done and not now:
                shown.say(f"{done} of {total} cells are finished already, taken from the journal")
            shown.update(done, total, now)

        made = reproduce.run(experiment, setup, output, fresh=fresh, progress=tell)
    click.echo(f"Results: {made.file}. Page: {made.page}")


def _listed() -> Table:
    """A row for each experiment."""
    from rich.text import Text

    from orfit_bench.report.table import grid
    from orfit_bench.reproduce import EXPERIMENTS

    table = grid("Experiments of the sources", "experiment", "source", "what", "data")
    table.add_column("about", justify="right", no_wrap=True)
    for e in EXPERIMENTS.values():
        row: tuple[Any, ...] = (e.name, e.source, e.summary, ", ".join(e.data) or "its own", f"{e.seconds} s")
        table.add_row(*map(Text, row))
    return table

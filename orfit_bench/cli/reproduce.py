"""`orfit-bench reproduce`: the experiments of papers, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orfit_bench.cli.output import bar, show
from orfit_bench.cli.plugins import plugins
from orfit_bench.errors import UnavailableError

if TYPE_CHECKING:
    from rich.table import Table

    from orfit_bench.plugins.registry import Registry

NO_EXPERIMENT = (
    "no experiment is installed: install the distribution orfit-bench-papers "
    "(from a checkout: pip install ./plugins/orfit-bench-papers)"
)


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
@click.option("--data", metavar="DATA", help="Data set to learn, as listed. Default: the first listed.")
@click.option("--runs", type=int, metavar="N", help="Runs with seeds of their own. Default: as many as the source's.")
@click.option("--fresh", is_flag=True, help="Forget the finished cells of a run that was killed.")
def reproduce_command(name: str | None, output: Path, data: str | None, runs: int | None, fresh: bool) -> None:
    """List the experiments of papers, or compute NAME again: its figures and tables, our numbers beside the paper's.

    The experiments come with plugins, as orfit-bench-papers. The page says what the paper leaves open and how much that
    moves the result. Finished cells are kept beside the results, so that the same command goes on after a kill.

    \b
    Examples:
      orfit-bench reproduce
      orfit-bench reproduce orfit-rotated-digits
      orfit-bench reproduce orfit-rotated-digits --data mnist
      orfit-bench reproduce krasulina-table-1 --runs 3 --output mine

    Ends with 0, with 1 where a cell failed, with 2 where the command was wrong.
    """
    from orfit_bench.spec import Request

    known = plugins()
    if not known.experiments:
        raise UnavailableError(NO_EXPERIMENT)
    if name is None:
        show(_table(known))
        return
    experiment = known.find("experiments", name)
    with bar() as shown:

        def tell(done: int, total: int, last: str) -> None:
            if done and not last:
                shown.say(f"{done} of {total} cells are finished already, taken from the journal")
            shown.update(done, total, last)

        made = experiment.reproduce(Request(output, data, runs, fresh, tell))
    click.echo(f"Results: {made.results}. Page: {made.page}")


def _table(known: Registry) -> Table:
    """A row for each experiment."""
    from rich.text import Text

    from orfit_bench.report.table import grid

    table = grid("Experiments", "experiment", "source", "what", "data")
    table.add_column("about", justify="right", no_wrap=True)
    for e in known.experiments.values():
        table.add_row(*map(Text, (e.name, e.source, e.summary, ", ".join(e.data) or "its own", f"{e.seconds} s")))
    return table

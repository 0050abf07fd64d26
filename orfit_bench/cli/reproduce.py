"""`orfit-bench reproduce`: recompute the experiments of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orfit_bench.cli.output import bar, say, show
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
@click.option("--data", metavar="DATA", help="Data set, as listed. Default: the first one listed.")
@click.option("--runs", type=int, metavar="N", help="Number of runs with different seeds. Default: as in the paper.")
@click.option("--fresh", is_flag=True, help="Discard the finished cells of an interrupted run and start again.")
def reproduce_command(name: str | None, output: Path, data: str | None, runs: int | None, fresh: bool) -> None:
    """List the experiments of the papers, or recompute NAME.

    Recomputing writes the figures and tables of the experiment as an HTML page, with our numbers next to the published
    ones, and states which details the paper leaves open and how much they change the result. An interrupted run is
    resumed by giving the same command again. The experiments come with plugins such as orfit-bench-papers.

    \b
    Examples:
      orfit-bench reproduce
      orfit-bench reproduce orfit-rotated-digits
      orfit-bench reproduce orfit-rotated-digits --data mnist
      orfit-bench reproduce krasulina-table-1 --runs 3 --output mine

    Exit status: 0 on success; 1 if a cell failed; 2 for a usage error.
    """
    from orfit_bench.spec import Request

    known = plugins()
    if not known.experiments:
        raise UnavailableError(NO_EXPERIMENT)
    if name is None:
        if data is not None or runs is not None or fresh:
            raise click.UsageError("--data, --runs and --fresh are for one experiment: want its NAME")
        show(_experiments_table(known))
        click.echo()
        say("Run times are those of the first data set, on one core; more rows or larger ones take longer.")
        return
    experiment = known.experiments.find(name)
    with bar() as shown:

        def report_progress(done: int, total: int, now: str) -> None:
            if done and not now:
                shown.say(f"resuming: {done} of {total} cells are already finished")
            elif now and not shown.moves:
                shown.say(f"[{done}/{total}] {now}")
            shown.update(done, total, now)

        result = experiment.reproduce(Request(output, data, runs, fresh, report_progress))
    say(f"Results: {result.results}. Page: {result.page}")


def _experiments_table(known: Registry) -> Table:
    """One row per experiment."""
    from rich.text import Text

    from orfit_bench.report.table import grid

    table = grid("Experiments of the papers", "experiment", "source", "content", "data")
    table.add_column("run time", justify="right", no_wrap=True)
    for e in known.experiments.values():
        table.add_row(*map(Text, (e.name, e.source, e.summary, ", ".join(e.data) or "synthetic", f"{e.seconds} s")))
    return table

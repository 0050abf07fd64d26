"""`orfit-bench show`, `compare`, `merge` and `export`: what to do with results that are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from orfit_bench.cli.output import show
from orfit_bench.cli.plugins import plugins
from orfit_bench.jobs.files import spare, writable

FILE = click.Path(path_type=Path)


@click.command("show")
@click.argument("file", type=FILE)
def show_command(file: Path) -> None:
    """Print the results in FILE again, as the run that wrote it did.

    Where there are several seeds: the means with 95 % intervals, and the methods two by two. Each p is of Wilcoxon's
    signed-rank test on the relative differences of the errors on the same streams with the same seeds, corrected for
    the number of tests by Holm's procedure.
    """
    from orfit_bench.bench import load

    plugins()
    show_results(load(file), file)


def show_results(results: Any, path: Path) -> None:
    """Print the tables, what they do not explain themselves, and how many cells came to what."""
    from orfit_bench.bench.results import is_empty
    from orfit_bench.report.results_listings import means, origins, pairs, spent
    from orfit_bench.report.table import legend, listed, reasons, results_tables

    for table in results_tables(results):
        show(table)
    if over_seeds := list(means(results)):
        for mean in over_seeds:
            show(listed(mean))
        tested = pairs(results)
        show(tested if isinstance(tested, str) else listed(tested))
        show(spent(results))
    for line in (*origins(results), *legend(results), *reasons(results)):
        show(line)
    counts = ", ".join(f"{sum(results['status'].values == s)} {s}" for s in sorted(set(results["status"].values)))
    if is_empty(results):
        click.echo(f"{counts}. Nothing was measured: every cell is absent, and nothing is written.")
    else:
        click.echo(f"{counts}. Results: {path}")


@click.command("compare")
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option(
    "--tolerate", "shares", multiple=True, metavar="METRIC=SHARE", help="A relative change that is none, as 0.1."
)
@click.option("--all", "everything", is_flag=True, help="Show what got better too.")
def compare_command(before: Path, after: Path, shares: Sequence[str], everything: bool) -> None:
    """Say what got worse between two files of results, BEFORE and AFTER.

    Cells are compared with the same cell (method, settings, backend, stream, sizes, seed, protocol), number by number.
    Each metric declares which direction is worse and what change is none (orfit-bench list METRIC); --tolerate, which
    may be repeated, says otherwise. Where machine or versions differ, that is said, for times may differ by them.

    \b
    Examples:
      orfit-bench compare before.nc results.nc
      orfit-bench compare before.nc results.nc --tolerate seconds_per_sample=0.5

    Ends with 0 where nothing got worse, with 1 where something did or a cell of BEFORE is gone, with 2 where the
    command was wrong.
    """
    from orfit_bench.bench import comparison, load
    from orfit_bench.report.comparison import changes_table

    plugins()
    old, new = load(before), load(after)
    found = comparison.changes(old, new, dict(map(_tolerance, shares)))
    lost, added = comparison.unmatched(old, new)
    shown = [c for c in found if c.worse or everything]
    if shown:
        show(changes_table(shown))
    for line in comparison.differences(old, new):
        click.echo(f"not the same run: {line}")
    for cells, where in ((lost, before), (added, after)):
        if cells:
            click.echo(f"only in {where}: {len(cells)} cells, the first {cells[0]}")
    worse = sum(c.worse for c in found)
    click.echo(f"{worse} numbers got worse, {len(found) - worse} better")
    if worse or lost:
        raise click.exceptions.Exit(1)


def _tolerance(text: str) -> tuple[str, float]:
    name, _, share = text.partition("=")
    try:
        return name.strip(), float(share)
    except ValueError:
        raise ValueError(f"--tolerate {text}: want METRIC=SHARE, as in seconds_per_sample=0.5") from None


@click.command("merge")
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option("--output", type=FILE, default="merged.nc", show_default=True, help="File for all of them (netCDF).")
def merge_command(files: Sequence[Path], output: Path) -> None:
    """Put the results in FILES into one, each cell with the machine, versions, commit and date that it comes from.

    A cell is replaced only by a later one of the same machine, versions and commit. `show`, `report`, `plot` and
    `export` tell runs apart; `compare` wants one run of each cell.
    """
    from orfit_bench.bench import collection, load, results

    plugins()
    writable(output)
    table = collection.merged([load(file) for file in files])
    results.write(table, output)
    click.echo(f"{table.sizes['cell']} cells of {len(files)} files. Results: {output}")


@click.command("export")
@click.argument("file", type=FILE)
@click.argument("output", type=FILE)
def export_command(file: Path, output: Path) -> None:
    """Write the numbers in FILE, a row a cell, to OUTPUT: .csv, .parquet (needs pyarrow) or .md.

    Trajectories and error matrices stay in the netCDF file.
    """
    from orfit_bench.bench import collection, load

    plugins()
    spare(file, output)
    collection.export(load(file), output)
    click.echo(f"Written: {output}")

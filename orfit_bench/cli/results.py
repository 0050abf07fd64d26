"""`orfit-bench show`, `compare`, `merge` and `export`: commands for files of results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from orfit_bench.cli.output import say, show, with_columns, with_wide
from orfit_bench.cli.plugins import plugins
from orfit_bench.cli.tolerances import parse_tolerances
from orfit_bench.counts import describe_count
from orfit_bench.jobs.files import ensure_distinct, ensure_writable

FILE = click.Path(path_type=Path)


@click.command("show")
@click.argument("file", type=FILE)
@with_columns
@with_wide
def show_command(file: Path, columns: Sequence[str]) -> None:
    """Print the result tables in FILE.

    With several seeds, also print means with 95 % confidence intervals and pairwise comparisons of methods. The
    p-values are those of Wilcoxon's signed-rank test on the relative differences of the errors on the same streams and
    seeds, with Holm's correction for multiple testing.
    """
    from orfit_bench.bench import load
    from orfit_bench.report.columns import choose_columns

    plugins()
    results = load(file)
    per_cell = [str(name) for name, values in results.variables.items() if values.dims == ("cell",)]
    show_results(results, file, choose_columns(columns, per_cell))


def show_results(results: Any, path: Path, columns: Sequence[str] = ()) -> None:
    """Print the tables, with the named columns if any, their explanations, and the number of cells by status."""
    from orfit_bench.bench.results import is_empty
    from orfit_bench.report.results_listings import means, origins, pairs, spent
    from orfit_bench.report.table import legend, listed, reasons, results_tables

    for table in results_tables(results, columns):
        show(table)
    if over_seeds := list(means(results)):
        for mean in over_seeds:
            show(listed(mean))
        tested = pairs(results)
        show(tested if isinstance(tested, str) else listed(tested))
        show(spent(results))
    for line in (*origins(results), *legend(results, columns), *reasons(results)):
        show(line)
    counts = ", ".join(f"{sum(results['status'].values == s)} {s}" for s in sorted(set(results["status"].values)))
    if is_empty(results):
        say(f"{counts}. Nothing was measured, so no file is written.")
    else:
        say(f"{counts}. Results: {path}")


@click.command("compare")
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option(
    "--tolerate",
    "shares",
    multiple=True,
    metavar="METRIC=SHARE",
    help="Relative change of a metric to ignore, e.g. 0.5 for up to 1.5 times the smaller value; may be repeated.",
)
@click.option("--all", "everything", is_flag=True, help="Also show improvements.")
@with_wide
def compare_command(before: Path, after: Path, shares: Sequence[str], everything: bool) -> None:
    """Report what got worse between two result files.

    Cells of BEFORE and AFTER with the same method, settings, backend, stream, sizes, seed and protocol are compared,
    metric by metric. Each metric declares whether lower or higher is better and how large a relative change may be
    ignored (see orfit-bench list METRIC); --tolerate overrides the latter. A warning is printed if the machines or the
    versions differ, since timings are then not comparable.

    \b
    Examples:
      orfit-bench compare before.nc results.nc
      orfit-bench compare before.nc results.nc --tolerate seconds_per_sample=0.5

    Exit status: 0 if nothing got worse; 1 if something got worse or a cell of BEFORE is missing in AFTER; 2 for a usage
    error.
    """
    from orfit_bench.bench import comparison, load
    from orfit_bench.plugins.registry import registry
    from orfit_bench.report.comparison import changes_table

    plugins()
    old, new = load(before), load(after)
    tolerated = parse_tolerances(shares, registry().metrics, "seconds_per_sample=0.5")
    found = comparison.changes(old, new, tolerated)
    lost, added = comparison.unmatched(old, new)
    shown = [c for c in found if c.worse or everything]
    if shown:
        show(changes_table(shown, old))
    if unknown := comparison.undeclared(old, new):
        say(f"not compared: {', '.join(unknown)}: no plugin that is loaded declares such a metric")
    for line in comparison.differences(old, new):
        say(f"different conditions: {line}")
    for cells, where in ((lost, before), (added, after)):
        if cells:
            say(f"only in {where}: {f'{len(cells)} cells, e.g. ' if len(cells) > 1 else ''}{cells[0]}")
    worse = sum(c.worse for c in found)
    say(f"{describe_count(worse, 'value')} got worse, {len(found) - worse} got better")
    if worse or lost:
        raise click.exceptions.Exit(1)


@click.command("merge")
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option(
    "--output",
    type=FILE,
    default="merged.nc",
    show_default=True,
    metavar="PATH",
    help="File for the merged results (netCDF).",
)
def merge_command(files: Sequence[Path], output: Path) -> None:
    """Merge several FILES of results into one.

    Each cell keeps its machine, versions, commit and date. If a cell occurs more than once with the same machine,
    versions and commit, the latest with times is kept, or else the latest; a later failure replaces a measured cell.
    `show`, `report`, `plot` and `export` distinguish the runs in a merged file; `compare` requires files with one run
    of each cell.
    """
    from orfit_bench.bench import collection, load, results

    plugins()
    results.ensure_netcdf(output)
    ensure_writable(output)
    table = collection.merge([load(file) for file in files])
    results.write(table, output)
    say(f"{describe_count(table.sizes['cell'], 'cell')} of {describe_count(len(files), 'file')}. Results: {output}")


@click.command("export")
@click.argument("file", type=FILE)
@click.argument("output", type=FILE)
def export_command(file: Path, output: Path) -> None:
    """Export the results in FILE to OUTPUT, one row per cell.

    The ending of OUTPUT selects the format: .csv, .parquet (requires pyarrow) or .md. Trajectories and error matrices
    are not exported; they are available in the netCDF file.
    """
    from orfit_bench.bench import load
    from orfit_bench.bench.export import export

    plugins()
    ensure_distinct(file, output)
    export(load(file), output)
    say(f"Written: {output}")

"""`orfit-bench plot` and `orfit-bench report`: figures and an HTML report of results."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from orfit_bench.cli.plugins import plugins
from orfit_bench.jobs.files import ensure_distinct, ensure_writable, make_folder, replace_text

FILE = click.Path(path_type=Path)
FORMATS = ("svg", "png")
OTHER_FORMATS = (".nc", ".csv", ".parquet", ".md", ".json", ".npz")
"""Endings that a report must not have, since they denote other formats than HTML."""


@click.command("plot")
@click.argument("file", type=FILE)
@click.option(
    "--output", type=FILE, default="pictures", show_default=True, metavar="DIR", help="Folder for the figures."
)
@click.option("--format", "ending", type=click.Choice(FORMATS), default="svg", show_default=True, help="File format.")
def plot_command(file: Path, output: Path, ending: str) -> None:
    """Write the figures of the results in FILE to a folder.

    \b
    error       test error along the stream, one line per method
    cost        final test error against time and memory, with the Pareto front
    throughput  samples/s and the roofline limit of the machine; against the
                number of features if several were run
    forgetting  error on every earlier task, one heat map per method

    There is one figure of each kind for every stream (and kind of error, size, protocol and machine). A figure that
    cannot be drawn is reported with the reason. Existing files of the same name are replaced. Requires matplotlib:
    pip install 'orfit-bench[plots]'.

    \b
    Examples:
      orfit-bench plot results.nc
      orfit-bench plot results.nc --output figures --format png
    """
    from orfit_bench.bench import load
    from orfit_bench.report.figures import Omitted, render_figures
    from orfit_bench.report.plotting import save

    plugins()
    results = load(file)
    make_folder(output)
    for rendered in render_figures(results):
        if isinstance(rendered, Omitted):
            click.echo(f"not drawn: {rendered.name}: {rendered.reason}")
        else:
            path = output / f"{rendered.name}.{ending}"
            ensure_writable(path)
            save(rendered.figure, path)
            click.echo(f"{path}{f' ({rendered.some})' if rendered.some else ''}")


@click.command("report")
@click.argument("file", type=FILE)
@click.option("--output", type=FILE, metavar="PATH", help="HTML file to write. Default: FILE with the ending .html.")
def report_command(file: Path, output: Path | None) -> None:
    """Write an HTML report of the results in FILE.

    The report is a single file that works offline. It contains the machine and versions, all numbers in tables that can
    be sorted and filtered, the figures of `orfit-bench plot`, means over seeds with confidence intervals, pairwise
    comparisons of methods, all settings, and the reasons for missing results. Requires matplotlib and Jinja2:
    pip install 'orfit-bench[plots]'.

    \b
    Examples:
      orfit-bench report results.nc
      orfit-bench merge here.nc there.nc --output both.nc
      orfit-bench report both.nc
    """
    with seldom_collected():
        from orfit_bench.bench import load

        plugins()
        results = load(file)
        page = output or file.with_suffix(".html")
        ensure_writable(page)
        ensure_distinct(file, page)
        if page.suffix.lower() in OTHER_FORMATS:
            raise ValueError(
                f"{page}: a report is HTML, want .html; orfit-bench export writes other formats of results"
            )
        write_report(results, page)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Run the cyclic garbage collector rarely: it costs a sixth of the time of writing a report and frees little."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def write_report(results: Any, page: Path) -> None:
    """Write the report and print its path."""
    from orfit_bench.report.results_page import results_page

    replace_text(page, results_page(results))
    click.echo(f"Report: {page}")


def show_page(page: Path) -> None:
    """Open the report in a browser if stdout is a terminal."""
    import webbrowser

    if sys.stdout.isatty() and not os.environ.get("CI"):
        webbrowser.open(page.resolve().as_uri())

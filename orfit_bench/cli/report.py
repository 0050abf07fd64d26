"""`orfit-bench plot` and `orfit-bench report`: results to look at."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from orfit_bench.cli.plugins import plugins
from orfit_bench.jobs.files import make_folder, replace, spare, writable

FILE = click.Path(path_type=Path)
FORMATS = ("svg", "png")


@click.command("plot")
@click.argument("file", type=FILE)
@click.option("--output", type=FILE, default="pictures", show_default=True, help="Folder for the pictures.")
@click.option("--format", "ending", type=click.Choice(FORMATS), default="svg", show_default=True, help="Their format.")
def plot_command(file: Path, output: Path, ending: str) -> None:
    """Draw the results in FILE, a picture a file into a folder.

    \b
    error       the error on the test set along the stream, a line a method
    cost        that error against time and memory, with the Pareto front
    throughput  samples/s beside the machine's limit; over sizes where
                several --features were run
    forgetting  the error on every earlier task, a heat map a method

    There is one of each for every stream (and kind of error, size, protocol and machine). What cannot be drawn is said
    with the reason. Files of the same name are replaced. Needs matplotlib: pip install 'orfit-bench[plots]'.

    \b
    Examples:
      orfit-bench plot results.nc
      orfit-bench plot results.nc --output figures --format png
    """
    from orfit_bench.bench import load
    from orfit_bench.report.figures import Omitted, plates
    from orfit_bench.report.pictures import save

    plugins()
    results = load(file)
    make_folder(output)
    for plate in plates(results):
        if isinstance(plate, Omitted):
            click.echo(f"left out: {plate.name}: {plate.reason}")
        else:
            save(plate.figure, output / f"{plate.name}.{ending}")
            click.echo(f"{output / plate.name}.{ending}{f' ({plate.some})' if plate.some else ''}")


@click.command("report")
@click.argument("file", type=FILE)
@click.option("--output", type=FILE, help="The page. Default: FILE ending in .html.")
def report_command(file: Path, output: Path | None) -> None:
    """Write the results in FILE, one run's or several merged, as a page for the browser.

    It is one file that needs no network: what ran and where, all numbers in tables that sort and filter, the pictures
    of `orfit-bench plot`, means over seeds with intervals, methods compared two by two, who computes what, all
    settings, and what is missing and why. Needs matplotlib and Jinja: pip install 'orfit-bench[plots]'.

    \b
    Examples:
      orfit-bench report results.nc
      orfit-bench merge here.nc there.nc --output both.nc && orfit-bench report both.nc
    """
    with seldom_collected():
        from orfit_bench.bench import load

        plugins()
        results = load(file)
        page = output or file.with_suffix(".html")
        writable(page)
        spare(file, page)
        write_report(results, page)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for cycles of garbage seldom: there are few, and looking takes a sixth of the time that a page takes."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def write_report(results: Any, page: Path) -> None:
    """Make the page, and say where it is."""
    from orfit_bench.report.results_page import results_page

    text = results_page(results)
    replace(page, partial(Path.write_text, data=text, encoding="utf-8"))
    click.echo(f"Report: {page}")


def show_page(page: Path) -> None:
    """Open the page in the user's browser, where somebody sits at a terminal."""
    import webbrowser

    if sys.stdout.isatty() and not os.environ.get("CI"):
        webbrowser.open(page.resolve().as_uri())

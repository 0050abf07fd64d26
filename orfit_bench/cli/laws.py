"""`orfit-bench laws` and `orfit-bench map`: measure the theorems about the methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orfit_bench.cli.output import console, say, show, with_wide
from orfit_bench.cli.plugins import plugins
from orfit_bench.jobs.files import ensure_replaceable

if TYPE_CHECKING:
    from orfit_bench.conformance.check import Deviation
    from orfit_bench.conformance.laws import LawCase


@click.command("laws")
@click.argument("method", required=False)
@click.option("--backend", default="numpy", show_default=True, metavar="NAME", help="Backend to test.")
@click.option("--dtype", default="float64", show_default=True, metavar="DTYPE", help="float64 or float32.")
@with_wide
def laws_command(method: str | None, backend: str, dtype: str) -> None:
    """Measure the laws of all methods, or of METHOD.

    A law is a theorem from the literature written as a test: it runs the learner, computes the same quantity with an
    independent algorithm and returns the deviation between the two. The bound on the deviation is derived from the
    dtype, the number of rows and the condition number of the problem; it is never tuned. Each law is measured on
    several data sets; the table shows the one with the largest deviation relative to its bound.

    \b
    Examples:
      orfit-bench laws
      orfit-bench laws rls --dtype float32

    Exit status: 0 if all laws hold; 1 if a law does not hold; 2 for a usage error.
    """
    from orfit_bench.conformance.laws import cases
    from orfit_bench.learners.arguments import REAL_DTYPES
    from orfit_bench.report.laws import laws_table, summary

    known = plugins()
    known.backends.find(backend)
    if method:
        known.methods.find(method)
    if dtype not in REAL_DTYPES:
        raise ValueError(f"dtype={dtype!r}: want one of {', '.join(REAL_DTYPES)}")
    found = measure_laws(cases(method), backend, dtype)
    show(laws_table(found, f"{backend}, {dtype}"))
    say(summary(found))
    if any(not d.holds for deviations in found.values() for d in deviations if not d.inconclusive):
        raise click.exceptions.Exit(1)


@click.command("map")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default="map.svg",
    show_default=True,
    metavar="PATH",
    help="File for the figure, ending in .svg, .pdf, .png or another format of matplotlib.",
)
@click.option("--backend", default="numpy", show_default=True, metavar="NAME", help="Backend to measure.")
def map_command(output: Path, backend: str) -> None:
    """Draw a map of equivalent methods.

    Every edge of the map is a law, measured on this machine. The figure extends figure 8 of the survey (Peng and Vidal,
    2025). Circles are methods, squares are batch solutions; an edge shows the settings under which two methods agree
    and the measured deviation. Requires matplotlib: pip install 'orfit-bench[plots]'.
    """
    plugins().backends.find(backend)
    ensure_replaceable(output)  # before the measuring
    from orfit_bench.conformance.laws import edges
    from orfit_bench.report.map import draw

    cases = edges()
    found = measure_laws(list(cases.values()), backend, "float64")
    drawn = {edge: found[case] for edge, case in cases.items() if case in found}
    draw(drawn, output)
    click.echo(f"{output}: {len(drawn)} equalities")


def measure_laws(cases: list[LawCase], backend: str, dtype: str) -> dict[LawCase, list[Deviation]]:
    """Measure the laws for which the backend has kernels; report the others on stderr."""
    from rich.progress import track

    from orfit_bench.conformance.data_sets import data_sets_of
    from orfit_bench.conformance.laws import measure_law

    found, lacking = {}, {}
    out = console(err=True)
    for case in track(cases, "measuring", console=out, transient=True, disable=not out.is_terminal):
        if reason := case.absence(backend):
            lacking[case.name] = reason
        else:
            found[case] = [measure_law(case, name, backend, dtype) for name in data_sets_of(case.law)]
    for reason in dict.fromkeys(lacking.values()):
        click.echo(f"not measured: {reason}", err=True)
    if not found:
        raise ValueError(f"no law was measured on {backend}, for the reasons above")
    return found

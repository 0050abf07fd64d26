"""`orfit-bench laws` and `orfit-bench map`: the mathematics of the sources, measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orfit_bench.cli.output import console, show
from orfit_bench.cli.plugins import plugins
from orfit_bench.jobs.files import refuse

if TYPE_CHECKING:
    from orfit_bench.conformance.laws import Case, Finding


@click.command("laws")
@click.argument("method", required=False)
@click.option("--backend", default="numpy", show_default=True, metavar="NAME", help="The backend to measure.")
@click.option("--dtype", default="float64", show_default=True, metavar="DTYPE", help="float64 or float32.")
def laws_command(method: str | None, backend: str, dtype: str) -> None:
    """Measure every law, or those that speak of METHOD, and print what came out.

    A law is a theorem of the sources as a function: it learns, computes the truth by another road, and returns how far
    the two are apart. The bound is derived from the dtype, the rows and the condition of the problem, never fitted.
    Shown is the kind of rows that comes nearest to its bound. The exit status is 1 where a law does not hold.

    \b
    Examples:
      orfit-bench laws
      orfit-bench laws rls --dtype float32
    """
    from orfit_bench.conformance.laws import cases
    from orfit_bench.learners.factory import DTYPES
    from orfit_bench.report.laws import laws_table, summary

    known = plugins()
    known.find("backends", backend)
    if method:
        known.find("methods", method)
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r}: want one of {', '.join(DTYPES)}")
    found = measured(cases(method), backend, dtype)
    show(laws_table(found, f"{backend}, {dtype}"))
    click.echo(summary(found))
    if any(not f.ratio < 1 for findings in found.values() for f in findings if not f.void):
        raise click.exceptions.Exit(1)


@click.command("map")
@click.option("--output", type=click.Path(path_type=Path), default="map.svg", show_default=True, help="The picture.")
@click.option("--backend", default="numpy", show_default=True, metavar="NAME", help="The backend to measure.")
def map_command(output: Path, backend: str) -> None:
    """Draw which methods equal which, under which settings, with the measured deviation on every edge.

    It is the survey's figure 8, extended: round are methods, square batch solutions. The ending of OUTPUT (.svg,
    .pdf, .png) chooses the format. Needs matplotlib: pip install 'orfit-bench[plots]'.
    """
    plugins().find("backends", backend)
    refuse(output)  # before the measuring
    from orfit_bench.conformance.laws import edges
    from orfit_bench.report.map import draw

    cases = edges()
    found = measured(list(cases.values()), backend, "float64")
    drawn = {edge: found[case] for edge, case in cases.items() if case in found}
    draw(drawn, output)
    click.echo(f"{output}: {len(drawn)} equalities")


def measured(cases: list[Case], backend: str, dtype: str) -> dict[Case, list[Finding]]:
    """All of these laws that the backend has the kernels for; what it lacks is said on stderr."""
    from rich.progress import track

    from orfit_bench.conformance import laws

    found, lacking = {}, {}
    out = console(err=True)
    for case in track(cases, "measuring", console=out, transient=True, disable=not out.is_terminal):
        if reason := case.absence(backend):
            lacking[case.name] = reason
        else:
            found[case] = [laws.measured(case, kind, backend, dtype) for kind in laws.kinds(case.law)]
    for reason in dict.fromkeys(lacking.values()):
        click.echo(f"not measured: {reason}", err=True)
    if not found:
        raise ValueError(f"no law was measured on {backend}")
    return found

"""`orfit-bench mutants`: change code in one place at a time, and list the changes that no check notices."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orfit_bench.cli.output import bar, say
from orfit_bench.jobs.files import ensure_writable

if TYPE_CHECKING:
    from orfit_bench.mutation import MutantResult, MutationReport

OUTPUT = Path("mutants")


@click.command("mutants", short_help="Test whether the checks notice mistakes.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--backend", "backends", multiple=True, metavar="NAME", help="Judge the kernels of this backend. Default: all."
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    default=("float64", "complex128"),
    show_default=True,
    metavar="DTYPE",
    help="Run the checks in this dtype; may be repeated. Few methods learn complex numbers.",
)
@click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="NAME",
    help="Change this module only, e.g. my_plugin.helpers, or learner code such as orfit_bench.learners.rule or the "
    "package orfit_bench.state; may be repeated. Default: the kernels, and what they use from the same package.",
)
@click.option(
    "--seed", default=0, show_default=True, metavar="S", help="Seed of the data, the learners and the sample."
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Judge N mutants only, those chosen by --seed, and print a confidence interval. Default: all.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    help="Number of mutants judged at the same time. Default: the number of cores.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=OUTPUT,
    show_default=True,
    metavar="PATH",
    help="Store the verdicts in the folder PATH.journal, from which the next run resumes.",
)
@click.option("--fresh", is_flag=True, help="Judge all mutants again.")
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with status 1 if a smaller percentage is killed.",
)
def mutants_command(
    names: tuple[str, ...],
    backends: tuple[str, ...],
    dtypes: tuple[str, ...],
    modules: tuple[str, ...],
    seed: int,
    sample: int | None,
    workers: int | None,
    output: Path,
    fresh: bool,
    fail_under: float | None,
) -> None:
    """Test whether the conformance checks would notice mistakes in kernels or in learner code.

    NAME is a method, a backend, a plugin or a distribution. Each mutant is a kernel with one operator, comparison,
    number, branch or statement changed. The checks run on it until one fails: the mutant is killed. Survivors are
    listed with file, line and change. Each either computes the same as the kernel, or shows that a law or a check is
    missing. With --module, mutants of learner code are judged by the checks of NAME: choose a quick kernel.

    Every mutant is judged in a child process with a time limit. Verdicts are stored at once: the same command resumes
    after an interruption, and judges only what has changed since the last run. Survivors are judged again once a file
    of the package or of the checks has changed.

    \b
    Examples:
      orfit-bench mutants my-plugin
      orfit-bench mutants rls --backend numpy --fail-under 90
      orfit-bench mutants numba --sample 200
      orfit-bench mutants rls --backend numpy --module orfit_bench.kernels.guards
      orfit-bench mutants lms --backend numpy --module orfit_bench.learners.rule

    Exit status: 0; 1 if fewer than --fail-under percent were killed; 2 for a usage error, for example a kernel that
    fails a check unchanged; 130 if interrupted.
    """
    ensure_writable(output)
    from orfit_bench.jobs.processes import BLAS_THREADS

    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))  # read when the libraries are loaded, below
    from orfit_bench.jobs.journal import discard
    from orfit_bench.mutation import run_mutants

    if fresh:
        discard(output)
    with bar() as shown:
        shown.update(0, 0, "checking the unchanged kernels")

        def progress(done: int, total: int, result: MutantResult | None) -> None:
            shown.update(done, total, result.place if result else "")
            if result and not result.killed:
                shown.say(_describe(result))
            if not shown.moves and (result is None or done % 50 == 0 or done == total):
                print(f"[{done}/{total}] mutants judged", file=sys.stderr, flush=True)

        report = run_mutants(
            names, backends=backends, dtypes=dtypes, modules=modules, seed=seed, sample=sample, output=output,
            progress=progress, workers=workers or os.cpu_count() or 1,
        )  # fmt: skip
    _print(report)
    if fail_under is not None and not report.score >= fail_under:
        raise click.exceptions.Exit(1)


def _describe(result: MutantResult) -> str:
    return f"survived: {result.place}\n  - {result.before}\n  + {result.after}"


def _print(report: MutationReport) -> None:
    for result in report.survivors:
        click.echo(_describe(result))
    if not report.results:
        say("The kernels have nothing to change: 0 mutants.")
        return
    total, survived = len(report.results), len(report.survivors)
    again = f", {report.resumed} of them in an earlier run" if report.resumed else ""
    score = f"{report.score:.1f} % killed"
    if total < report.total:
        score += (
            f"; of all {report.total}, with 95 % confidence, {report.interval[0]:.0f} to {report.interval[1]:.0f} %"
        )
    say(f"{total} mutants{again}: {total - survived} killed, {survived} survived ({score}).")

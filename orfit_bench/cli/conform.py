"""`orfit-bench conform`: run the conformance checks."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orfit_bench.cli.output import bar, check_outputs, say, say_command, show, with_wide
from orfit_bench.cli.plugins import plugins
from orfit_bench.jobs import timeouts
from orfit_bench.jobs.files import replace

if TYPE_CHECKING:
    from orfit_bench.conformance import CheckResult, Report, export
    from orfit_bench.conformance.runner import Progress

EVERY = 100
"""Number of checks after which a line is printed if stderr is not a terminal."""
FILE = click.Path(path_type=Path)


@click.command("conform")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--backend", "backends", multiple=True, metavar="NAME", help="Check this backend. Default: all installed backends."
)
@click.option(
    "--check", "only", multiple=True, metavar="NAME", help="Run this check, even a slow one. Default: all fast checks."
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    metavar="DTYPE",
    help="float64, float32, complex128 or complex64. Default: all that a kernel supports.",
)
@click.option(
    "--seed", default=0, show_default=True, metavar="S", help="Seed of the data and the learners, an integer."
)
@click.option("--slow", is_flag=True, help="Also run the slow checks, on streams of 100,000 rows.")
@click.option(
    "--timeout",
    type=float,
    default=timeouts.OF_CHECK,
    show_default=True,
    metavar="S",
    help="Time limit for a check, in seconds; slow checks get ten times as long.",
)
@click.option("--allow-unproven", is_flag=True, help="Exit with 0 even if a method is unproven.")
@click.option("-x", "--exitfirst", "exit_first", is_flag=True, help="Stop at the first check that fails.")
@click.option("--list", "listed", is_flag=True, help="List the checks and what they test, without running them.")
@click.option(
    "--workers", type=int, metavar="N", help="Number of worker processes. Default: the number of cores, at most 8."
)
@click.option("--json", "as_json", type=FILE, metavar="PATH", help="Also write all results to this JSON file.")
@click.option(
    "--junit", "as_junit", type=FILE, metavar="PATH", help="Also write a JUnit XML file, for continuous integration."
)
@click.option("--markdown", "as_page", type=FILE, metavar="PATH", help="Also write a summary in Markdown.")
@with_wide
def conform_command(
    names: tuple[str, ...],
    timeout: float,
    workers: int | None,
    as_json: Path | None,
    as_junit: Path | None,
    as_page: Path | None,
    listed: bool,
    **chosen: Any,
) -> None:
    """Check that implementations match their declarations.

    NAME is a method, backend, stream, metric, experiment, plugin or distribution. Without NAME everything installed is
    checked.

    Some checks apply to every learner: results do not depend on chunking, a copy behaves like the original, the kernel
    agrees with the reference, rejected input leaves the learner unchanged. Others are the laws (theorems) of a method.
    Each check runs with several settings. The bound on the deviation is derived from the dtype, the data and the
    condition number of the problem; it is never tuned.

    Checks run in worker processes with one BLAS thread each, so a crash or a hang fails only the check that caused it.
    Each kernel first learns a few rows; if it cannot, its other checks are not run. Failures with the same cause are
    printed once, those that explain others first, with a command that repeats one of them. --backend, --check and
    --dtype may be given repeatedly.

    \b
    Examples:
      orfit-bench conform
      orfit-bench conform rls lms --backend numpy
      orfit-bench conform my-plugin --slow --junit conform.xml
      orfit-bench conform lms --check any_chunking --dtype float32
      orfit-bench conform my-plugin -x
      orfit-bench conform lms --list
      orfit-bench conform numpy --seed 1 --workers 4 --json conform.json

    \b
    A kernel module declares unsupported features and known failures:
      LACKS = {"models": "no update yet", "forgetting_factor=0": "needs a basis"}
      EXPECTED_FAILURES = {"any_chunking float32": "sums in another order"}

    A method is unproven if one of three learners that are wrong on purpose satisfies all of its laws and agrees with
    its batch solution: one that does nothing, one that steps in the opposite direction (for a subspace: takes half
    steps), and one whose steps are 1 % too long. Such a mistake would then pass unnoticed.

    Exit status: 0 if all checks passed or failed as expected; 1 if a check failed, an expected failure passed, or too
    few checks ran; 2 for a usage error; 3 if a method is unproven, unless --allow-unproven is given.
    """
    check_outputs({"--json": as_json, "--junit": as_junit, "--markdown": as_page})
    from orfit_bench.conformance import export
    from orfit_bench.conformance.isolated import conform_isolated
    from orfit_bench.jobs.processes import BLAS_THREADS
    from orfit_bench.learners.arguments import DTYPES
    from orfit_bench.report.conformance import markdown

    known = plugins()
    for line in dict.fromkeys(line for name in names for line in known.unused_kernels(name)):
        say(f"note: {line}", err=True)
    if listed:
        _list(names, chosen)
        return
    asked = {**chosen, "dtypes": chosen["dtypes"] or DTYPES}
    began = time.monotonic()
    with _progress() as progress:
        report = conform_isolated(*names, **asked, timeout=timeout, workers=workers, progress=progress)
    threads = dict.fromkeys(BLAS_THREADS, "1")
    run = export.RunInfo.now(_command(names, chosen), time.monotonic() - began, threads)
    _write(as_json, export.as_json(report, run).encode())
    _write(as_junit, export.as_junit(report, run))
    _write(as_page, markdown(report, run).encode())
    _show(report, run)
    if not report.passed:
        raise click.exceptions.Exit(3 if report.verdict == "unproven" else 1)


def _list(names: Sequence[str], chosen: dict[str, Any]) -> None:
    """Print the checks that apply to the selection, with what they test."""
    from orfit_bench.conformance.plan import checks_of, validate_selection
    from orfit_bench.report.conformance import checks_table

    pairs = validate_selection(names, chosen["backends"], chosen["dtypes"], chosen["only"], chosen["seed"])
    if not pairs:
        say("No checks of learners: streams, metrics and experiments are compared with their declarations.")
        return
    methods = dict.fromkeys(method for _, method in pairs)
    found = {one.name: one for method in methods for one in checks_of(method)}
    show(checks_table([one for one in found.values() if not chosen["only"] or one.name in chosen["only"]]))


def _write(path: Path | None, data: bytes) -> None:
    if path:
        replace(path, lambda file: file.write(data))


def _command(names: Sequence[str], chosen: dict[str, Any]) -> str:
    """The part of the command line that determines the result, without output files and workers."""
    words = ["orfit-bench", "conform", *names]
    for option, key in (("--backend", "backends"), ("--check", "only"), ("--dtype", "dtypes")):
        words += [word for value in chosen[key] for word in (option, value)]
    words += ["--seed", str(chosen["seed"])] if chosen["seed"] else []
    return shlex.join([*words, "--slow"] if chosen["slow"] else words)


@contextmanager
def _progress() -> Iterator[Progress]:
    """Yield the callback that reports progress on stderr: a bar on a terminal, occasional lines otherwise."""
    from orfit_bench.conformance.result import FAILED

    with bar() as shown:
        causes: set[str] = set()

        def report_progress(done: int, total: int, result: CheckResult) -> None:
            if result.status == FAILED and (not result.cause or result.cause not in causes):
                causes.add(result.cause)
                shown.say(f"[{done}/{total}] {result.label}: failed: {result.reason}")
            elif not shown.moves and done % EVERY == 0:
                shown.say(f"[{done}/{total}]")
            shown.update(done, total, f"{result.method} on {result.backend}")

        yield report_progress


def _show(report: Report, run: export.RunInfo) -> None:
    from orfit_bench.conformance.result import EXPECTED, FAILED, SKIPPED, UNPROVEN
    from orfit_bench.report import conformance as tables

    if report.results:
        show(tables.results_table(report))
        show(tables.capabilities_table(report))
    for line in report.unsupported():
        say(f"not supported: {line}")
    for line in report.notes():
        say(f"note: {line}")
    for status in (SKIPPED, EXPECTED, UNPROVEN, FAILED):
        for line, repeat in tables.lines(report, status):
            say(line)
            if repeat:
                say_command("  repeat: ", repeat)
    for problem in report.problems:
        say(f"problem: {problem}")
    say(tables.summary(report, run))

"""`orfit-bench conform`: check that learners are what their declarations say."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orfit_bench.cli.output import bar, show
from orfit_bench.cli.plugins import plugins
from orfit_bench.jobs.files import replace, writable

if TYPE_CHECKING:
    from orfit_bench.conformance import Record, Report, export
    from orfit_bench.conformance.kit import Progress

TIMEOUT = 60.0
EVERY = 100
"""Off a terminal, a line after so many checks."""
FILE = click.Path(path_type=Path)


@click.command("conform")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="A backend. Default: every one.")
@click.option(
    "--check", "only", multiple=True, metavar="NAME", help="A check, slow or not. Default: all that are fast."
)
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="float64 or float32. Default: both.")
@click.option("--seed", default=0, show_default=True, metavar="S", help="Seed of the rows and learners.")
@click.option("--slow", is_flag=True, help="The slow checks too: streams of a hundred thousand rows.")
@click.option(
    "--timeout",
    type=float,
    default=TIMEOUT,
    show_default=True,
    metavar="S",
    help="Seconds a check may take; a slow one ten times as many.",
)
@click.option("--list", "listed", is_flag=True, help="Only print the checks and their rules.")
@click.option("--workers", type=int, metavar="N", help="Processes at work. Default: the cores, at most 8.")
@click.option("--json", "as_json", type=FILE, metavar="PATH", help="File for all records and what ran, as JSON.")
@click.option("--junit", "as_junit", type=FILE, metavar="PATH", help="File for a CI's pages, as JUnit XML.")
@click.option("--markdown", "as_page", type=FILE, metavar="PATH", help="File for a page fit for a README.")
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
    """Check every learner, or those of the methods, backends, plugins or distributions NAMEd.

    A check is a rule that every learner keeps (any chunking of the rows ends alike, a copy goes on alike, the kernel
    agrees with the reference, bad input changes nothing, ...) or a law of its method. Each is measured under many
    settings against a bound that is derived from the dtype, the rows and the condition of the problem, never fitted.

    Checks run in worker processes with one BLAS thread each: a crash or a hang fails the check that it is in, and no
    other. Behind every failure stands the command that repeats it. --backend, --check and --dtype may be repeated.

    \b
    Examples:
      orfit-bench conform
      orfit-bench conform rls lms --backend numpy
      orfit-bench conform my-plugin --slow --junit conform.xml --markdown CONFORMANCE.md
      orfit-bench conform lms --check any_chunking --dtype float32
      orfit-bench conform lms --list
      orfit-bench conform numpy --seed 1 --workers 4 --json conform.json

    \b
    A kernel says what it lacks of its method, and which checks it is known to fail:
      LACKS = {"models": "waits for a block kernel"}
      EXPECTED_FAILURES = {"any_chunking float32": "sums in another order", "merges_as_declared": "..."}

    Ends with 0 where all passed, or failed as expected, and enough ran; with 1 where a check failed, one passed that
    was expected to fail, or too little ran to tell; with 2 where the command was wrong.
    """
    _refuse([path for path in (as_json, as_junit, as_page) if path])
    from orfit_bench.conformance import export
    from orfit_bench.conformance.isolated import conform_isolated
    from orfit_bench.conformance.plan import DTYPES
    from orfit_bench.jobs.processes import BLAS_THREADS
    from orfit_bench.report.conformance import markdown

    plugins()
    if listed:
        _list(names, chosen)
        return
    asked = {**chosen, "dtypes": chosen["dtypes"] or DTYPES}
    began = time.monotonic()
    with _progress() as progress:
        report = conform_isolated(*names, **asked, timeout=timeout, workers=workers, progress=progress)
    threads = dict.fromkeys(BLAS_THREADS, "1")
    ran = export.Ran.now(_command(names, chosen), time.monotonic() - began, threads)
    _write(as_json, export.as_json(report, ran).encode())
    _write(as_junit, export.as_junit(report, ran))
    _write(as_page, markdown(report, ran).encode())
    _show(report, ran)
    if not report.passed:
        raise click.exceptions.Exit(1)


def _list(names: Sequence[str], chosen: dict[str, Any]) -> None:
    """Every check that there is for what was named, with its rule."""
    from orfit_bench.conformance.plan import of_method, pairs
    from orfit_bench.report.conformance import checks_table

    methods = dict.fromkeys(method for _, method in pairs(names, chosen["backends"]))
    found = {one.name: one for method in methods for one in of_method(method)}
    show(checks_table([one for one in found.values() if not chosen["only"] or one.name in chosen["only"]]))


def _refuse(paths: list[Path]) -> None:
    """OSError or ValueError, before anything runs, where the files cannot be written."""
    for path in paths:
        writable(path)
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise ValueError("--json, --junit and --markdown: two of them name the same file, want a file for each")


def _write(path: Path | None, data: bytes) -> None:
    if path:
        replace(path, partial(Path.write_bytes, data=data))


def _command(names: Sequence[str], chosen: dict[str, Any]) -> str:
    """The command without its files and processes: what decides the result."""
    words = ["orfit-bench", "conform", *names]
    for option, key in (("--backend", "backends"), ("--check", "only"), ("--dtype", "dtypes")):
        words += [word for value in chosen[key] for word in (option, value)]
    words += ["--seed", str(chosen["seed"])] if chosen["seed"] else []
    return shlex.join([*words, "--slow"] if chosen["slow"] else words)


@contextmanager
def _progress() -> Iterator[Progress]:
    """What to call after each check. On stderr: a line for each failure, and a bar, or off a terminal now and then."""
    from orfit_bench.conformance.record import FAILED, where

    with bar() as shown:

        def tell(done: int, total: int, record: Record) -> None:
            if record.status == FAILED:
                shown.say(f"[{done}/{total}] {where(record)}: failed: {record.reason}")
            elif not shown.moves and done % EVERY == 0:
                shown.say(f"[{done}/{total}]")
            shown.update(done, total, f"{record.method} on {record.backend}")

        yield tell


def _show(report: Report, ran: export.Ran) -> None:
    from orfit_bench.conformance.record import EXPECTED, FAILED, SKIPPED
    from orfit_bench.report import conformance as tables

    if report.records:
        show(tables.records_table(report))
        show(tables.capabilities_table(report))
    for line in tables.lacking(report):
        click.echo(line)
    for status in (SKIPPED, EXPECTED, FAILED):
        for line in tables.lines(report, status):
            click.echo(line)
    for problem in report.problems:
        click.echo(f"problem: {problem}")
    click.echo(tables.summary(report, ran))

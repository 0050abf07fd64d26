"""`orfit-bench gate`: compare two commits for regressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from orfit_bench.cli.output import bar, check_outputs, show, with_wide
from orfit_bench.cli.tolerances import parse_tolerances
from orfit_bench.jobs.files import replace_text

PROFILES = ("quick", "full")


@click.command("gate")
@click.argument("base")
@click.argument("head", default="HEAD")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="quick",
    show_default=True,
    help="quick: 64 features only. full: more sizes.",
)
@click.option("--method", "methods", multiple=True, metavar="NAME", help="Measure this method only; may be repeated.")
@click.option(
    "--backend", "backends", multiple=True, metavar="NAME", help="Measure this backend only; may be repeated."
)
@click.option(
    "--tolerate",
    "shares",
    multiple=True,
    metavar="METRIC=SHARE",
    help="Relative change of a metric to ignore, e.g. 0.5 for 50 %; may be repeated.",
)
@click.option(
    "--json",
    "as_json",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Also write all measurements to this JSON file.",
)
@click.option(
    "--markdown",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Also write the changes to this Markdown file, as a comment for a pull request.",
)
@click.option("--bisect", is_flag=True, help="After a regression, find the first commit that has it.")
@with_wide
def gate_command(
    base: str, head: str, profile: str, methods: Sequence[str], backends: Sequence[str], shares: Sequence[str],
    as_json: Path | None, markdown: Path | None, bisect: bool,
) -> None:  # fmt: skip
    """Compare two commits of the current repository for regressions.

    BASE and HEAD (default: HEAD) are commits, tags or branches. The distributions of both commits (in the root, in
    plugins/ and in packages/) are installed in the folder .orfit-bench-gate, which git ignores; all other packages come
    from the current environment. Every method/backend pair that the repository provides is measured; for the repository
    of a plugin, only that plugin's pairs.

    \b
    seconds_per_sample         time per sample, learning a chunk
    kernel_seconds_per_sample  the part of it spent in the kernel
    latency                    time of partial_fit with a single sample
    learn_one_seconds          time of learn_one
    predict_one_seconds        time of predict_one
    prediction_seconds         time per sample, predicting a chunk
    import_seconds             time to import the package
    start_seconds              time to start the command line
    peak_bytes                 peak memory while learning a chunk
    state_bytes                size of the learner's state
    batch_deviation            deviation from the exact batch solution
    frozen_deviation           deviation from a stored reference trajectory

    The code of both commits is installed and run with your rights: only name commits that you would run yourself.

    The timings of the two commits are interleaved and normalized by a reference workload. A suspected change is
    measured again in new processes, up to three times, and reported only if most measurements agree.

    \b
    Examples:
      orfit-bench gate main
      orfit-bench gate v1.0 HEAD --backend numba --profile full
      orfit-bench gate main --tolerate latency=0.5 --markdown gate.md
      orfit-bench gate v1.0 --bisect

    Exit status: 0 if nothing got worse; 1 if something got worse, disappeared or broke; 2 for a usage error.
    """
    from orfit_bench.report import gate as report
    from orfit_bench.tracking import workloads
    from orfit_bench.tracking.bisection import first_with_regression
    from orfit_bench.tracking.environment import environments, repository, uncommitted
    from orfit_bench.tracking.gate import Gate
    from orfit_bench.tracking.quantities import QUANTITIES

    tolerated = parse_tolerances(shares, QUANTITIES, "latency=0.5")
    root = repository(Path.cwd())
    check_outputs({"--json": as_json, "--markdown": markdown})
    with bar() as shown:
        shown.update(0, 1, "installing both commits")
        before, after = environments(root, base, head)
        if uncommitted(root, after.commit):
            shown.say(f"{root} has uncommitted changes, which are not measured: {head} is compared as committed")
        sizes = [workloads.QUICK_SIZE, *(workloads.FULL_SIZES if profile == "full" else [])]
        gate = Gate(before, after, sizes, methods, backends, tolerated, shown.update, root, measures_starts=not methods)
        found = gate.compare()
    if any(f.verdict not in report.UNCHANGED for f in found):
        show(report.findings_table(found))
    for line in (*report.notes(found), report.summary(found)):
        show(line)
    if as_json is not None:
        replace_text(as_json, report.as_json(found, before.commit[:12], after.commit[:12]))
    if markdown is not None:
        replace_text(markdown, report.as_markdown(found, before.commit[:12], after.commit[:12]))
    if bisect:
        with bar() as shown:
            culprit = first_with_regression(root, replace(gate, progress=shown.update), found)
        if culprit:
            show(culprit)
        if culprit and markdown is not None:
            replace_text(markdown, report.as_markdown(found, before.commit[:12], after.commit[:12], culprit))
    if any(f.is_regression for f in found):
        raise click.exceptions.Exit(1)

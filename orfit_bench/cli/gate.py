"""`orfit-bench gate`: two commits beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from orfit_bench.cli.output import bar, show
from orfit_bench.jobs.files import replace, writable

PROFILES = ("quick", "full")


@click.command("gate")
@click.argument("base")
@click.argument("head", default="HEAD")
@click.option("--profile", type=click.Choice(PROFILES), default="quick", show_default=True, help="Which sizes.")
@click.option("--method", "methods", multiple=True, help="Compare this method alone; may be repeated.")
@click.option("--backend", "backends", multiple=True, help="Compare this backend alone; may be repeated.")
@click.option(
    "--tolerate", "shares", multiple=True, metavar="METRIC=SHARE", help="A relative change that is none, as 0.1."
)
@click.option("--output", type=click.Path(path_type=Path), help="File for what changed (.md) or for all (.json).")
def gate_command(
    base: str, head: str, profile: str, methods: Sequence[str], backends: Sequence[str], shares: Sequence[str],
    output: Path | None,
) -> None:  # fmt: skip
    """Compare two commits, BASE and HEAD, of the repository here: what got slower, larger or less exact.

    The distributions of both commits (at the root, in plugins/ and in packages/) are installed beside each other, in a
    folder .orfit-bench-gate that git leaves alone; all else comes from this environment. Every method on every backend
    that they bring is then measured: of a repository with a plugin alone its own ones, of orfit-bench's all.

    \b
    seconds_per_sample         of learning a chunk: the inverse of the throughput
    kernel_seconds_per_sample  what the kernel takes of it
    latency                    seconds of a call with a single sample
    import_seconds, start_seconds   of a new interpreter
    peak_bytes, state_bytes    most memory asked for, and what the learner keeps
    batch_deviation            from the method's exact batch solution
    frozen_deviation           from the trajectory that was frozen, or from BASE's

    Times are taken in turns by both commits, beside a reference workload that tells the machine's speed. What looks
    slower is measured again by new processes, up to three times, and counts only where every look says so.

    \b
    Examples:
      orfit-bench gate main
      orfit-bench gate v1.0 HEAD --backend numba --profile full
      orfit-bench gate main --tolerate latency=0.5 --output gate.md

    Ends with 0 where nothing got worse, with 1 where something did, is gone or broken, with 2 where the command was
    wrong.
    """
    from orfit_bench.report import gate as report
    from orfit_bench.tracking import workloads
    from orfit_bench.tracking.environment import environment, repository, uncommitted
    from orfit_bench.tracking.gate import Gate
    from orfit_bench.tracking.metrics import tolerances

    if output is not None and output.suffix not in (".md", ".json"):
        raise ValueError(f"{output}: want a file ending in .md or .json")
    tolerated = tolerances(shares)
    root = repository(Path.cwd())
    if output is not None:
        writable(output)
    with bar() as shown:
        shown.update(0, 1, "installing both commits")
        before, after = (environment(root, commit) for commit in (base, head))
        if uncommitted(root, after.commit):
            shown.say(f"{root} has changes that are not committed: {head} is measured without them")
        sizes = [workloads.QUICK_SIZE, *(workloads.FULL_SIZES if profile == "full" else [])]
        found = Gate(before, after, sizes, methods, backends, tolerated, shown.update).findings()
    if any(f.verdict not in report.UNCHANGED for f in found):
        show(report.findings_table(found))
    for line in (*report.notes(found), report.summary(found)):
        show(line)
    if output is not None:
        written = report.as_markdown if output.suffix == ".md" else report.as_json
        said = written(found, before.commit[:12], after.commit[:12])
        replace(output, lambda path: path.write_text(said, encoding="utf-8"))
    if any(f.bad for f in found):
        raise click.exceptions.Exit(1)

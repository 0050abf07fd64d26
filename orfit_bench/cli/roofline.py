"""`orfit-bench roofline`: what this machine allows a kernel."""

from __future__ import annotations

import click

from orfit_bench.cli.output import console, show


@click.command("roofline")
@click.option("--fresh", is_flag=True, help="Measure again, though there are figures of this machine.")
def roofline_command(fresh: bool) -> None:
    """Measure what the machine allows one thread, keep it, and print it.

    Two numbers limit every kernel: the bytes a second that can be read and written where its state lies (the smaller
    the state, the nearer the cache), and the rate of matrix products. Every throughput in a table stands beside its
    share of the smaller limit, by the operations and bytes that the method is declared to take. They are measured once
    a machine, by the first run; on a machine that was busy then, measure again.

    \b
    Examples:
      orfit-bench roofline
      orfit-bench roofline --fresh
    """
    from orfit_bench.bench import roofline
    from orfit_bench.bench.worker import Worker
    from orfit_bench.report.roofline import roofline_table

    out = console(err=True)
    with Worker() as worker, out.status("measuring the machine, a few seconds"):
        path = worker.measure_machine(fresh)
    kept = roofline.read(path)
    if kept is None:
        raise OSError(f"{path}: what was measured cannot be kept there: is the folder writable?")
    show(roofline_table(kept))
    click.echo(f"Kept in {path}")

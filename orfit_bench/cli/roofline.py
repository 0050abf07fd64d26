"""`orfit-bench roofline`: measure the limits of this machine."""

from __future__ import annotations

import click

from orfit_bench.cli.output import console, show


@click.command("roofline")
@click.option("--fresh", is_flag=True, help="Measure again, even if this machine was measured before.")
def roofline_command(fresh: bool) -> None:
    """Measure the limits of this machine.

    Two rates, measured for one thread, limit the throughput of a kernel: the bandwidth of the memory that holds its
    state (the smaller the state, the faster the cache), and the rate of floating-point operations in a matrix product.
    From these and from the operations and bytes per sample that a method declares, the result tables compute the share
    of the roofline limit that each throughput reaches. The first run measures the bandwidth for several sizes and the
    rate for each dtype, and stores them; use --fresh if the machine was busy at that time.

    \b
    Examples:
      orfit-bench roofline
      orfit-bench roofline --fresh
    """
    from orfit_bench.bench import roofline
    from orfit_bench.bench.executors import SubprocessExecutor
    from orfit_bench.report.roofline import roofline_table

    out = console(err=True)
    with SubprocessExecutor() as worker, out.status("measuring the machine (a few seconds)"):
        path = worker.measure_machine(fresh)
    kept = roofline.read(path)
    if kept is None:
        raise OSError(f"{path}: the measurements cannot be stored there. Check that the folder is writable.")
    show(roofline_table(kept))
    click.echo(f"Stored in {path}")

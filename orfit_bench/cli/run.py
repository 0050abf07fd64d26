"""`orfit-bench run`: run a benchmark suite, print the tables, write the results file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from orfit_bench.cli.output import WRITTEN, bar, say, with_columns, with_wide
from orfit_bench.cli.plugins import plugins
from orfit_bench.cli.report import show_page, write_report
from orfit_bench.cli.results import show_results
from orfit_bench.cli.suite_options import make_suite, with_suite_options
from orfit_bench.counts import describe_count
from orfit_bench.jobs import timeouts
from orfit_bench.jobs.files import ensure_distinct, ensure_writable
from orfit_bench.jobs.journal import folder_of


@click.command("run")
@with_suite_options
@click.option(
    "--timeout",
    type=float,
    default=timeouts.OF_CELL,
    show_default=True,
    metavar="S",
    help="Time limit for a cell, in seconds.",
)
@click.option(
    "--memory-budget",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    metavar="GB",
    help="Memory that a metric may use, in GB. A metric that needs more is n/a, and the notes say why.",
)
@click.option(
    "--memory-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="GB",
    help="Memory that a cell may use, in GB. Default: three quarters of the machine's memory, divided by --jobs; on a "
    "cluster, of the worker's memory, divided by its threads.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default="results.nc",
    show_default=True,
    metavar="PATH",
    help="File for the results (netCDF); an existing file is replaced at the end.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of cells that run at the same time. With more than one, errors are measured, but times are not.",
)
@click.option(
    "--executor",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="Where cells run: on this machine, or on the workers of a Dask cluster.",
)
@click.option("--address", metavar="URL", help="Scheduler of the cluster, such as tcp://host:8786.")
@click.option(
    "--timed/--untimed",
    default=None,
    help="Whether to measure times. Default: --timed with --executor local and --jobs 1, otherwise --untimed. "
    "On a cluster, timed cells run only on workers with the resource timing.",
)
@click.option("--fresh", is_flag=True, help="Discard the finished cells of an interrupted run and start again.")
@click.option("--report", is_flag=True, help="Also write an HTML report (OUTPUT with the ending .html) and open it.")
@with_columns
@with_wide
def run_command(
    output: Path,
    timeout: float,
    memory_budget: float,
    memory_limit: float | None,
    jobs: int,
    executor: str,
    address: str | None,
    timed: bool | None,
    fresh: bool,
    report: bool,
    columns: Sequence[str],
    **chosen: Any,
) -> None:
    """Benchmark methods on backends and streams.

    A cell is one measurement: a method with its settings on a backend and a stream. The results are printed in one
    table per kind of error and written to OUTPUT.

    Without --stream, each method runs on streams that match its kind: rotated_digits and drift for regression
    and filters, class_digits for classification, digits_pca for subspace methods. It is an error to combine a method
    with a stream that it cannot learn.

    With --data, methods run on the rows of a file, local or by URL, read in batches: CSV (.csv, .csv.gz, .tsv), Parquet
    (.parquet, .pq), Arrow (.arrow, .arrows, .ipc, .feather), NumPy (.npy) or Zarr (.zarr). All columns but the --target
    are features. A target column of strings is used for classification, one of numbers for regression; integers are
    numbers unless a classification method is named. String columns require --one-hot, missing values --indicators.
    --categorical encodes a named column of strings, integers or booleans in the same way as --one-hot. --gaps keeps
    rows without a target, for filters.

    Each cell runs in a fresh process with one BLAS thread, so a crash or a hang affects only that cell. An interrupted
    run is resumed by giving the same command again. --method, --backend, --stream, --data, --target, --drop,
    --categorical, --column, --rows, --features, --seed and --set may be given repeatedly.

    \b
    Examples:
      orfit-bench run
      orfit-bench run --method rls --method lms --set rls.forgetting_factor=0.99
      orfit-bench run --set lms.step_size='{power={eta0=1.0,power=0.8}}'
      orfit-bench run --stream drift --set drift.drift=0.1 --rows 10000
      orfit-bench run --stream regression --features 16 --features 64
      orfit-bench run --method lms --learners 4 --round 100
      orfit-bench run --data rides.parquet --target fare --time pickup --test 0.2
      orfit-bench run --data rides.parquet --target fare --standardize --intercept
      orfit-bench run --suite mine.toml --output mine.nc
      orfit-bench run --seed 0 --seed 1 --seed 2 --report
      orfit-bench run --seed 0 --seed 1 --seed 2 --jobs 4
      orfit-bench run --executor dask --address tcp://host:8786

    \b
    A suite file; every line is optional:
      methods = ["lms", {name = "rls", settings = {forgetting_factor = 0.99}},
                 {name = "orfit", model = {hidden = [32], activation = "tanh"}}]
      backends = ["numpy"]
      streams = ["rotated_digits", {name = "drift", settings = {d = 32}}]
      seeds = [0, 1]
      settings = {drift = {drift = 0.1}}
      protocol = {passes = 2, intercept = true}

    Exit status: 0 on success, even if some cells are absent because their data or their kernel is not available; 1 if a
    cell failed, crashed or timed out, or nothing was measured; 2 for a usage error.
    """
    from orfit_bench import bench
    from orfit_bench.bench.cell import GOOD
    from orfit_bench.bench.variables import per_cell
    from orfit_bench.report.columns import choose_columns

    plugins()
    suite = make_suite(chosen)
    if chosen["file"]:
        ensure_distinct(Path(chosen["file"]), output, "suite")
    columns = choose_columns(columns, per_cell())
    if report:
        from orfit_bench.report.page import require

        require("orfit_bench.report.results_page")
        ensure_writable(output)  # raises if the output has no file name
        ensure_writable(output.with_suffix(".html"))
        ensure_distinct(output, output.with_suffix(".html"))
    if output.name:
        ensure_writable(output)
    stored = 0 if fresh or not output.name else sum(1 for _ in folder_of(output).glob("*.json"))
    with _cluster(executor, address, jobs) as client, _progress(stored) as progress:
        results = bench.run(
            suite,
            output,
            timeout=timeout,
            memory_budget=1e9 * memory_budget,
            memory_limit=None if memory_limit is None else 1e9 * memory_limit,
            jobs=jobs,
            timed=timed,
            client=client,
            fresh=fresh,
            progress=progress,
        )
    if not bench.results.is_empty(results):
        click.get_current_context().meta[WRITTEN] = output
    show_results(results, output, columns)
    if report and not bench.results.is_empty(results):
        page = output.with_suffix(".html")
        write_report(results, page)
        show_page(page)
    found = set(results["status"].values)
    if not found <= set(GOOD) or found == {"absent"}:
        click.get_current_context().exit(1)


@contextmanager
def _cluster(executor: str, address: str | None, jobs: int) -> Iterator[Any]:
    """Yield a client of the cluster, None for the local executor. Raises ValueError for options that do not fit."""
    if executor == "local":
        if address:
            raise ValueError(f"--address {address}: it is for a cluster: add --executor dask")
        yield None
        return
    if not address:
        raise ValueError("--executor dask: add --address, the URL of the scheduler")
    if jobs > 1:
        raise ValueError(f"--jobs {jobs}: the workers of the cluster run the cells: leave it out with --executor dask")
    from orfit_bench.bench.cluster import connect, describe_workers

    with connect(address) as client:
        say(f"cluster {address}: {describe_workers(client)}", err=True)
        yield client


@contextmanager
def _progress(stored: int) -> Iterator[Any]:
    """Yield the callback that reports progress on stderr: a bar and failures on a terminal, else a line per cell.

    `stored` is the number of finished cells stored next to the output; a line states how many of them are not reused.
    """
    from orfit_bench.bench.cell import GOOD
    from orfit_bench.bench.progress import describe

    with bar() as shown:

        def report_progress(done: int, total: int, record: dict[str, Any] | None) -> None:
            if record is None:
                if done:
                    shown.say(f"resuming: {done} of {total} cells are already finished")
                if stored > done:
                    shown.say(
                        f"{describe_count(stored - done, 'stored cell')} not reused: of another run, or damaged, or "
                        f"the versions, machine, commit, plugins, rows or limits have changed, or only one of the "
                        f"runs is timed"
                    )
            elif not shown.moves or record["status"] not in GOOD:
                shown.say(f"[{done}/{total}] {describe(record)}")
            last = f"last: {record['cell']['method']} on {record['cell']['backend']}" if record else ""
            shown.update(done, total, last)

        yield report_progress

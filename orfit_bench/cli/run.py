"""`orfit-bench run`: measure a suite, show the table, keep the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orfit_bench.cli.output import bar
from orfit_bench.cli.plugins import plugins
from orfit_bench.cli.report import show_page, write_report
from orfit_bench.cli.results import show_results
from orfit_bench.jobs.files import spare, writable

if TYPE_CHECKING:
    from orfit_bench.bench import Suite

TIMEOUT = 300.0
GOOD = ("ok", "absent")


@click.command("run")
@click.option("--suite", "file", type=click.Path(path_type=Path), help="A suite in a TOML file; options override it.")
@click.option("--method", "methods", multiple=True, metavar="NAME", help="A method. Default: every one.")
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="A backend. Default: every one.")
@click.option("--stream", "streams", multiple=True, metavar="NAME", help="A stream. Default: by the method's kind.")
@click.option("--rows", multiple=True, type=int, metavar="N", help="Rows of the streams. Default: each stream's own.")
@click.option("--features", multiple=True, type=int, metavar="D", help="Features of the streams. Default: their own.")
@click.option("--seed", "seeds", multiple=True, type=int, metavar="S", help="Seed of learner and stream. Default: 0.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME.SETTING=VALUE",
    help="A setting of a method or stream, as in rls.ridge=0.1 or drift.drift=0.1; VALUE is TOML, or none.",
)
@click.option("--dtype", metavar="DTYPE", help="float64 (default) or float32.")
@click.option("--passes", type=int, metavar="E", help="Times the rows are learned. Default: 1.")
@click.option("--learners", type=int, metavar="M", help="Learners that share the rows and are averaged. Default: 1.")
@click.option(
    "--round", "rounds", type=int, metavar="R", help="Rows a learner learns between averages. Default: a pass."
)
@click.option("--timeout", type=float, default=TIMEOUT, show_default=True, metavar="S", help="Seconds a cell may take.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default="results.nc",
    show_default=True,
    help="File for the results (netCDF), replaced at the end.",
)
@click.option("--fresh", is_flag=True, help="Forget the finished cells of a run that was killed.")
@click.option("--report", is_flag=True, help="Make a page of the results too, OUTPUT ending in .html, and open it.")
def run_command(output: Path, timeout: float, fresh: bool, report: bool, **chosen: Any) -> None:
    """Measure methods on backends over streams, one cell at a time, and show them in a table for each kind of error.

    Without --stream each method learns streams that suit its kind: numbers (rotated_digits, drift), labels
    (class_digits) or, for subspaces, rows alone (digits_pca). A method named must suit a stream named.

    Every cell runs in a process of its own with one BLAS thread: a crash or a hang costs that cell only. Finished
    cells are kept beside OUTPUT, so that the same command goes on after a kill. --method, --backend, --stream,
    --rows, --features, --seed and --set may be repeated.

    \b
    Examples:
      orfit-bench run
      orfit-bench run --method rls --method lms --set rls.forgetting_factor=0.99
      orfit-bench run --set lms.step_size='{power={eta0=1.0,power=0.8}}'
      orfit-bench run --stream drift --set drift.drift=0.1 --rows 10000
      orfit-bench run --stream regression --features 16 --features 64
      orfit-bench run --method lms --learners 4 --round 100
      orfit-bench run --suite mine.toml --output mine.nc
      orfit-bench run --seed 0 --seed 1 --seed 2 --report

    \b
    A suite file, every line of which may be left out:
      methods = ["lms", {name = "rls", settings = {forgetting_factor = 0.99}},
                 {name = "orfit", model = {hidden = [32], activation = "tanh"}}]
      backends = ["numpy"]
      streams = ["rotated_digits", {name = "drift", settings = {d = 32}}]
      seeds = [0, 1]
      settings = {drift = {drift = 0.1}}
      protocol = {passes = 1, learners = 4, round = 100}

    Ends with 0, also where some cells are absent (their data or their kernel is not here); with 1 where a cell
    failed, crashed or timed out, or where nothing was measured; with 2 where the command was wrong.
    """
    from orfit_bench import bench

    plugins()
    suite = _suite(chosen)
    if report:
        from orfit_bench.report.page import require

        require("orfit_bench.report.results_page")
        writable(output)  # or it may have no name to take
        writable(output.with_suffix(".html"))
        spare(output, output.with_suffix(".html"))
    with _progress() as progress:
        results = bench.run(suite, output, timeout=timeout, fresh=fresh, progress=progress)
    show_results(results, output)
    if report and not bench.results.is_empty(results):
        page = output.with_suffix(".html")
        write_report(results, page)
        show_page(page)
    found = set(results["status"].values)
    if not found <= set(GOOD) or found == {"absent"}:
        click.get_current_context().exit(1)


def _suite(chosen: dict[str, Any]) -> Suite:
    """The file's suite, or the default one, with what the options say in its place."""
    from dataclasses import replace

    from orfit_bench.bench import Suite
    from orfit_bench.bench.suite import read

    suite = read(chosen["file"]) if chosen["file"] else Suite()
    lists = {name: chosen[name] for name in ("methods", "backends", "streams", "rows", "features", "seeds")}
    suite = replace(suite, **{name: value for name, value in lists.items() if value})
    if chosen["dtype"]:
        suite = replace(suite, dtype=chosen["dtype"])
    given = {"passes": chosen["passes"], "learners": chosen["learners"], "round": chosen["rounds"]}
    changed = {name: value for name, value in given.items() if value is not None}
    suite = replace(suite, protocol=replace(suite.protocol, **changed))
    return _with_settings(suite, chosen["sets"])


def _with_settings(suite: Suite, sets: Sequence[str]) -> Suite:
    """The suite with NAME.SETTING=VALUE laid over the settings of the method or stream of that name."""
    from dataclasses import replace

    if not sets:
        return suite
    names = dict(zip(("method", "stream"), suite.names(), strict=True))
    settings = {name: dict(given) for name, given in suite.settings.items()}
    for text in sets:
        name, setting, value = _parsed(text)
        if name not in names[kind := _kind(text, name)]:
            raise ValueError(f"--set {text}: {name} is not among the {kind}s of this run; add --{kind} {name}")
        settings.setdefault(name, {})[setting] = value
    return replace(suite, settings=settings)


def _kind(text: str, name: str) -> str:
    """What bears the name: "method" or "stream"."""
    from orfit_bench.errors import hint
    from orfit_bench.plugins.registry import registry

    known = registry()
    if name not in known.methods and name not in known.streams:
        raise ValueError(f"--set {text}: no method or stream {name!r}{hint(name, {*known.methods, *known.streams})}")
    return "method" if name in known.methods else "stream"


def _parsed(text: str) -> tuple[str, str, Any]:
    """Name, setting and value; the value as TOML has it, with `none` for None and bare words for texts."""
    import tomllib

    name, equals, value = text.partition("=")
    owner, dot, setting = name.strip().partition(".")
    if not (equals and dot and owner and setting):
        raise ValueError(
            f"--set {text}: want NAME.SETTING=VALUE for a method or stream, as in rls.ridge=0.1 or drift.drift=0.1"
        )
    if value.strip().lower() == "none":
        return owner, setting, None
    try:
        return owner, setting, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return owner, setting, value.strip()


@contextmanager
def _progress() -> Iterator[Any]:
    """What to call after each cell. On stderr: a bar and a line for each failure on a terminal, else a line a cell."""
    with bar() as shown:

        def tell(done: int, total: int, record: dict[str, Any] | None) -> None:
            if record is None:
                if done:
                    shown.say(f"{done} of {total} cells are finished already, taken from the journal")
            elif not shown.moves or record["status"] not in GOOD:
                shown.say(f"[{done}/{total}] {_line(record)}")
            now = f"{record['cell']['method']} on {record['cell']['backend']}" if record else ""
            shown.update(done, total, now)

        yield tell


def _line(record: dict[str, Any]) -> str:
    cell = record["cell"]
    size = ", ".join(f"{k} {v}" for k, v in cell["stream_settings"].items() if k in ("n", "d"))
    what = f"{cell['method']} on {cell['backend']}, {cell['stream']} ({size}, seed {cell['seed']})"
    return f"{what}: {record['status']}{': ' if record['reason'] else ''}{record['reason']}"

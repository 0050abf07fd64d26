"""`orfit-bench new-plugin`: create a plugin from a template."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from orfit_bench.cli.plugins import plugins

KINDS = ("method", "classification", "filter", "subspace", "backend", "both", "stream", "metric", "model")


@click.command("new-plugin")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    metavar="KIND",
    default="method",
    show_default=True,
    help="What the plugin provides: a learning rule for numbers, labels, the state of a filter or a subspace (method, "
    "classification, filter, subspace), an array type with kernels (backend), a method and a backend (both), data "
    "(stream), a metric, or a model.",
)
@click.option("--folder", type=click.Path(path_type=Path), metavar="PATH", help="Folder to create. Default: ./NAME.")
def new_plugin_command(name: str, kind: str, folder: Path | None) -> None:
    """Create a plugin called NAME from a template.

    The plugin is a small, complete distribution that installs and passes all checks: a method with its laws (leaky
    LMS, normalized LMS on labels, a filter with a constant gain, or the normalized Oja rule), a backend (NumPy arrays,
    with a kernel for lms), a method and a backend, a stream (two tasks), a metric (mean absolute error) or a model
    (radial basis functions). Replace its files one by one with your own. NAME is used for the distribution, the
    package and the method or backend; a NAME that is already taken is an error. docs/tutorial.md in the repository is
    a worked example.

    \b
    Examples:
      orfit-bench new-plugin my-lms
      orfit-bench new-plugin my-classifier --kind classification
      orfit-bench new-plugin my-data --kind stream
      orfit-bench new-plugin my-arrays --kind backend --folder plugins/my-arrays
    """
    from orfit_bench.new_plugin import write

    plugins()
    folder = folder or Path(name)
    names, shown = write(name, kind, folder), shlex.quote(str(folder))
    run = {
        "backend": f"orfit-bench run --method lms --backend {names.package}",
        "stream": f"orfit-bench run --method lms --stream {names.package}",
        "metric": f"orfit-bench run --method lms --stream drift --column {names.package}",
        "model": f"pytest {shown}",
    }.get(kind, f"orfit-bench run --method {names.package}")
    what = {"both": "method and backend", **dict.fromkeys(("classification", "filter", "subspace"), "method")}
    click.echo(
        f"{folder}: the {what.get(kind, kind)} {names.package}, "
        f"distribution {names.distribution}\n"
        f"  pip install --editable {shown}\n"
        f"  orfit-bench conform {names.package}\n"
        f"  {run}"
    )

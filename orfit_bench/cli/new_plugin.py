"""`orfit-bench new-plugin`: a starting point for a method or a backend of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from orfit_bench.cli.plugins import plugins


@click.command("new-plugin")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(("method", "backend", "both")),
    default="method",
    show_default=True,
    help="What it brings: a learning rule, an array type with kernels, or both.",
)
@click.option("--folder", type=click.Path(path_type=Path), metavar="PATH", help="A new folder. Default: ./NAME.")
def new_plugin_command(name: str, kind: str, folder: Path | None) -> None:
    """Write a plugin of your own: a distribution that installs and conforms as it stands.

    It is whole and small (a method: leaky LMS with its batch solution and two laws; a backend: NumPy arrays with a
    kernel for lms), to be changed into your own file by file. NAME becomes the distribution, the package and the method
    or backend; one that is taken is refused. docs/tutorial.md of the repository goes on from here.

    \b
    Examples:
      orfit-bench new-plugin my-lms
      orfit-bench new-plugin my-arrays --kind backend --folder plugins/my-arrays
    """
    from orfit_bench.new_plugin import write

    plugins()
    folder = folder or Path(name)
    names = write(name, kind, folder)
    run = f"--method {names.package}" if kind != "backend" else f"--method lms --backend {names.package}"
    click.echo(
        f"{folder}: the {'method and backend' if kind == 'both' else kind} {names.package}, "
        f"distribution {names.distribution}\n"
        f"  pip install --editable {folder}\n"
        f"  orfit-bench conform {names.package}\n"
        f"  orfit-bench run {run}"
    )

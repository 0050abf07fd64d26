"""`orfit-bench list`: list and describe methods, backends, streams, metrics and plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orfit_bench.cli.output import show, with_wide
from orfit_bench.cli.plugins import plugins
from orfit_bench.spec.synonyms import suggest_method

if TYPE_CHECKING:
    from orfit_bench.plugins.registry import Registry


@click.command("list")
@click.argument("name", required=False)
@with_wide
def list_command(name: str | None) -> None:
    """List what is installed, or describe NAME.

    Without NAME, list all methods with the backends that support them, and all backends, streams, metrics and plugins.
    With the NAME of a method, show its formulas, settings, state, laws with their sources, and cost; with the NAME of a
    backend, its methods; of a stream, its source and settings; of a metric, its formula; of an experiment, its source
    and data; of a plugin, its state and what it supplies.

    \b
    Examples:
      orfit-bench list
      orfit-bench list orfit
      orfit-bench list rotated_digits
    """
    from orfit_bench.report import declared

    known = plugins()
    shown = list(declared.overview(known) if name is None else declared.details(known, name))
    if not shown:
        raise ValueError(_unknown(known, str(name)))
    for item in shown:
        show(item)


def _unknown(known: Registry, name: str) -> str:
    names = {*known.methods, *known.backends, *known.streams, *known.metrics, *known.experiments}
    names |= {plugin.name for plugin in known.plugins}
    return f"no method, backend, stream, metric, experiment or plugin {name!r}{suggest_method(name, names)}"

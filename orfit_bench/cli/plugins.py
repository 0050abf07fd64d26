"""Load the plugins for a command and report the broken ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orfit_bench.cli.output import say

if TYPE_CHECKING:
    from orfit_bench.plugins.registry import Registry


def plugins() -> Registry:
    """Return the registry. Broken plugins are reported on stderr; with --strict-plugins they raise PluginError."""
    from orfit_bench.plugins.redirection import written_on_stderr
    from orfit_bench.plugins.registry import registry

    with written_on_stderr():
        known = registry()
    asked = click.get_current_context().find_root().params
    if asked["strict_plugins"]:
        known.require_sound()
    for plugin in known.plugins:
        if plugin.state == "broken":
            say(f"Broken plugin {plugin.name} ({plugin.supplier}): {plugin.reason}", err=True)
            if asked["debug"]:
                click.echo(plugin.trace, err=True)
    return known

"""The stream my_plugin, announced to orfit_bench."""

from orfit_bench import hookimpl
from orfit_bench.spec import Stream

from my_plugin.stream import STREAM

SPEC_VERSION = (1, 0)
"""The version of the plugin interface that this plugin was written for."""


@hookimpl
def streams() -> tuple[Stream, ...]:
    """The streams of this plugin."""
    return (STREAM,)

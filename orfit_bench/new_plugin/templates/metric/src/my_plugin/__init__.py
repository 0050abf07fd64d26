"""The metric my_plugin, announced to orfit_bench."""

from orfit_bench import hookimpl
from orfit_bench.spec import Metric

from my_plugin.metric import METRIC

SPEC_VERSION = (1, 0)
"""The version of the plugin interface that this plugin was written for."""


@hookimpl
def metrics() -> tuple[Metric, ...]:
    """The metrics of this plugin."""
    return (METRIC,)

"""The method my_plugin, announced to orfit_bench."""

from orfit_bench import hookimpl
from orfit_bench.spec import Method

from my_plugin.method import METHOD

SPEC_VERSION = (1, 0)
"""The version of the plugin interface that this plugin was written for."""


@hookimpl
def methods() -> tuple[Method, ...]:
    """Learning rules."""
    return (METHOD,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """The module that computes a (backend, method), imported on first use."""
    return {("numpy", METHOD.name): "my_plugin.kernel"}

"""The method my_plugin and a backend that computes it, announced to orfit_bench."""

from orfit_bench import hookimpl
from orfit_bench.spec import Backend, Method

from my_plugin.backend import BACKEND
from my_plugin.method import METHOD

SPEC_VERSION = (1, 0)
"""The version of the plugin interface that this plugin was written for."""


@hookimpl
def methods() -> tuple[Method, ...]:
    """Learning rules."""
    return (METHOD,)


@hookimpl
def backends() -> tuple[Backend, ...]:
    """Backends: array types and the hardware that they use."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """The module that computes a (backend, method), imported on first use.

    Both backends use NumPy arrays, so they share one module. Write a separate one once your arrays are different.
    """
    return {(backend, METHOD.name): "my_plugin.kernel" for backend in ("numpy", BACKEND.name)}

"""The method my_plugin and a backend that computes it, announced to orfit_bench."""

from orfit_bench import hookimpl
from orfit_bench.spec import Backend, Method

from my_plugin.backend import BACKEND
from my_plugin.method import METHOD

SPEC_VERSION = (1, 0)
"""The contract that this plugin was built for."""


@hookimpl
def methods() -> tuple[Method, ...]:
    """Learning rules."""
    return (METHOD,)


@hookimpl
def backends() -> tuple[Backend, ...]:
    """Array types, and where they compute."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """The module that computes a (backend, method), imported on first use.

    Both backends hold NumPy arrays, so that one module serves them; give yours its own once its arrays are others.
    """
    return {(backend, METHOD.name): "my_plugin.kernel" for backend in ("numpy", BACKEND.name)}

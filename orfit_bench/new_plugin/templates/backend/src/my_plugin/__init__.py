"""The backend my_plugin and its kernels, announced to orfit_bench."""

from orfit_bench import hookimpl
from orfit_bench.spec import Absent, Backend

from my_plugin.backend import BACKEND

SPEC_VERSION = (1, 0)
"""The version of the plugin interface that this plugin was written for."""


@hookimpl
def backends() -> tuple[Backend, ...]:
    """Backends: array types and the hardware that they use."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str | Absent]:
    """The module that computes a (backend, method), imported on first use; Absent with the reason if there is none."""
    return {
        (BACKEND.name, "lms"): "my_plugin.lms",
        (BACKEND.name, "rls"): Absent("not written yet"),
    }

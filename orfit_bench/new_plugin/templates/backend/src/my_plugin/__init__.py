"""The backend my_plugin and its kernels, announced to orfit_bench."""

from orfit_bench import hookimpl
from orfit_bench.spec import Absent, Backend

from my_plugin.backend import BACKEND

SPEC_VERSION = (1, 0)
"""The contract that this plugin was built for."""


@hookimpl
def backends() -> tuple[Backend, ...]:
    """Array types, and where they compute."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str | Absent]:
    """The module that computes a (backend, method), imported on first use; for none, Absent with the reason."""
    return {
        (BACKEND.name, "lms"): "my_plugin.lms",
        (BACKEND.name, "rls"): Absent("not written yet"),
    }

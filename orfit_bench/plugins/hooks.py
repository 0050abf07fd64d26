"""The six hooks that a plugin can implement. Each is called once, at start-up: do not import heavy modules there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pluggy

from orfit_bench.spec import Absent, Backend, Experiment, Method, Metric, Stream

PROJECT = "orfit_bench"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def methods() -> Iterable[Method]:
    """Declare learning rules."""
    raise NotImplementedError


@hookspec
def backends() -> Iterable[Backend]:
    """Declare array types and the devices on which they compute."""
    raise NotImplementedError


@hookspec
def kernels() -> Mapping[tuple[str, str], str | Absent | Any]:
    """Name the module of each pair (backend, method), imported on first use; Absent(reason) if there is none."""
    raise NotImplementedError


@hookspec
def streams() -> Iterable[Stream]:
    """Declare sources of data."""
    raise NotImplementedError


@hookspec
def metrics() -> Iterable[Metric]:
    """Declare numbers that measure a run."""
    raise NotImplementedError


@hookspec
def experiments() -> Iterable[Experiment]:
    """Declare reproductions of figures and tables of papers."""
    raise NotImplementedError


DECLARED_TYPES: dict[str, type] = {
    "methods": Method,
    "backends": Backend,
    "streams": Stream,
    "metrics": Metric,
    "experiments": Experiment,
}
"""The type of the declarations that each hook returns; `kernels` returns a mapping instead."""

"""The five doors through which a plugin enters. Each is called once, at start-up: import nothing heavy there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pluggy

from orfit_bench.spec import Absent, Backend, Method, Metric, Stream

PROJECT = "orfit_bench"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def methods() -> Iterable[Method]:
    """Declare learning rules."""
    raise NotImplementedError


@hookspec
def backends() -> Iterable[Backend]:
    """Declare array types and where they compute."""
    raise NotImplementedError


@hookspec
def kernels() -> Mapping[tuple[str, str], str | Absent | Any]:
    """Name the module that computes a (backend, method), imported on first use; Absent(reason) for none."""
    raise NotImplementedError


@hookspec
def streams() -> Iterable[Stream]:
    """Declare sources of data."""
    raise NotImplementedError


@hookspec
def metrics() -> Iterable[Metric]:
    """Declare numbers that tell how well a learner did."""
    raise NotImplementedError


KINDS: dict[str, type] = {"methods": Method, "backends": Backend, "streams": Stream, "metrics": Metric}
"""The hooks that return declarations, and of what type."""

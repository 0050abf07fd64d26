"""What the package itself brings, as a plugin like any other."""

from __future__ import annotations

from orfit_bench.catalogue.methods import METHODS
from orfit_bench.catalogue.metrics import METRICS
from orfit_bench.catalogue.streams import STREAMS
from orfit_bench.plugins.hooks import hookimpl
from orfit_bench.spec import Method, Metric, Stream

SPEC_VERSION = (1, 0)


@hookimpl
def methods() -> tuple[Method, ...]:
    """The catalogue of learning rules."""
    return METHODS


@hookimpl
def streams() -> tuple[Stream, ...]:
    """The streams that ship."""
    return STREAMS


@hookimpl
def metrics() -> tuple[Metric, ...]:
    """The metrics that ship."""
    return METRICS

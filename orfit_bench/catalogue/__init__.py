"""The methods, streams and metrics of the package itself, in the form of a plugin.

- `methods`: one module per method, its declaration and batch solution;
- `laws`: the module of the same name holds the method's theorems;
- `shared`: declarations, batch solutions and merge rules that several methods share;
- `streams`, `metrics`: one module per family.

These folders are not directly under `orfit_bench/` because `orfit_bench.methods`, `orfit_bench.streams` and
`orfit_bench.metrics` are public functions: importing a subpackage of the same name would replace them.
"""

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
    """The streams of the package."""
    return STREAMS


@hookimpl
def metrics() -> tuple[Metric, ...]:
    """The metrics of the package."""
    return METRICS

"""Streaming learners for regression, classification, filtering and online PCA.

`create` makes a learner of a method by its name; `methods()` lists the names with their declarations, and `load` reads
a saved learner. `fleet` makes many small learners, `learn` learns parts of the rows in parallel, and `pipeline` puts
transforms of the rows before a learner.

The subpackages are imported by name: `orfit_bench.bench` (the benchmark), `orfit_bench.conformance` (checks of
implementations), `orfit_bench.spec` (what plugins declare), `orfit_bench.sklearn` and `orfit_bench.river` (estimators),
`orfit_bench.torch` (modules as models).

>>> import orfit_bench as ob
>>> rls = ob.create("rls", forgetting_factor=0.99)
>>> rls.partial_fit([[1.0, 0.0], [0.0, 2.0]], [1.0, 4.0]).predict([[1.0, 1.0]]).round(3)
array([2.109])
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from orfit_bench import sampling, schedules
from orfit_bench.errors import AccuracyWarning, DivergedError, PluginError, UnavailableError
from orfit_bench.learners.averaging import average
from orfit_bench.learners.factory import create
from orfit_bench.learners.fleets.factory import fleet, stack
from orfit_bench.learners.fleets.fleet import Fleet
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.factory import pipeline
from orfit_bench.learners.pipelines.standardizer import Standardizer
from orfit_bench.learners.restoring import from_bytes, load, restore
from orfit_bench.models import MLP
from orfit_bench.plugins.hooks import hookimpl
from orfit_bench.plugins.registry import Table, register, registry, unregister
from orfit_bench.sampling import with_sampling
from orfit_bench.signals import DelayLine, delay_line
from orfit_bench.spec import SPEC_VERSION, Model, Transition

if TYPE_CHECKING:
    from orfit_bench.sharding import learn
    from orfit_bench.spec import Backend, Method, Metric, Stream

__version__ = "0.1.0"

SUBPACKAGES = frozenset({"bench", "conformance", "river", "sklearn", "spec", "torch"})
"""The subpackages for users, which are imported by name."""

__all__ = [
    "MLP",
    "SPEC_VERSION",
    "AccuracyWarning",
    "DelayLine",
    "DivergedError",
    "Fleet",
    "Learner",
    "Model",
    "PluginError",
    "Standardizer",
    "Transition",
    "UnavailableError",
    "average",
    "backends",
    "create",
    "delay_line",
    "fleet",
    "from_bytes",
    "hookimpl",
    "learn",
    "load",
    "methods",
    "metrics",
    "pipeline",
    "register",
    "restore",
    "sampling",
    "schedules",
    "stack",
    "streams",
    "unregister",
]


def __getattr__(name: str) -> Any:
    """Import `learn` on first use: it imports modules that read tables and start processes."""
    if name == "learn":
        from orfit_bench.sharding import learn

        return learn
    advice = f": import orfit_bench.{name}" if name in SUBPACKAGES else ""
    raise AttributeError(f"module 'orfit_bench' has no attribute {name!r}{advice}")


def __dir__() -> list[str]:
    """The public names, and the subpackages for users that have been imported, without names used only here."""
    imported = SUBPACKAGES & set(globals())
    return sorted({*__all__, *imported, *(name for name in globals() if name.startswith("__"))})


def methods() -> Mapping[str, Method]:
    """Return the declared methods.

    Returns
    -------
    mapping of str to Method
        Name to declaration; read-only.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> ob.methods()["rls"].kind
    'regression'
    """
    return MappingProxyType(registry().methods)


def backends() -> Mapping[str, Backend]:
    """Return the declared backends.

    Returns
    -------
    mapping of str to Backend
        Name to declaration; read-only. Each says whether it is `available` here, and if not, for what `reason`.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> ob.backends()["numpy"].available
    True
    """
    return MappingProxyType(registry().backends)


def streams() -> Mapping[str, Stream]:
    """Return the declared streams.

    Returns
    -------
    mapping of str to Stream
        Name to declaration, with the settings `sampling` and `passes`; read-only.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> data = ob.streams()["regression"].load(n=100, d=3, passes=2, sampling="uniform")
    >>> data.X.shape, data.y.shape
    ((200, 3), (200,))
    """
    found: Table[Stream] = Table("stream")
    found.update((name, with_sampling(stream)) for name, stream in registry().streams.items())
    return MappingProxyType(found)


def metrics() -> Mapping[str, Metric]:
    """Return the declared metrics.

    Returns
    -------
    mapping of str to Metric
        Name to declaration; read-only.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> "forgetting" in ob.metrics()
    True
    """
    return MappingProxyType(registry().metrics)

"""Declarations as tables: an overview, and the details of one name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isinf
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from orfit_bench.bench.suite import NO_BACKEND
from orfit_bench.errors import UnavailableError
from orfit_bench.plugins.discovery import Plugin
from orfit_bench.plugins.registry import Registry
from orfit_bench.report.table import grid
from orfit_bench.sampling import with_sampling
from orfit_bench.spec import Backend, Experiment, Method, Metric, NumberOrSchedule, Setting, Stream
from orfit_bench.spec.capability import FLEETS, fleet_absence
from orfit_bench.spec.stream import OFFERS

SIZES = {"feature": 100, "input": 100, "parameter": 100, "output": 1, "class": 1, "gradients": 1, "count": 10}
"""The sizes for which the cost of a method is shown."""
SCHEDULES = (
    "{constant = {value = 0.1}}",
    "{power = {eta0 = 1.0, power = 0.8}}",
    "{slide = {B = 1.0, G = 2.0}}",
    "{sequence = {values = [0.1, 0.01]}}",
)
"""One example of each schedule, in TOML."""


def overview(known: Registry) -> Iterator[RenderableType]:
    """Tables of all methods with the backends that support them, backends, streams, metrics and plugins."""
    yield methods_table(known)
    yield from (Text(f"not available: {line}") for line in lacking(known))
    if not known.backends:
        yield Text(NO_BACKEND)
    yield backends_table(known)
    yield streams_table(known)
    yield from (Text(f"not available: {line}") for line in lacking_data(known))
    yield metrics_table(known)
    yield plugins_table(known)


def details(known: Registry, name: str) -> Iterator[RenderableType]:
    """Details of the method, backend, stream, metric, experiment or plugin with this name; of each if several have it.

    If something else has the name too, a plugin is described only if it is broken.
    """
    describe: dict[str, Callable[[Registry, Any], Iterator[RenderableType]]] = {
        "methods": _method,
        "backends": _backend,
        "streams": _stream,
        "metrics": _metric,
        "experiments": _experiment,
    }
    for hook, describe_one in describe.items():
        table = known.tables[hook]
        if name in table:
            yield Text(f"{table.kind} {name}: {table[name].summary}", style="bold")
            yield from describe_one(known, table[name])
            yield Text(f"supplied by: {known.suppliers[hook, name]}")
    declared = any(name in table for table in known.tables.values())
    for plugin in known.plugins:
        if name in (plugin.name, plugin.distribution) and (plugin.state != "ok" or not declared):
            yield from _plugin(plugin)
    yield from (Text(f"note: {line}") for line in known.unused_kernels(name))


def methods_table(known: Registry) -> Table:
    """Methods by name, with the backends that support them and the kind of merge."""
    table = grid("Methods", "name", *known.backends, "merge", "description", "supplied by")
    for method in known.methods.values():
        offers = ["no" if known.absence(backend, method.name) else "yes" for backend in known.backends]
        merging = method.combine.merge.kind if method.combine.merge else "none"
        row = [method.name, *offers, merging, method.summary, known.suppliers["methods", method.name]]
        table.add_row(*map(Text, row))
    return table


def lacking(known: Registry) -> list[str]:
    """The reasons why methods are not available on a backend, one line per reason."""
    who: dict[tuple[str, str], list[str]] = {}
    for backend, here in known.backends.items():
        for method in known.methods:
            if reason := known.absence(backend, method):
                if (backend, method) not in known.kernels and not known.unused_kernels(method) and here.available:
                    reason = "no installed plugin has such a kernel (orfit-bench list METHOD: how to write one)"
                who.setdefault((backend, reason), []).append(method)
    return [
        f"{', '.join(methods) if len(methods) < len(known.methods) else 'all methods'} on {backend}: {reason}"
        for (backend, reason), methods in who.items()
    ]


def backends_table(known: Registry) -> Table:
    """Backends, and whether they are available on this machine."""
    table = grid("Backends", "name", "available", "description", "supplied by")
    for name, backend in known.backends.items():
        here = "yes" if backend.available else f"no: {backend.reason}"
        table.add_row(*map(Text, [name, here, backend.summary, known.suppliers["backends", name]]))
    return table


def streams_table(known: Registry) -> Table:
    """Streams, what they provide, and whether their data are available."""
    table = grid("Streams", "name", "targets", "available", "description", "supplied by")
    for name, stream in known.streams.items():
        here = "no" if stream.reason else "yes"
        row = [name, stream.offers, here, stream.summary, known.suppliers["streams", name]]
        table.add_row(*map(Text, row))
    return table


def lacking_data(known: Registry) -> list[str]:
    """The reasons why the data of streams are not available, one line per reason."""
    who: dict[str, list[str]] = {}
    for name, stream in known.streams.items():
        if reason := stream.reason:
            who.setdefault(reason, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in who.items()]


def metrics_table(known: Registry) -> Table:
    """Metrics with their units."""
    table = grid("Metrics", "name", "unit", "better", "description", "supplied by")
    for name, metric in sorted(known.metrics.items()):
        row = [name, metric.unit, metric.better, metric.summary, known.suppliers["metrics", name]]
        table.add_row(*map(Text, row))
    return table


def plugins_table(known: Registry) -> Table:
    """Installed plugins and their state."""
    table = grid("Plugins", "entry point", "distribution", "state", "reason")
    for plugin in known.plugins:
        table.add_row(*map(Text, [plugin.name, plugin.supplier, plugin.state, plugin.reason]))
    return table


def settings_table(settings: tuple[Setting, ...]) -> Table:
    """Settings of a method or a stream."""
    table = grid("Settings", "name", "kind", "range", "default", "meaning")
    for s in settings:
        kind = f"{s.type.kind} or none" if s.optional else s.type.kind
        default = "none" if s.default is None else str(s.default)
        table.add_row(*map(Text, [s.name, kind, s.type.range, default, s.meaning]))
    return table


def _method(known: Registry, method: Method) -> Iterator[RenderableType]:
    if method.use_when:
        yield Text(f"\nuse when: {method.use_when}")
    if method.avoid_when:
        yield Text(f"avoid when: {method.avoid_when}")
    yield Padding(Text(method.formulas), (1, 0, 1, 2))
    yield Text(f"source: {method.source}")
    suiting = ", ".join(s.name for s in known.streams.values() if s.suits(method.kind))
    yield Text(f"kind: {method.kind}; suitable streams: {suiting or 'none installed'}")
    yield settings_table(method.settings) if method.settings else Text("No settings.")
    if schedules := [s.name for s in method.settings if isinstance(s.type, NumberOrSchedule)]:
        yield Text(_schedules(method.name, schedules))
    fields = grid("State", "field", "dimensions", "meaning")
    for f in method.state.fields:
        name = f"{f.name}_1, {f.name}_2, ..." if f.layered else f.name
        fields.add_row(*map(Text, [name, " x ".join(f.dims) or "scalar", f.meaning]))
    yield fields
    laws = grid("Laws", "name", "claim", "source")
    for law in method.theory.laws:
        laws.add_row(*map(Text, [law.name, law.claim, law.source]))
    yield laws if method.theory.laws else Text("No laws.")
    yield Text(f"cost per sample: {_cost(method)}")
    yield Text(f"capabilities (default settings): {_capabilities(method)}")
    merge = method.combine.merge
    yield Text(f"merge: {f'{merge.kind}: {merge.summary}' if merge else 'none'}")
    for backend in known.backends:
        yield Text(f"{backend}: {_availability(known, backend, method)}")


def _availability(known: Registry, backend: str, method: Method) -> str:
    """Whether a backend computes a method, who supplies its kernel, and what the kernel lacks; or why it does not."""
    try:
        kernel = known.kernel(backend, method.name)
    except UnavailableError as error:
        return f"no: {known.absence(backend, method.name) or error}"
    lacks = {FLEETS: fleet_absence(kernel, method)} | known.capabilities(backend, method.name)
    missing = "".join(f"; lacks {name}: {reason}" for name, reason in lacks.items() if reason)
    return f"yes, supplied by {known.suppliers.get(('kernels', (backend, method.name)), '')}{missing}"


def _schedules(method: str, names: list[str]) -> str:
    """The notation of schedules: for each kind, an option --set of the first of these settings."""
    subject = f"{names[0]} is" if len(names) == 1 else f"{', '.join(names)} are each"
    head = f"{subject} a number or a schedule. In a suite file and in --set a schedule is a TOML table:"
    return "\n".join([head, *(f"  --set {method}.{names[0]}='{text}'" for text in SCHEDULES)])


def _cost(method: Method) -> str:
    settings: dict[str, Any] = {s.name: s.check(s.default) for s in method.settings}
    sizes = SIZES | {dim: length(settings, SIZES) for dim, length in method.state.lengths.items()}
    flops, floats = method.theory.cost.flops(settings, sizes), method.theory.cost.floats(settings, sizes)
    growth = method.state.growth
    grows = any(growth.dim in f.dims and f.when(settings) for f in method.state.fields) if growth else False
    at = "100 parameters, 1 output" + (", 10 stored directions" if grows else "")
    at = "a layer of 100 inputs, 1 output" if method.state.layered else at
    return f"{flops:,.0f} flops, at least {floats:,.0f} numbers read or written ({at}; default settings)"


def _capabilities(method: Method) -> str:
    settings: dict[str, Any] = {s.name: s.check(s.default) for s in method.settings}
    is_complex, dense = method.kernel.has_complex_form, method.kernel.needs_dense_rows
    find = method.state.probabilities
    words = {
        "learns nonlinear models": method.kernel.models,
        "learns layered models only, layer by layer": method.state.layered,
        "learns a block of rows in one step": method.kernel.blocks,
        "learns rows with weights": method.kernel.weighting is not None,
        "learns sparse rows": dense is not None and not dense(settings),
        "learns complex rows": is_complex is not None and is_complex(settings),
        "predicts standard deviations": method.state.covariance is not None or method.traits.smoothing is not None,
        "predicts class probabilities": find is not None and _has_probabilities(find, settings),
        "can be averaged": bool(method.combine.averages),
        "has an exact batch solution": method.theory.batch is not None,
    }
    return "; ".join(word for word, can in words.items() if can) or "none besides partial_fit and predict"


def _has_probabilities(find: Callable[[Any, Any], Any], settings: dict[str, Any]) -> bool:
    """Whether the function of a method returns probabilities with these settings."""
    try:
        return find(np.zeros((1, 1)), settings) is not None
    except Exception:  # it needs the scores of more classes
        return True


def _backend(known: Registry, backend: Backend) -> Iterator[RenderableType]:
    yield Text("available" if backend.available else f"not available: {backend.reason}")
    methods = [m for b, m in known.kernels if b == backend.name and not known.absence(b, m)]
    yield Text(f"methods: {', '.join(methods) or 'none'}")


def _stream(known: Registry, stream: Stream) -> Iterator[RenderableType]:
    yield Text(f"source: {stream.source or 'not stated'}")
    yield Text(f"targets: {stream.offers}, for methods of kind {', '.join(OFFERS[stream.offers])}")
    reason = stream.reason
    yield Text(f"available: {f'no: {reason}' if reason else 'yes'}")
    yield settings_table(with_sampling(stream).settings)


def _metric(known: Registry, metric: Metric) -> Iterator[RenderableType]:
    yield Text(f"formula: {metric.formula}\nunit: {metric.unit}; {metric.better} is better")
    yield Text(f"source: {metric.source or 'not stated'}")
    yield Text(f"compare ignores: {_ignored(metric)}")


def _ignored(metric: Metric) -> str:
    """The changes of a metric that `compare` ignores."""
    limit = metric.tolerated
    if isinf(limit):
        return "any change"
    share = f"changes by up to {100 * limit:g} %" if limit < 1 else f"changes by a factor of up to {1 + limit:g}"
    small = f"changes between values up to {metric.floor:g}"
    return " and ".join(text for text, ignored in ((share, limit), (small, metric.floor)) if ignored) or "no change"


def _experiment(known: Registry, experiment: Experiment) -> Iterator[RenderableType]:
    yield Text(f"source: {experiment.source}")
    yield Text(f"data: {', '.join(experiment.data) or 'its own'}; about {experiment.seconds} s")
    yield Text(f"computed again by: orfit-bench reproduce {experiment.name}")


def _plugin(plugin: Plugin) -> Iterator[RenderableType]:
    """The state of a plugin, and the names of the items that it offers."""
    yield Text(f"plugin {plugin.name}: {plugin.state}{f': {plugin.reason}' if plugin.reason else ''}", style="bold")
    offered = {hook: [item.name for item in items] for hook, items in plugin.offers.items() if hook != "kernels"}
    offered["kernels"] = [f"{method} on {backend}" for backend, method in plugin.offers.get("kernels", ())]
    offered["models"] = [model.name for model in plugin.models]
    yield from (Text(f"{hook}: {', '.join(names)}") for hook, names in offered.items() if names)
    yield Text(f"supplied by: {plugin.supplier}")

"""What is declared, as tables: who computes what, and all about one name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from orfit_bench.bench.suite import NO_BACKEND
from orfit_bench.plugins.registry import Registry
from orfit_bench.report.table import grid
from orfit_bench.spec import Backend, Method, Metric, Setting, Stream
from orfit_bench.spec.stream import OFFERS

SIZES = {"feature": 100, "input": 100, "parameter": 100, "output": 1, "gradients": 1, "count": 10}
"""The sizes at which a method's cost is shown."""
SCHEDULES = (
    "{constant = {value = 0.1}}",
    "{power = {eta0 = 1.0, power = 0.8}}",
    "{slide = {B = 1.0, G = 2.0}}",
    "{sequence = {values = [0.1, 0.01]}}",
)
"""One of each schedule, as TOML has it."""


def overview(known: Registry) -> Iterator[RenderableType]:
    """Tables of all methods with the backends that compute them, backends, streams, metrics and plugins."""
    yield methods_table(known)
    yield from (Text(f"no: {line}") for line in lacking(known))
    if not known.backends:
        yield Text(NO_BACKEND)
    yield backends_table(known)
    yield streams_table(known)
    yield from (Text(f"no: {line}") for line in lacking_data(known))
    yield metrics_table(known)
    yield plugins_table(known)


def details(known: Registry, name: str) -> Iterator[RenderableType]:
    """All about the method, backend, stream or metric of this name; about each where several bear it."""
    for hook, show in (("methods", _method), ("backends", _backend), ("streams", _stream), ("metrics", _metric)):
        found = getattr(known, hook).get(name)
        if found is not None:
            yield Text(f"{hook.removesuffix('s')} {name}: {found.summary}", style="bold")
            yield from show(known, found)
            yield Text(f"supplied by: {known.suppliers[hook, name]}")


def methods_table(known: Registry) -> Table:
    """Methods by name, which backend computes them here, and how two learners merge."""
    table = grid("Methods", "name", *known.backends, "merging", "what it does", "supplied by")
    for method in known.methods.values():
        offers = ["no" if known.absence(backend, method.name) else "yes" for backend in known.backends]
        merging = method.merge.kind if method.merge else "none"
        row = [method.name, *offers, merging, method.summary, known.suppliers["methods", method.name]]
        table.add_row(*map(Text, row))
    return table


def lacking(known: Registry) -> list[str]:
    """Why a backend computes nothing, or not a method: one line for each reason."""
    who: dict[tuple[str, str], list[str]] = {}
    for backend in known.backends:
        for method in known.methods:
            if reason := known.absence(backend, method):
                who.setdefault((backend, reason), []).append(method)
    return [
        f"{', '.join(methods) if len(methods) < len(known.methods) else 'every method'} on {backend}: {reason}"
        for (backend, reason), methods in who.items()
    ]


def backends_table(known: Registry) -> Table:
    """Backends, and whether they compute here."""
    table = grid("Backends", "name", "here", "what it is", "supplied by")
    for name, backend in known.backends.items():
        here = "available" if backend.available else f"no: {backend.reason}"
        table.add_row(*map(Text, [name, here, backend.summary, known.suppliers["backends", name]]))
    return table


def streams_table(known: Registry) -> Table:
    """Streams, what they offer, and whether their data are at hand."""
    table = grid("Streams", "name", "offers", "here", "what it is", "supplied by")
    for name, stream in known.streams.items():
        here = "no" if _lacks(stream) else "yes"
        row = [name, stream.offers, here, stream.summary, known.suppliers["streams", name]]
        table.add_row(*map(Text, row))
    return table


def lacking_data(known: Registry) -> list[str]:
    """Why streams are not at hand: one line for each reason."""
    who: dict[str, list[str]] = {}
    for name, stream in known.streams.items():
        if reason := _lacks(stream):
            who.setdefault(reason, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in who.items()]


def metrics_table(known: Registry) -> Table:
    """Metrics with their units."""
    table = grid("Metrics", "name", "unit", "better", "what it is", "supplied by")
    for name, metric in known.metrics.items():
        row = [name, metric.unit, metric.better, metric.summary, known.suppliers["metrics", name]]
        table.add_row(*map(Text, row))
    return table


def plugins_table(known: Registry) -> Table:
    """Installed plugins and what became of them."""
    table = grid("Plugins", "entry point", "distribution", "state", "why")
    for plugin in known.plugins:
        table.add_row(*map(Text, [plugin.name, plugin.supplier, plugin.state, plugin.reason]))
    return table


def settings_table(settings: tuple[Setting, ...]) -> Table:
    """Settings of a method or a stream."""
    table = grid("Settings", "name", "kind", "range", "default", "meaning")
    for s in settings:
        kind = f"{s.kind} or none" if s.optional else s.kind
        default = "none" if s.default is None else str(s.default)
        table.add_row(*map(Text, [s.name, kind, s.range.replace("|", ", "), default, s.meaning]))
    return table


def _method(known: Registry, method: Method) -> Iterator[RenderableType]:
    if method.use_when:
        yield Text(f"\nuse when: {method.use_when}")
    if method.avoid_when:
        yield Text(f"avoid when: {method.avoid_when}")
    yield Text("\n" + "\n".join(f"  {line}" for line in method.formulas.splitlines()) + "\n")
    yield Text(f"source: {method.source}")
    suiting = ", ".join(s.name for s in known.streams.values() if s.suits(method.kind))
    yield Text(f"kind: {method.kind}; streams that suit it: {suiting or 'none here'}")
    yield settings_table(method.settings) if method.settings else Text("It has no settings.")
    if schedules := [s.name for s in method.settings if s.kind == "schedule"]:
        yield Text(_schedules(method.name, schedules))
    fields = grid("State", "field", "dims", "meaning")
    for f in method.fields:
        name = f"{f.name}_1, {f.name}_2, ..." if f.layered else f.name
        fields.add_row(*map(Text, [name, " x ".join(f.dims) or "one number", f.meaning]))
    yield fields
    laws = grid("Laws", "name", "claim", "source")
    for law in method.laws:
        laws.add_row(*map(Text, [law.name, law.claim, law.source]))
    yield laws if method.laws else Text("It states no laws.")
    yield Text(f"cost of a row: {_cost(method)}")
    yield Text(f"abilities: {_abilities(method)}")
    yield Text(f"merging: {f'{method.merge.kind}: {method.merge.summary}' if method.merge else 'none'}")
    for backend in known.backends:
        absence = known.absence(backend, method.name)
        supplier = known.suppliers.get(("kernels", (backend, method.name)), "")
        yield Text(f"{backend}: {f'no: {absence}' if absence else f'yes, by {supplier}'}")


def _schedules(method: str, names: list[str]) -> str:
    """How schedules are written: for each kind a line that --set takes, for the first of these settings."""
    is_one = f"{names[0]} is" if len(names) == 1 else f"each of {', '.join(names)} is"
    head = f"{is_one} a number, or a schedule, which a suite file and --set take as a table:"
    return "\n".join([head, *(f"  --set {method}.{names[0]}='{text}'" for text in SCHEDULES)])


def _cost(method: Method) -> str:
    settings: dict[str, Any] = {s.name: s.check(s.default) for s in method.settings}
    sizes = SIZES | {dim: length(settings, SIZES) for dim, length in method.lengths.items()}
    flops, floats = method.cost.flops(settings, sizes), method.cost.floats(settings, sizes)
    at = "100 parameters, 1 output" + (", 10 directions kept" if method.grows else "")
    at = "a layer of 100 inputs, 1 output" if method.layered else at
    return f"{flops:,.0f} flops, {floats:,.0f} numbers read or written (at {at}; default settings)"


def _abilities(method: Method) -> str:
    words = {
        "learns nonlinear models": method.models,
        "learns layer by layer, and layered models only": method.layered,
        "takes a block of rows as one step": method.blocks,
        "can be averaged": bool(method.averages),
        "has an exact batch solution": method.batch is not None,
    }
    return "; ".join(word for word, can in words.items() if can) or "none beside learning and predicting"


def _backend(known: Registry, backend: Backend) -> Iterator[RenderableType]:
    yield Text("available here" if backend.available else f"not available here: {backend.reason}")
    methods = [m for b, m in known.kernels if b == backend.name and not known.absence(b, m)]
    yield Text(f"computes: {', '.join(methods) or 'nothing here'}")


def _stream(known: Registry, stream: Stream) -> Iterator[RenderableType]:
    yield Text(f"source: {stream.source or 'not stated'}")
    yield Text(f"offers: {stream.offers}, for methods of the kinds {', '.join(OFFERS[stream.offers])}")
    reason = _lacks(stream)
    yield Text(f"here: {f'no: {reason}' if reason else 'available'}")
    yield settings_table(stream.settings) if stream.settings else Text("It has no settings.")


def _metric(known: Registry, metric: Metric) -> Iterator[RenderableType]:
    yield Text(f"formula: {metric.formula}\nunit: {metric.unit}; {metric.better} is better\nsource: {metric.source}")


def _lacks(stream: Stream) -> str:
    """Why the stream's data are not at hand; empty where they are."""
    try:
        return stream.probe()
    except Exception as error:  # a probe is a plugin's code
        return f"its probe failed: {type(error).__name__}: {error}"

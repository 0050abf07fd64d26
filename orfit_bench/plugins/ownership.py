"""Ownership: which of several plugins keeps a name that they all claim. The order of their names does not matter.

Names belong to this package, then to plugins with a backend that is named after their distribution, then to the others
in the order of their installation.
The kernels of a backend belong to the plugin that supplies it: another plugin may only add kernels that are missing,
or replace one with `Override`. Between two such plugins, the one that supplies the method comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from orfit_bench.plugins.discovery import IN_PROCESS, Plugin, camel_case
from orfit_bench.plugins.hooks import DECLARED_TYPES
from orfit_bench.spec import REFERENCE, Absent, Override

Pair = tuple[str, str]
"""Backend and method."""


def resolve(plugins: Sequence[Plugin]) -> list[Plugin]:
    """The plugins in the same order; those that claim a name of another become broken and offer nothing."""
    states = list(plugins)
    order = sorted((i for i, p in enumerate(plugins) if p.state == "ok"), key=lambda i: _precedence(plugins[i]))
    accepted: list[int] = []
    for i in order:
        others = [plugins[j] for j in accepted]
        if reason := _taken_plugin_name(plugins[i], others) or _taken_name(plugins[i], others):
            states[i] = _broken(plugins[i], reason)
        else:
            accepted.append(i)
    sound = [plugins[i] for i in accepted]
    for i in accepted:
        if reason := next(filter(None, (_taken_kernel(plugins[i], pair, sound) for pair in _kernels(plugins[i]))), ""):
            states[i] = _broken(plugins[i], reason)
    return states


def kernels_of(plugins: Iterable[Plugin]) -> dict[Pair, tuple[Any, Plugin]]:
    """The kernel of each pair with its plugin: preferably an override; Absent only if no plugin has a kernel."""
    found: dict[Pair, tuple[Any, Plugin]] = {}
    for plugin in plugins:
        for pair, kernel in plugin.offers.get("kernels", {}).items():
            held = found.get(pair, (Absent(""), plugin))[0]
            if pair not in found or isinstance(kernel, Override) or isinstance(held, Absent):
                found[pair] = kernel, plugin
    return {pair: (k.module if isinstance(k, Override) else k, plugin) for pair, (k, plugin) in found.items()}


def _precedence(plugin: Plugin) -> tuple[bool, bool, float, str]:
    namesake = any(plugin.distribution == f"orfit-bench-{b.name}" for b in plugin.offers.get("backends", ()))
    return not plugin.own, not namesake, plugin.installed, plugin.name


def _taken_plugin_name(plugin: Plugin, others: Iterable[Plugin]) -> str:
    if all(other.name != plugin.name for other in others):
        return ""
    in_process = plugin.distribution == IN_PROCESS
    remedy = f"call orfit_bench.unregister({plugin.name!r}) first" if in_process else "uninstall one"
    return f"a plugin named {plugin.name!r} is already loaded: {remedy}"


def _taken_name(plugin: Plugin, others: Sequence[Plugin]) -> str:
    """The reason why a declaration of the plugin has a taken name; empty if none has."""
    for hook in DECLARED_TYPES:
        names = Counter(item.name for item in plugin.offers.get(hook, ()))
        for name, times in names.items():
            kind = hook.removesuffix("s")
            if times > 1:
                return f"it declares {times} {hook} with the name {name!r}: rename all but one"
            if owner := next((p.supplier for p in others if _supplies(p, hook, name)), ""):
                return f"its {kind} {name!r} is already supplied by {owner}: uninstall one or rename"
    return _taken_class_name(plugin, others)


def _taken_class_name(plugin: Plugin, others: Sequence[Plugin]) -> str:
    """The reason why the estimator of a method would have the name of another one; empty if none has."""
    methods = [item.name for p in (*others, plugin) for item in p.offers.get("methods", ())]
    for name in (item.name for item in plugin.offers.get("methods", ())):
        if alike := [m for m in methods if m != name and camel_case(m) == camel_case(name)]:
            return f"its method {name!r} would get the same estimator class name as {alike[0]!r}: rename it"
    return ""


def _taken_kernel(plugin: Plugin, pair: Pair, plugins: Sequence[Plugin]) -> str:
    """The reason why a kernel belongs to another plugin; empty if this plugin may provide it."""
    backend, method = pair
    overrides = isinstance(plugin.offers["kernels"][pair], Override)
    rivals = [p for p in plugins if p is not plugin and pair in _kernels(p)]
    if overrides and backend == REFERENCE:
        return (
            f"it overrides the kernel of {method} on {REFERENCE}, the reference with which others are compared: "
            "give it a backend of its own"
        )
    if overrides:
        rivals = [p for p in rivals if isinstance(p.offers["kernels"][pair], Override)]
    elif _supplies(plugin, "backends", backend):
        return ""
    else:
        rivals = [p for p in rivals if not isinstance(p.offers["kernels"][pair], Override)]
    first = min([plugin, *rivals], key=lambda p: (_distance(p, pair), _precedence(p)))
    if first is plugin:
        return ""
    claimed = f"its kernel of {method} on {backend} is already supplied by {first.supplier}"
    if backend == REFERENCE:  # its kernels cannot be overridden
        return f"{claimed}: uninstall one, or name a backend of its own"
    replacing = "or declare the replacement: Override('package.module')"
    return f"{claimed}: uninstall one, name a backend of its own, {replacing}"


def _distance(plugin: Plugin, pair: Pair) -> int:
    """0 for the supplier of the backend, 1 for the supplier of the method, 2 for any other plugin."""
    backend, method = pair
    return 0 if _supplies(plugin, "backends", backend) else 1 if _supplies(plugin, "methods", method) else 2


def _kernels(plugin: Plugin) -> list[Pair]:
    return [pair for pair, kernel in plugin.offers.get("kernels", {}).items() if not isinstance(kernel, Absent)]


def _supplies(plugin: Plugin, hook: str, name: Hashable) -> bool:
    return any(item.name == name for item in plugin.offers.get(hook, ()))


def _broken(plugin: Plugin, reason: str) -> Plugin:
    return replace(plugin, state="broken", reason=reason, offers={})

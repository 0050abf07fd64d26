"""The registry: what is declared, and who supplied it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from orfit_bench.errors import PluginError, UnavailableError, hint
from orfit_bench.orders import sampled
from orfit_bench.plugins import discovery
from orfit_bench.plugins.discovery import Plugin
from orfit_bench.spec import Absent, Backend, Experiment, Method, Metric, Stream
from orfit_bench.spec.capability import allowed, lacking

HERE = "this process"
"""The distribution of plugins that were registered in this process."""


class Registry:
    """Declarations by name. A name is taken by the first that claims it; the second claimant is broken."""

    def __init__(self) -> None:
        self.methods: dict[str, Method] = {}
        self.backends: dict[str, Backend] = {}
        self.streams: dict[str, Stream] = {}
        self.metrics: dict[str, Metric] = {}
        self.experiments: dict[str, Experiment] = {}
        self.kernels: dict[tuple[str, str], Any] = {}
        self.plugins: list[Plugin] = []
        self.suppliers: dict[tuple[str, Any], str] = {}
        """(hook, name) to distribution and version."""

    def add(self, plugin: Plugin) -> Plugin:
        """Take in all that a plugin offers, or nothing of it; returns it with its final state."""
        if clash := self._clash(plugin):
            plugin = replace(plugin, state="broken", reason=clash, offers={})
        for hook, offer in plugin.offers.items():
            entries = offer.items() if hook == "kernels" else [(item.name, item) for item in offer]
            for name, item in entries:
                getattr(self, hook)[name] = sampled(item) if hook == "streams" else item
                self.suppliers[hook, name] = plugin.supplier
        self.plugins.append(plugin)
        return plugin

    def _clash(self, plugin: Plugin) -> str:
        if any(p.name == plugin.name and p.state == "ok" for p in self.plugins) and plugin.state == "ok":
            here = plugin.distribution == HERE
            remedy = f"call orfit_bench.unregister({plugin.name!r}) first" if here else "uninstall one"
            return f"a plugin named {plugin.name!r} is loaded already: {remedy}"
        for hook, offer in plugin.offers.items():
            names = list(offer) if hook == "kernels" else [item.name for item in offer]
            for i, name in enumerate(names):
                if name in getattr(self, hook) or name in names[:i]:
                    who = self.suppliers.get((hook, name), "itself")
                    return (
                        f"its {hook.removesuffix('s')} {name!r} is already supplied by {who}: uninstall one or rename"
                    )
        return ""

    def remove(self, name: str) -> None:
        """Forget a plugin that was registered in this process."""
        for plugin in [p for p in self.plugins if p.name == name]:
            for hook, offer in plugin.offers.items():
                for item in offer:
                    key = item if hook == "kernels" else item.name
                    del getattr(self, hook)[key], self.suppliers[hook, key]
            self.plugins.remove(plugin)

    def kernel(self, backend: str, method: str) -> Any:
        """The module that computes a method on a backend; UnavailableError with the reason where there is none."""
        if reason := self.absence(backend, method):
            raise UnavailableError(f"{method} on {backend}: {reason}")
        module, supplier = self.kernels[backend, method], self.suppliers["kernels", (backend, method)]
        if isinstance(module, str):
            try:
                module = importlib.import_module(module)
            except Exception as error:  # a kernel module is a plugin's code, imported here for the first time
                raise UnavailableError(
                    f"{method} on {backend}: the kernel module {module!r} of {supplier} cannot be imported: "
                    f"{type(error).__name__}: {error}"
                ) from error
        declared = self.methods[method]
        try:
            lacks = lacking(module, declared)
        except (TypeError, ValueError) as error:
            raise UnavailableError(f"{method} on {backend}: the kernel of {supplier}: {error}") from error
        promised = [n for capability, names in allowed(declared).items() if capability not in lacks for n in names]
        if missing := [name for name in promised if not callable(getattr(module, name, None))]:
            raise UnavailableError(
                f"{method} on {backend}: the kernel of {supplier} has no {missing[0]}(), which the method declares"
            )
        return module

    def capabilities(self, backend: str, method: str) -> dict[str, str]:
        """All that a method allows: empty where the backend's kernel offers it, else the reason why it does not."""
        declared = self.methods[method]
        try:
            lacks = lacking(self.kernel(backend, method), declared)
        except UnavailableError as error:
            lacks = dict.fromkeys(allowed(declared), str(error))
        return {name: lacks.get(name, "") for name in allowed(declared)}

    def absence(self, backend: str, method: str) -> str:
        """Why a method cannot be had on a backend; empty when it can."""
        if reason := self.backends[backend].reason:
            return reason
        module = self.kernels.get((backend, method))
        if module is None:
            return f"no installed plugin offers a {backend} kernel for {method}: name its module in a kernels hook"
        return module.reason if isinstance(module, Absent) else ""

    def find(self, hook: str, name: str) -> Any:
        """A declaration by name; ValueError that suggests the nearest name."""
        known = getattr(self, hook)
        if not isinstance(name, str):
            raise TypeError(f"{hook.removesuffix('s')}={name!r}: want a name, a text")
        if name not in known:
            more = " A backend comes with its distribution, as orfit-bench-numpy." if hook == "backends" else ""
            raise ValueError(f"no {hook[:-1]} {name!r}{hint(name, known)}{more}")
        return known[name]

    def require_sound(self) -> None:
        """PluginError naming every broken plugin, if there is one."""
        if broken := [p for p in self.plugins if p.state == "broken"]:
            lines = "\n".join(f"  {p.name} ({p.supplier}): {p.reason}" for p in broken)
            raise PluginError(f"{len(broken)} broken plugin(s):\n{lines}")

    def require_installed(self, otherwise: str) -> None:
        """ValueError, saying what to do otherwise, where a plugin is of this process alone: no worker would see it."""
        for plugin in self.plugins:
            if plugin.distribution == HERE:
                raise ValueError(
                    f"plugin {plugin.name!r} was registered in this process, where a worker process does not see it: "
                    f"{otherwise}, or install it as a distribution"
                )


_registry: Registry | None = None


def registry() -> Registry:
    """The process's registry, filled from the installed distributions on first use."""
    global _registry
    if _registry is None:
        filling = Registry()
        for plugin in discovery.installed():
            filling.add(plugin)
        _registry = filling
    return _registry


def register(plugin: Any, name: str | None = None) -> None:
    """Add a plugin of this process: any module or object with hook implementations and SPEC_VERSION.

    PluginError where it is broken or claims a name that is taken.
    """
    name = str(name or getattr(plugin, "__name__", type(plugin).__name__))
    if isinstance(plugin, type):
        raise PluginError(f"plugin {name!r}: it is a class, want an instance: register({name}())")
    added = registry().add(discovery.load(lambda: plugin, name, HERE, ""))
    if added.state != "ok":
        registry().plugins.remove(added)
        raise PluginError(f"plugin {name!r}: {added.reason}")


def unregister(plugin: Any) -> None:
    """Take back what `register` added; a plugin or its name."""
    registry().remove(plugin if isinstance(plugin, str) else getattr(plugin, "__name__", type(plugin).__name__))

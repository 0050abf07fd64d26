"""The registry: all declarations and their suppliers."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from orfit_bench.errors import PluginError, UnavailableError, suggest
from orfit_bench.plugins import discovery, hooks, ownership
from orfit_bench.plugins.discovery import IN_PROCESS, Plugin, place
from orfit_bench.spec import Absent, Backend, Experiment, Method, Metric, Stream
from orfit_bench.spec.capability import allowed, lacking, lacking_settings, missing_function
from orfit_bench.spec.synonyms import suggest_method

Declared = TypeVar("Declared")


class Table(dict[str, Declared]):
    """The declarations of one hook by name."""

    def __init__(self, kind: str, advice: str = "", suggest: Callable[[object, Iterable[str]], str] = suggest) -> None:
        super().__init__()
        self.kind = kind
        """The kind of the declarations, in the singular."""
        self._advice, self._suggest = advice, suggest
        self.missing = ""
        """The reason why declarations may be missing, as the end of a message."""

    def find(self, name: str) -> Declared:
        """Return a declaration by name. Raises ValueError that suggests the nearest name."""
        if not isinstance(name, str):
            raise TypeError(f"{self.kind}={name!r}: want a name (str)")
        if name not in self:
            raise ValueError(self._unknown(name))
        return self[name]

    def __missing__(self, name: str) -> Declared:
        """Raise KeyError that suggests the nearest name."""
        raise KeyError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        return f"no {self.kind} {name!r}{self._suggest(name, self)}{self._advice}{self.missing}"


class Registry:
    """Declarations of plugins by name; `orfit_bench.plugins.ownership` decides if two plugins claim the same name."""

    def __init__(self, plugins: Iterable[Plugin] = ()) -> None:
        self.methods: Table[Method] = Table("method", suggest=suggest_method)
        self.backends: Table[Backend] = Table("backend", " Backends are distributions such as orfit-bench-numpy.")
        self.streams: Table[Stream] = Table("stream")
        self.metrics: Table[Metric] = Table("metric")
        self.experiments: Table[Experiment] = Table("experiment")
        self.tables: dict[str, Table[Any]] = {hook: getattr(self, hook) for hook in hooks.DECLARED_TYPES}
        """The tables by hook."""
        self.kernels: dict[tuple[str, str], Any] = {}
        self.plugins: list[Plugin] = []
        """Every plugin with its final state."""
        self.suppliers: dict[tuple[str, Any], str] = {}
        """From (hook, name) to distribution and version."""
        self.registrations: dict[tuple[str, Any], str] = {}
        """From (hook, name) to the key of the registration, for declarations that were registered in this process."""
        self._loaded: list[Plugin] = []
        self._fill(plugins)

    def _fill(self, loaded: Iterable[Plugin]) -> None:
        """Set all attributes from the loaded plugins."""
        self._loaded = list(loaded)
        self.plugins = ownership.resolve(self._loaded)
        kernels = ownership.kernels_of(self.plugins)
        self.kernels = {pair: kernel for pair, (kernel, _) in kernels.items()}
        owners: dict[tuple[str, Any], Plugin] = {("kernels", pair): plugin for pair, (_, plugin) in kernels.items()}
        broken = [f"{p.name} ({p.supplier}): {p.reason}" for p in self.plugins if p.state == "broken"]
        for hook, table in self.tables.items():
            table.missing = f" Broken plugins: {'; '.join(broken)}" if broken else ""
            offered = [(item, plugin) for plugin in self.plugins for item in plugin.offers.get(hook, ())]
            found = {item.name: item for item, _ in offered}
            table.update(found)
            for name in table.keys() - found.keys():  # never empty, since other threads may read it
                del table[name]
            owners |= {(hook, item.name): plugin for item, plugin in offered}
        self.suppliers = {key: plugin.supplier for key, plugin in owners.items()}
        self.registrations = {key: plugin.registration for key, plugin in owners.items() if plugin.registration}

    def add(self, plugin: Plugin) -> None:
        """Add a plugin. Raises PluginError, and adds nothing, if it is broken or claims a name of another plugin."""
        states = ownership.resolve([*self._loaded, plugin])
        if states[-1].state != "ok":
            raise PluginError(f"plugin {plugin.name!r}: {states[-1].reason}")
        self._fill([*self._loaded, plugin])

    def remove(self, name: str) -> None:
        """Remove a plugin that was registered in this process."""
        self._fill(p for p in self._loaded if (p.name, p.distribution) != (name, IN_PROCESS))

    def kernel(self, backend: str, method: str) -> Any:
        """Return the module that computes a method on a backend. Raises UnavailableError if there is none."""
        if reason := self.absence(backend, method):
            raise UnavailableError(f"{method} on {backend}: {reason}")
        module, supplier = self.kernels[backend, method], self.suppliers["kernels", (backend, method)]
        if isinstance(module, str):
            try:
                module = importlib.import_module(module)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # also SystemExit: a plugin's code, imported here for the first time
                raise UnavailableError(
                    f"{method} on {backend}: the kernel module {module!r} of {supplier} cannot be imported: "
                    f"{type(error).__name__}: {error}{place(error)}"
                ) from error
        declared = self.methods[method]
        try:
            missing = missing_function(module, declared)
        except (TypeError, ValueError) as error:
            raise UnavailableError(f"{method} on {backend}: the kernel of {supplier}: {error}") from error
        if missing:
            raise UnavailableError(f"{method} on {backend}: the kernel of {supplier} has no {missing}")
        return module

    def capabilities(self, backend: str, method: str) -> dict[str, str]:
        """The capabilities of a method, each with the reason why the backend lacks it; empty if supported.

        Unsupported settings are included under their names in LACKS, such as "forgetting_factor=0".
        """
        declared = self.methods[method]
        try:
            kernel = self.kernel(backend, method)
        except UnavailableError as error:
            return dict.fromkeys(allowed(declared), str(error))
        lacks = lacking(kernel, declared)
        settings = {key: str(kernel.LACKS[key]) for key in lacking_settings(kernel, declared)}
        return {name: lacks.get(name, "") for name in allowed(declared)} | settings

    def absence(self, backend: str, method: str) -> str:
        """The reason why a method is not available on a backend; empty if it is."""
        if reason := self.backends[backend].reason:
            return reason
        module = self.kernels.get((backend, method))
        if module is None:
            unused = "".join(f". {line[0].upper()}{line[1:].rstrip('.')}" for line in self.unused_kernels(method))
            return (
                f"no installed plugin has a {backend} kernel for {method}: choose another backend, or write one, in a "
                f"file {method}.py of the package of the backend {backend} or in a module that the hook kernels of a "
                f"plugin names{unused}"
            )
        if isinstance(module, str) and not _exists(module):
            return f"the kernel module {module!r} of {self.suppliers['kernels', (backend, method)]} does not exist"
        return module.reason if isinstance(module, Absent) else ""

    def unused_kernels(self, name: str) -> list[str]:
        """Kernels of the plugin, distribution or method with this name whose backend or method is not declared."""
        found = []
        for plugin in self.plugins:
            for pair in plugin.offers.get("kernels", {}):
                if name not in (plugin.name, plugin.distribution, *pair):
                    continue
                for kind, known, key in (("backend", self.backends, pair[0]), ("method", self.methods, pair[1])):
                    if key not in known:
                        near = suggest(key, known).partition(" Known")[0]
                        found.append(
                            f"the kernel of {pair!r} of {plugin.supplier} is not used: no {kind} {key!r}{near}"
                        )
        return found

    def require_sound(self) -> None:
        """Raise PluginError that names every broken plugin, if there are any."""
        if broken := [p for p in self.plugins if p.state == "broken"]:
            lines = "\n".join(f"  {p.name} ({p.supplier}): {p.reason}" for p in broken)
            raise PluginError(f"{len(broken)} broken plugin(s):\n{lines}")

    def require_installed(self, used: Iterable[tuple[str, Any]], otherwise: str) -> None:
        """Raise ValueError that recommends `otherwise` if one of these (hook, name) is only registered here."""
        for hook, name in used:
            if self.suppliers.get((hook, name)) == IN_PROCESS:
                kind = "kernel" if hook == "kernels" else self.tables[hook].kind
                raise ValueError(
                    f"{kind} {name!r} was registered in this process, where a worker process does not see it: "
                    f"{otherwise}, or install it as a distribution"
                )


def _exists(module: str) -> bool:
    """Whether a module of this name exists; its package is imported, but not the module itself."""
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
    except KeyboardInterrupt:
        raise
    except BaseException:  # from a plugin's package; importing the kernel will report it
        return True


_registry: Registry | None = None


def registry() -> Registry:
    """Return the registry of this process, filled from the installed distributions on first use."""
    global _registry
    if _registry is None:
        _registry = Registry(discovery.installed())
    return _registry


def register(plugin: Any, name: str | None = None) -> None:
    """Register a plugin in this process.

    Parameters
    ----------
    plugin : module or object
        Has hook implementations (see `orfit_bench.hookimpl`) and `SPEC_VERSION`.
    name : str, optional
        By default the name of the module or class.

    Raises
    ------
    PluginError
        If the plugin is broken or claims a name that is taken.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> from orfit_bench.spec import SPEC_VERSION, Data, Stream
    >>> class Ramps:
    ...     SPEC_VERSION = SPEC_VERSION
    ...
    ...     @ob.hookimpl
    ...     def streams(self):
    ...         return [Stream("ramp", "0, 1, 2", make=lambda: Data(np.arange(3.0)[:, None], np.arange(3.0)))]
    >>> ob.register(Ramps())
    >>> ob.streams()["ramp"].load().y
    array([0., 1., 2.])
    >>> ob.unregister("Ramps")
    """
    name = str(name or getattr(plugin, "__name__", type(plugin).__name__))
    if isinstance(plugin, type):
        raise PluginError(f"plugin {name!r}: got a class, want an instance: register({name}())")
    loaded = discovery.load(lambda: plugin, name, IN_PROCESS, "")
    registry().add(replace(loaded, registration=os.urandom(8).hex()))


def unregister(plugin: Any) -> None:
    """Remove a plugin that was added by `register`. Does nothing if there is no such plugin.

    Parameters
    ----------
    plugin : module, object or str
        The name by which it was registered; or the plugin itself, if it was registered without `name`.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> from orfit_bench.spec import SPEC_VERSION, Data, Stream
    >>> class Ones:
    ...     SPEC_VERSION = SPEC_VERSION
    ...
    ...     @ob.hookimpl
    ...     def streams(self):
    ...         return [Stream("ones", "all ones", make=lambda: Data(np.ones((3, 1)), np.ones(3)))]
    >>> plugin = Ones()
    >>> ob.register(plugin)
    >>> "ones" in ob.streams()
    True
    >>> ob.unregister(plugin)
    >>> "ones" in ob.streams()
    False
    """
    registry().remove(plugin if isinstance(plugin, str) else getattr(plugin, "__name__", type(plugin).__name__))

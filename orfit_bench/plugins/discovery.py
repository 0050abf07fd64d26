"""Discovery of plugins. They are loaded one by one, so that broken plugins do not affect others."""

from __future__ import annotations

import importlib
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isfunction, ismethod, ismodule
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import pluggy

from orfit_bench import spec
from orfit_bench.errors import suggest
from orfit_bench.plugins import hooks, trial
from orfit_bench.plugins.entry_points import GROUP, installation_time, module_of, supplier_of
from orfit_bench.plugins.redirection import printed_on_stderr
from orfit_bench.spec import LINEAR, SPEC_VERSION, Absent, Metric, Model, Override
from orfit_bench.spec.metric import Direction
from orfit_bench.spec.part_types import wrong_values
from orfit_bench.spec.result_names import RESULT_NAMES

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PluginState = Literal["ok", "broken", "blocked"]
IN_PROCESS = "this process"
"""The distribution name of plugins that were registered in this process."""
OWN = "orfit-bench"
"""The distribution name of this package."""
ONLY = "ORFIT_BENCH_PLUGINS"
"""Environment variable: names of the plugins to load, separated by commas. The package's own is always loaded."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]{0,99}")
"""Names of declarations: they appear in file names, tables, pages and command lines."""

NOT_OF_PLUGINS = (
    "<",
    *(str(Path(module.__file__).parent) for module in (hooks, importlib, pluggy, spec) if module.__file__),
)
"""Prefixes of the paths of files with code that loads plugins or checks their declarations."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin and the result of loading it."""

    name: str
    distribution: str
    version: str
    state: PluginState
    reason: str = ""
    trace: str = ""
    offers: Mapping[str, Any] = field(default_factory=dict)
    """The return value of each hook; empty unless state is "ok"."""
    models: tuple[Model, ...] = ()
    """The models among the attributes of the plugin. They have no hook, since users pass them to learners."""
    registration: str = ""
    """A random key of a plugin that was registered in this process; empty for others."""
    installed: float = inf
    """Installation time of the distribution, in seconds since the epoch; infinite if unknown or in this process."""

    @property
    def own(self) -> bool:
        """Whether this package itself provides it."""
        return self.distribution == OWN

    @property
    def supplier(self) -> str:
        """Distribution and version, as shown in tables."""
        return f"{self.distribution} {self.version}".strip()


def installed() -> Iterator[Plugin]:
    """Load the plugins of all installed distributions, the package's own first, then by name."""
    from importlib.metadata import entry_points

    only = "" if os.environ.get(trial.IN_TRIAL) else os.environ.get(ONLY)
    wanted = None if only is None else {n.strip() for n in only.split(",")}
    points = sorted(entry_points(group=GROUP), key=lambda p: (not _own(p), p.name, supplier_of(p)))
    allowed = [p for p in points if _own(p) or wanted is None or p.name in wanted]
    with trial.tried(p for p in allowed if not _own(p)) as fatal:
        for point in points:
            identity = (point.name, *supplier_of(point))
            if point not in allowed:
                yield Plugin(*identity, "blocked", f"not listed in {ONLY}={only}")
            elif point in fatal:
                yield Plugin(*identity, "broken", fatal[point])
            else:
                yield replace(load(partial(_imported, point), *identity), installed=installation_time(point))


def _imported(point: EntryPoint) -> Any:
    """The plugin of an entry point."""
    if not module_of(point):
        raise ValueError(
            f"its entry point is {point.name} = {point.value!r}, want the name of a module, such as my_plugin"
        )
    return point.load()


def load(find: Any, name: str, distribution: str, version: str) -> Plugin:
    """Import a plugin, check its version and call its hooks. Errors are recorded in the result, never raised.

    Output of the plugin goes to stderr.
    """
    try:
        with _same_folder(), printed_on_stderr():
            plugin = find()
            offers = _offers(plugin, name)
        own = (v for v in getattr(plugin, "__dict__", {}).values() if v is not LINEAR)  # LINEAR is only imported
        models = tuple(v for v in own if isinstance(v, Model))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: a plugin must not end the process
        reason = f"{type(error).__name__}: {error}{place(error)}".replace("\n", " ")
        reason = reason.encode(errors="backslashreplace").decode()  # lone surrogates cannot be printed
        return Plugin(name, distribution, version, "broken", reason, traceback.format_exc())
    return Plugin(name, distribution, version, "ok", offers=offers, models=models)


@contextmanager
def _same_folder() -> Iterator[None]:
    """Restore the working folder: if a plugin changed it, every relative path would change its meaning."""
    before = ""
    with suppress(OSError):  # it was deleted
        before = str(Path.cwd())
    try:
        yield
    finally:
        if before:
            os.chdir(before)


def place(error: BaseException) -> str:
    """The line of the plugin that caused an error, even if raised by the specification; empty if there is none."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(NOT_OF_PLUGINS)]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def _own(point: EntryPoint) -> bool:
    return supplier_of(point)[0] == OWN


def camel_case(name: str) -> str:
    """The name of a method as part of the name of a class."""
    return "".join(part.capitalize() for part in name.split("_")).replace(".", "Dot")  # pickle looks up dotted names


def is_own(supplier: str) -> bool:
    """Whether a distribution with its version, as in `Registry.suppliers`, is this package."""
    return supplier.rpartition(" ")[0] == OWN


def _offers(plugin: Any, name: str) -> dict[str, Any]:
    _check_version(plugin)
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    manager.register(plugin, name=name)
    callers = [caller for caller in manager.get_hookcallers(plugin) or () if _is_known(caller)]
    _refuse_unmarked(plugin, {caller.name for caller in callers})
    offers = {}
    for caller in sorted(callers, key=lambda c: c.name == "kernels"):  # last: a clash is reported for the method
        (offer,) = getattr(manager.hook, caller.name)() or (None,)
        offers[caller.name] = _checked(caller.name, offer)
    return offers


def _is_known(caller: pluggy.HookCaller) -> bool:
    """Whether a function has the name of a hook. Raises ValueError otherwise, unless it is marked as optional."""
    known = (*hooks.DECLARED_TYPES, "kernels")
    if caller.name not in known and not all(function.optionalhook for function in caller.get_hookimpls()):
        raise ValueError(f"unknown hook {caller.name!r}{suggest(caller.name, known)}")
    return caller.name in known


def _refuse_unmarked(plugin: Any, marked: set[str]) -> None:
    """Raise ValueError for a function that the plugin defines with the name of a hook, but does not mark as one."""
    own = getattr(plugin, "__name__", None) or type(plugin).__module__
    given = {} if ismodule(plugin) else getattr(plugin, "__dict__", {})  # a module can import a function of this name
    for name in {*hooks.DECLARED_TYPES, "kernels"} - marked:
        function = getattr(plugin, name, None)
        if (isfunction(function) or ismethod(function)) and (function.__module__ == own or name in given):
            raise ValueError(f"{name}() is not marked as a hook, so that it is not called: put @hookimpl above it")


def _check_version(plugin: Any) -> None:
    built_for = getattr(plugin, "SPEC_VERSION", None)
    if not (isinstance(built_for, tuple) and len(built_for) == 2 and all(type(n) is int and n >= 0 for n in built_for)):
        got = "" if built_for is None else f": got {built_for!r}, want {SPEC_VERSION}"
        raise ValueError(
            f"it declares no SPEC_VERSION = (major, minor), the version of the contract that it requires{got}"
        )
    if built_for[0] != SPEC_VERSION[0] or built_for[1] > SPEC_VERSION[1]:
        want, have = (".".join(map(str, v)) for v in (built_for, SPEC_VERSION))
        raise ValueError(
            f"it requires spec {want}, but this version of orfit_bench provides {have}: install matching versions"
        )


def _checked(hook: str, offer: Any) -> Any:
    """Check the types in the return value of a hook, and return it as a tuple or dict."""
    if hook == "kernels":
        if not isinstance(offer, Mapping):
            raise TypeError(
                f"hook kernels: got {type(offer).__name__}, want a mapping of (backend, method) to the name of a module"
            )
        for key, value in offer.items():
            if not (isinstance(key, tuple) and len(key) == 2 and all(isinstance(k, str) for k in key)):
                raise TypeError(f"hook kernels: got the key {key!r}, want (backend, method)")
            module = value.module if isinstance(value, Override) else value
            if not isinstance(module, (str, Absent)) and not hasattr(module, "learn") and not hasattr(module, "update"):
                raise TypeError(
                    f"hook kernels: {key} is {value!r}, want the name of a module, a module, Override(module) or "
                    "Absent(reason)"
                )
        return dict(offer)
    kind = hooks.DECLARED_TYPES[hook]
    if not isinstance(offer, Iterable):
        raise TypeError(f"hook {hook}: got {type(offer).__name__}, want a tuple of {kind.__name__} objects")
    declared = tuple(offer)
    for item in declared:
        if not isinstance(item, kind):
            raise TypeError(f"hook {hook}: got {item!r}, want {kind.__name__} objects")
        if not NAME.fullmatch(name := str(getattr(item, "name", ""))):
            raise ValueError(
                f"hook {hook}: the name {name!r} is not allowed: want at most 100 letters, digits, "
                "'_', '-', '.' and '+', the first of them a letter"
            )
        if hook == "metrics" and name in RESULT_NAMES:
            raise ValueError(
                f"hook metrics: the results have {name!r} already, for something that is not a metric: "
                "choose another name"
            )
        if isinstance(item, Metric) and item.better not in get_args(Direction):
            raise ValueError(f"hook {hook}: metric {name!r}: better={item.better!r}, want 'lower' or 'higher'")
        if wrong := next(wrong_values(item, "", {}), ""):
            raise TypeError(f"hook {hook}: {kind.__name__} {name!r}: {wrong}")
    return declared

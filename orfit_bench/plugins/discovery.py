"""Load plugins one by one, so that a broken one stops nobody else."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy

from orfit_bench.plugins import hooks
from orfit_bench.spec import SPEC_VERSION, Absent

GROUP = "orfit_bench"
ONLY = "ORFIT_BENCH_PLUGINS"
"""Environment variable: names of the plugins to load, separated by commas; the package's own is always loaded."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """What became of one plugin: state is "ok", "broken" or "blocked"."""

    name: str
    distribution: str
    version: str
    state: str
    reason: str = ""
    trace: str = ""
    offers: Mapping[str, Any] = field(default_factory=dict)
    """Hook name to what it returned; empty unless state is "ok"."""

    @property
    def supplier(self) -> str:
        """Distribution and version, as the tables name them."""
        return f"{self.distribution} {self.version}".strip()


def installed() -> Iterator[Plugin]:
    """The plugins of all installed distributions, in the order of their names, the package's own first."""
    only = os.environ.get(ONLY)
    wanted = None if only is None else {n.strip() for n in only.split(",")}
    for point in sorted(entry_points(group=GROUP), key=lambda p: (not _own(p), p.name, _supplier(p))):
        who = (point.name, *_supplier(point))
        if wanted is not None and point.name not in wanted and not _own(point):
            yield Plugin(*who, "blocked", f"not named in {ONLY}={only}")
        else:
            yield load(point.load, *who)


def load(find: Any, name: str, distribution: str, version: str) -> Plugin:
    """Import a plugin, check what it states and call its hooks; whatever goes wrong is its own affair."""
    try:
        offers = _offers(find(), name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a plugin must not end the host
        reason = f"{type(error).__name__}: {error}".replace("\n", " ")
        return Plugin(name, distribution, version, "broken", reason, traceback.format_exc())
    return Plugin(name, distribution, version, "ok", offers=offers)


def _own(point: EntryPoint) -> bool:
    return _supplier(point)[0] == "orfit-bench"


def _supplier(point: EntryPoint) -> tuple[str, str]:
    """Name and version of the distribution; empty where its metadata cannot be read."""
    try:
        return (point.dist.name or "", point.dist.version or "") if point.dist else ("", "")
    except Exception:
        return "", ""


def _offers(plugin: Any, name: str) -> dict[str, Any]:
    _check_version(plugin)
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    manager.register(plugin, name=name)
    manager.check_pending()  # a misspelt hook is an error, not a silence
    offers = {}
    callers = manager.get_hookcallers(plugin) or ()
    for caller in sorted(callers, key=lambda c: c.name == "kernels"):  # a name that is taken is said of what it names
        (offer,) = getattr(manager.hook, caller.name)() or (None,)
        offers[caller.name] = _checked(caller.name, offer)
    return offers


def _check_version(plugin: Any) -> None:
    built_for = getattr(plugin, "SPEC_VERSION", None)
    if not (isinstance(built_for, tuple) and len(built_for) == 2 and all(isinstance(n, int) for n in built_for)):
        raise ValueError("it states no SPEC_VERSION = (major, minor), the contract it was built for")
    if built_for[0] != SPEC_VERSION[0] or built_for[1] > SPEC_VERSION[1]:
        want, have = (".".join(map(str, v)) for v in (built_for, SPEC_VERSION))
        raise ValueError(f"it was built for spec {want}, this orfit_bench speaks {have}: install versions that agree")


def _checked(hook: str, offer: Any) -> Any:
    """What a hook returned, as a tuple or dict of the right types."""
    if hook == "kernels":
        if not isinstance(offer, Mapping):
            raise TypeError(
                f"hook kernels: got {type(offer).__name__}, want a mapping of (backend, method) to a module's name"
            )
        for key, value in offer.items():
            if not (isinstance(key, tuple) and len(key) == 2 and all(isinstance(k, str) for k in key)):
                raise TypeError(f"hook kernels: got the key {key!r}, want (backend, method)")
            if not isinstance(value, (str, Absent)) and not hasattr(value, "learn") and not hasattr(value, "update"):
                raise TypeError(f"hook kernels: {key} is {value!r}, want a module's name, a module or Absent(reason)")
        return dict(offer)
    kind = hooks.KINDS[hook]
    if not isinstance(offer, Iterable):
        raise TypeError(f"hook {hook}: got {type(offer).__name__}, want a tuple of {kind.__name__} objects")
    declared = tuple(offer)
    for item in declared:
        if not isinstance(item, kind):
            raise TypeError(f"hook {hook}: got {item!r}, want {kind.__name__} objects")
    return declared

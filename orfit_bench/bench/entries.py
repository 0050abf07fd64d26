"""What a suite names: methods and streams, with settings, found in the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from orfit_bench.errors import hint
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Method, Stream
from orfit_bench.spec.setting import check_settings
from orfit_bench.state.serialization import config

Chosen = str | Mapping[str, Any]
"""A name, or {"name": ..., "settings": {...}}; of a method also with "model": {"hidden": [32], ...}."""


def filled(declared: Method | Stream, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a method or stream, as JSON knows them."""
    return config(check_settings(declared.name, declared.settings, given))


def known(given: Any, names: Sequence[str], owner: str) -> None:
    """ValueError or TypeError where what was given is no table, or has a key that is not known."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{owner}: got {given!r}, want a table of {', '.join(names)}")
    for name in given:
        if name not in names:
            raise ValueError(f"{owner} has no {name!r}{hint(name, names)}")


class Entry(NamedTuple):
    """One method or stream of a suite, found by name."""

    declared: Any
    settings: Mapping[str, Any]
    model: Any

    @property
    def name(self) -> str:
        """The declaration's name."""
        return str(self.declared.name)


def find(chosen: Any, where: str) -> Entry:
    """The entry of "methods" or "streams" that a user wrote as a name or a table. ValueError or TypeError."""
    chosen = {"name": chosen} if isinstance(chosen, str) else chosen
    if not isinstance(chosen, Mapping) or not isinstance(chosen.get("name"), str):
        raise TypeError(f'{where}: got {chosen!r}, want a name or {{name = "...", settings = {{...}}}}')
    known(chosen, ["name", "settings", *(["model"] if where == "methods" else [])], f"an entry of {where}")
    settings = chosen.get("settings", {})
    if not isinstance(settings, Mapping):
        raise TypeError(f"{where}: settings={settings!r}: want a table")
    return Entry(registry().find(where, chosen["name"]), settings, chosen.get("model"))


def no_stream(method: Method, named: Sequence[str]) -> str:
    """That a method suits none of the streams named, and which it would suit."""
    suiting = [s.name for s in registry().streams.values() if s.suits(method.kind)]
    return (
        f"method {method.name!r} ({method.kind}) cannot learn what {', '.join(named)} offers; "
        f"these streams suit it: {', '.join(suiting) or 'none here'}"
    )


def no_method(stream: Stream) -> str:
    """That a stream suits none of the methods, and which it would suit."""
    suiting = [m.name for m in registry().methods.values() if stream.suits(m.kind)]
    return (
        f"stream {stream.name!r} offers {stream.offers}, which no method of this suite learns; "
        f"these do: {', '.join(suiting) or 'none here'}"
    )

"""The methods and streams that a suite selects, by name, with settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from orfit_bench.errors import suggest
from orfit_bench.plugins.registry import registry
from orfit_bench.sampling import with_sampling
from orfit_bench.spec import Method, Stream
from orfit_bench.spec.setting import check_settings
from orfit_bench.state.serialization import config

Selector = str | Mapping[str, Any]
"""A name, or {"name": ..., "settings": {...}}; for a method also with "model": {"hidden": [32], ...}."""
Declared = TypeVar("Declared", Method, Stream)


class Selection(NamedTuple, Generic[Declared]):
    """A method or stream of a suite, with the settings that the suite gives it."""

    declared: Declared
    settings: Mapping[str, Any]
    model: Any = None

    @property
    def name(self) -> str:
        """The name of the method or stream."""
        return self.declared.name


def resolve_method(selector: Any) -> Selection[Method]:
    """Look up a method. Raises ValueError or TypeError if the selector is wrong."""
    table = _as_table(selector, "methods", ("name", "settings", "model"))
    return Selection(registry().methods.find(table["name"]), table.get("settings", {}), table.get("model"))


def resolve_stream(selector: Any) -> Selection[Stream]:
    """Look up a stream, with sampling settings. Raises ValueError or TypeError if the selector is wrong."""
    table = _as_table(selector, "streams", ("name", "settings"))
    return Selection(with_sampling(registry().streams.find(table["name"])), table.get("settings", {}))


def _as_table(selector: Any, field: str, keys: Sequence[str]) -> Mapping[str, Any]:
    table = {"name": selector} if isinstance(selector, str) else selector
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise TypeError(f'{field}: got {selector!r}, want a name or {{name = "...", settings = {{...}}}}')
    check_keys(table, keys, f"an entry of {field}")
    settings = table.get("settings", {})
    if not isinstance(settings, Mapping):
        raise TypeError(f"{field}: settings={settings!r}: want a table")
    return table


def with_defaults(declared: Method | Stream, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings and return all settings of the method or stream, as plain values."""
    return config(check_settings(declared.name, declared.settings, settings))


def check_keys(table: Any, keys: Sequence[str], owner: str) -> None:
    """Raise TypeError if `table` is not a mapping, and ValueError if it has an unknown key."""
    if not isinstance(table, Mapping):
        raise TypeError(f"{owner}: got {table!r}, want a table of {', '.join(keys)}")
    for key in table:
        if key not in keys:
            raise ValueError(f"{owner} has no {key!r}{suggest(key, keys)}")


def no_stream_message(method: Method, streams: Sequence[str]) -> str:
    """The error message if a method can learn none of the selected streams."""
    suitable = [s.name for s in registry().streams.values() if s.suits(method.kind)]
    return (
        f"method {method.name!r} ({method.kind}) cannot learn from {', '.join(streams)}; "
        f"suitable streams: {', '.join(suitable) or 'none installed'}"
    )


def no_method_message(stream: Stream) -> str:
    """The error message if no selected method can learn a stream."""
    suitable = [m.name for m in registry().methods.values() if stream.suits(m.kind)]
    return (
        f"stream {stream.name!r} provides {stream.offers}, which no method of the suite can learn; "
        f"suitable methods: {', '.join(suitable) or 'none installed'}"
    )

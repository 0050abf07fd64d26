"""The methods and streams that a suite selects, by name, with settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from orfit_bench.bench.variables import stream_name
from orfit_bench.errors import suggest
from orfit_bench.plugins.hooks import hookimpl
from orfit_bench.plugins.registry import register, registry, unregister
from orfit_bench.sampling import is_same_stream, with_sampling
from orfit_bench.spec import SPEC_VERSION, Method, Stream
from orfit_bench.spec.file_stream import FILE
from orfit_bench.spec.setting import check_settings
from orfit_bench.spec.stream_functions import configure
from orfit_bench.state.header import config
from orfit_bench.tables.files import FORMATS, is_url

Selector = str | Mapping[str, Any] | Stream
"""A name, or {"name": ..., "settings": {...}}; for a method also with "model": {"hidden": [32], ...}.

A stream may also be a Stream, from a file or table for example.
"""
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


def resolve_stream(selector: Any, overriding: Mapping[str, Mapping[str, Any]]) -> Selection[Stream]:
    """Look up a stream, with its settings. Raises ValueError or TypeError if the selector is wrong.

    `overriding` has settings by the name of the stream; the targets that a stream offers can depend on them.
    """
    if isinstance(selector, Stream):
        _ensure_registered(selector)
        return Selection(with_sampling(selector), {})
    table = _as_table(selector, "streams", ("name", "settings"))
    stream, given = find_stream(table["name"]), table.get("settings", {})
    if stream.configure is not None:
        stream, given = configure(stream, {**given, **overriding.get(stream.name, {})}), {}
    return Selection(with_sampling(stream), given)


def find_stream(name: str) -> Stream:
    """The stream with this name, of a plugin or of the user's files. Raises ValueError if there is none."""
    known = registry().streams
    if name not in known and (is_url(name) or name.lower().endswith(tuple(FORMATS))):
        raise ValueError(
            f"no stream {name!r}: to learn the rows of a file, use --data FILE, or Stream.from_file(path, target)"
        )
    return FILE if name == FILE.name and name not in known else known.find(name)


class _Supplier:
    """A plugin of this process with one stream."""

    SPEC_VERSION = SPEC_VERSION

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    @hookimpl
    def streams(self) -> list[Stream]:
        """The stream."""
        return [self._stream]


def _ensure_registered(stream: Stream) -> None:
    """Register a stream of this process by name, so that cells find it; the stream of a file needs no registration."""
    known = registry().streams.get(stream.name)
    if stream.name == FILE.name or (known and is_same_stream(stream, known)):
        return
    if known and known is not _SUPPLIED.get(stream.name):
        raise ValueError(f"a stream {stream.name!r} exists already: give this one another name")
    if known:
        unregister(f"stream {stream.name}")
    register(_Supplier(stream), f"stream {stream.name}")
    _SUPPLIED[stream.name] = stream


_SUPPLIED: dict[str, Stream] = {}
"""The latest streams of suites of this process, by name; another stream of the same name replaces one of them."""


def _as_table(selector: Any, field: str, keys: Sequence[str]) -> Mapping[str, Any]:
    table = {"name": selector} if isinstance(selector, str) else selector
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        rows = hasattr(selector, "columns") or hasattr(selector, "shape")
        hint = "; for the rows of a table use Stream.from_table(table, target)" if rows and field == "streams" else ""
        shown = type(selector).__name__ if rows else repr(selector)
        raise TypeError(f'{field}: got {shown}, want a name or {{name = "...", settings = {{...}}}}{hint}')
    check_keys(table, keys, f"an entry of {field}")
    settings = table.get("settings", {})
    if not isinstance(settings, Mapping):
        raise TypeError(f"{field}: settings={settings!r}: want a table")
    return table


def with_defaults(declared: Method | Stream, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings and return all settings of the method or stream, as plain values."""
    if isinstance(declared, Method):
        return config(declared.check_settings(settings))
    return config(check_settings(declared.name, declared.settings, settings))


def check_keys(table: Any, keys: Sequence[str], owner: str) -> None:
    """Raise TypeError if `table` is not a mapping, and ValueError if it has an unknown key."""
    if not isinstance(table, Mapping):
        raise TypeError(f"{owner}: got {table!r}, want a table of {', '.join(keys)}")
    for key in table:
        if key not in keys:
            raise ValueError(f"{owner} has no {key!r}{suggest(key, keys)}")


OFFERED = {
    "numbers": "numbers as targets",
    "labels": "strings as targets",
    "rows": "no targets",
    "integers": "integers as targets",
    "gaps": "targets that may be missing",
}
LABELS = (
    ". If the labels are floats such as 1.0, convert them to integers or strings; a column without values counts as "
    "numbers"
)
"""A hint if a classifier gets no labels: pandas turns a column of integers with a missing value into floats."""


def no_stream_message(method: Method, streams: Sequence[Stream]) -> str:
    """The error message if a method cannot learn any of the selected streams."""
    hint = LABELS if method.traits.labels else ""
    names = list(dict.fromkeys(stream.name for stream in streams))
    refused = f"method {method.name!r} ({method.kind}) cannot learn from {', '.join(names)}"
    if all(stream.offers == "gaps" for stream in streams):
        return f"{refused}: targets that may be missing (--gaps, or gaps=True) are for filters, such as kalman"
    if names == [FILE.name]:
        return (
            f"{refused}: {_name_of(streams[0])} has {OFFERED[streams[0].offers]}. Regression needs numbers, "
            f"classification strings or integers, a subspace no target{hint}"
        )
    suitable = [s.name for s in registry().streams.values() if s.suits(method.kind)]
    return f"{refused}; suitable streams: {', '.join(suitable) or 'none installed'}{hint}"


def no_method_message(stream: Stream) -> str:
    """The error message if no selected method can learn a stream."""
    suitable = [m.name for m in registry().methods.values() if stream.suits(m.kind)]
    return (
        f"stream {_name_of(stream)!r} provides {stream.offers}, which no method of the suite can learn; "
        f"suitable methods: {', '.join(suitable) or 'none installed'}"
    )


def _name_of(stream: Stream) -> str:
    """The name of a stream, or of its file."""
    return stream_name(stream.name, {s.name: s.default for s in stream.settings})

"""A suite: methods, backends, streams and sizes to be measured, checked and expanded to cells."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from orfit_bench.bench import models
from orfit_bench.bench.cell import Cell
from orfit_bench.bench.protocol import Protocol
from orfit_bench.bench.selection import (
    Selection,
    Selector,
    check_keys,
    no_method_message,
    no_stream_message,
    resolve_method,
    resolve_stream,
    with_defaults,
)
from orfit_bench.errors import UnavailableError, suggest
from orfit_bench.learners.arguments import REAL_DTYPES
from orfit_bench.learners.factory import RANDOM_STATE
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Method, Stream
from orfit_bench.spec.file_stream import FILE
from orfit_bench.spec.stream_functions import existing_files

DEFAULT_STREAMS = {
    "regression": ("rotated_digits", "drift"),
    "filter": ("rotated_digits", "drift"),
    "classification": ("class_digits",),
    "subspace": ("digits_pca",),
}
"""Streams by kind of method, if the suite names none: quick to learn and meaningful for the kind (decision 0019)."""

NO_BACKEND = (
    "no backend is installed: install the distribution orfit-bench-numpy "
    "(from a checkout: pip install ./plugins/orfit-bench-numpy)"
)


@dataclass(frozen=True, slots=True)
class Suite:
    """The cells to be measured: every combination of methods, backends, streams, sizes and seeds that fits together.

    Parameters
    ----------
    methods, streams : sequence of str or mapping
        Names, or tables {"name": ..., "settings": {...}}; a method can have a "model" {"hidden": [32], ...}, and a
        stream can be a `Stream`, such as `Stream.from_file("rides.parquet", "fare")`. By default all methods, and for
        each method the `DEFAULT_STREAMS` of its kind. Every named method must be able to learn at least one of the
        streams, and at least one method must be able to learn each stream.
    backends : sequence of str
        By default all backends that can compute the method; if none can, all are reported as absent.
    rows, features : sequence of int
        Values of the settings n and d of the streams; by default every stream has its own size.
    seeds : sequence of int
        Each is the `random_state` of the learner and the seed of the stream.
    protocol : Protocol
        How the stream is learned: passes, learners and preprocessing.
    dtype : str
        "float64" or "float32".
    settings : mapping of mappings
        Settings by the name of a method or stream, which override those of all its entries.

    Raises
    ------
    ValueError, TypeError
        If a name or value is wrong; the message suggests the nearest name. Names are checked by `cells`.
    UnavailableError
        If no backend is installed; raised by `cells`.

    Examples
    --------
    >>> suite = Suite(methods=["lms"], backends=["numpy"], streams=["regression"], rows=[50, 100])
    >>> len(suite.cells())
    2
    """

    methods: Sequence[Selector] = ()
    backends: Sequence[str] = ()
    streams: Sequence[Selector] = ()
    rows: Sequence[int] = ()
    features: Sequence[int] = ()
    seeds: Sequence[int] = (0,)
    protocol: Protocol = field(default_factory=Protocol)
    dtype: str = "float64"
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("methods", "backends", "streams", "rows", "features", "seeds"):
            value = getattr(self, name)
            if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
                raise TypeError(f"{name}={value!r}: want a list")
        if not isinstance(self.protocol, Protocol):
            raise TypeError(f"protocol={self.protocol!r}: want a Protocol")
        if not isinstance(self.settings, Mapping) or not all(isinstance(s, Mapping) for s in self.settings.values()):
            raise TypeError(f"settings={self.settings!r}: want a table of tables, by the names of methods and streams")
        if not self.seeds:
            raise ValueError("a suite requires at least one seed")
        if self.dtype not in REAL_DTYPES:
            raise ValueError(f"dtype={self.dtype!r}: want one of {', '.join(REAL_DTYPES)}; runs compare real numbers")

    def config(self) -> dict[str, Any]:
        """Return the suite as JSON values, with all defaults except the sizes of streams."""
        methods, streams = self._selected()
        return {
            "methods": [
                {"name": method.name, "settings": settings, "model": model}
                for method, settings, model in map(self._configured, methods)
            ],
            "backends": self._backends(),
            "streams": [{"name": s.name, "settings": self._settings(s)} for s in streams],
            **{name: [int(v) for v in getattr(self, name)] for name in ("rows", "features", "seeds")},
            "protocol": asdict(self.protocol),
            "dtype": self.dtype,
        }

    def cells(self) -> list[tuple[Cell, str]]:
        """Return the distinct cells, each with the reason why it cannot be measured ("" if it can)."""
        methods, streams = self._selected()
        configured, backends = list(map(self._configured, methods)), self._backends()
        sized = [pair for stream in streams for pair in self._sized(stream)]
        absence = {(m.name, b): self._absence(m, b) for m, _, _ in configured for b in backends}
        omitted = self._omitted(absence)
        planned = {}
        seeds = [RANDOM_STATE.check(s) for s in self.seeds]
        for (stream, size), seed, (method, settings, model), backend in product(sized, seeds, configured, backends):
            pair = method.name, backend
            if self._learns(method, stream) and pair not in omitted:
                cell = Cell(*pair, stream.name, settings, size, seed, self.dtype, self.protocol, model)
                planned[cell.key] = cell, absence[pair]
        return list(planned.values())

    def names(self) -> tuple[list[str], list[str]]:
        """Return the names of methods and streams. Raises ValueError or TypeError if they do not fit together."""
        methods, streams = self._selected()
        return [m.name for m in methods], [s.name for s in streams]

    def with_other(self, **lists: Any) -> Suite:
        """A suite with other lists, without the settings of methods and streams that it no longer has."""
        other = replace(self, **lists)
        if not self.settings:
            return other
        self.names()  # raises ValueError for settings of something else
        methods, streams = other.selections()
        kept = {m.name for m in methods} | {s.name for s in streams}
        return replace(other, settings={name: given for name, given in self.settings.items() if name in kept})

    def files(self) -> list[Path]:
        """Return the existing files of the user from which the streams are made."""
        _, streams = self._selected()
        return list(dict.fromkeys(path for stream in streams for path in existing_files(stream.declared)))

    def _omitted(self, pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """The pairs (method, backend) that are left out: no backend was named, and another can compute the method."""
        if self.backends:
            return set()
        computable = {(method, backend) for method, backend in pairs if not registry().absence(backend, method)}
        methods = {method for method, _ in computable}
        return {pair for pair in pairs if pair not in computable and pair[0] in methods}

    def _selected(self) -> tuple[list[Selection[Method]], list[Selection[Stream]]]:
        """The methods and streams. Raises ValueError if they do not fit together or settings are of something else."""
        methods, streams = self.selections()
        names = [m.name for m in methods] + [s.name for s in streams]
        if unknown := [name for name in self.settings if name not in names]:
            hint = suggest(unknown[0], names)
            raise ValueError(f"settings of {unknown[0]!r}: no such method or stream in the suite{hint}")
        return methods, streams

    def selections(self) -> tuple[list[Selection[Method]], list[Selection[Stream]]]:
        """Return the methods and streams, with defaults if none are named. Raises ValueError if they do not fit."""
        objects = {id(s): s for s in self.streams if isinstance(s, Stream) and s.name != FILE.name}
        names = [s.name for s in objects.values()]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two streams are called {repeated[0]!r}: give each a name of its own, name=...")
        candidates = [resolve_method(m) for m in self.methods or list(registry().methods)]
        defaults = dict.fromkeys(name for m in candidates for name in DEFAULT_STREAMS[m.declared.kind])
        streams = [resolve_stream(s, self.settings) for s in self.streams or defaults]
        methods = [m for m in candidates if any(self._learns(m.declared, s.declared) for s in streams)]
        if self.methods and (unmatched := [m for m in candidates if m not in methods]):
            raise ValueError(no_stream_message(unmatched[0].declared, [s.declared for s in streams]))
        for stream in streams:
            if not any(self._learns(m.declared, stream.declared) for m in methods):
                raise ValueError(no_method_message(stream.declared))
        return methods, streams

    def _learns(self, method: Method, stream: Stream) -> bool:
        """Whether the suite has cells of this method on this stream."""
        if self.streams:
            if stream.offers == "integers" and method.traits.labels and not self.methods:
                return False  # integers are numbers, unless a method for labels is named
            return stream.suits(method.kind)
        return stream.name in DEFAULT_STREAMS[method.kind]

    def _settings(self, selection: Selection[Method] | Selection[Stream]) -> dict[str, Any]:
        return {**selection.settings, **self.settings.get(selection.name, {})}

    def _configured(self, selection: Selection[Method]) -> tuple[Method, dict[str, Any], dict[str, Any]]:
        """The method with all its settings and its model."""
        method = selection.declared
        settings = with_defaults(method, self._settings(selection))
        return method, settings, models.with_defaults(method, selection.model)

    def _backends(self) -> list[str]:
        if not registry().backends:
            raise UnavailableError(NO_BACKEND)
        return [registry().backends.find(name).name for name in self.backends or list(registry().backends)]

    def _sized(self, selection: Selection[Stream]) -> Iterator[tuple[Stream, dict[str, Any]]]:
        """The stream with all its settings, in every size."""
        stream, settings = selection.declared, self._settings(selection)
        if "seed" in settings:
            raise ValueError(f"stream {stream.name!r}: set its seed by the seeds of the suite")
        for n, d in product(self.rows or (None,), self.features or (None,)):
            size = {k: v for k, v in (("n", n), ("d", d)) if v is not None}
            if fixed := set(size) - {s.name for s in stream.settings}:
                names = " and ".join(name for key, name in (("d", "features"), ("n", "rows")) if key in fixed)
                raise ValueError(
                    f"stream {stream.name!r} has a fixed number of {names}: omit {names} or select other streams"
                )
            every = with_defaults(stream, {**settings, **size})
            yield stream, {k: v for k, v in every.items() if k != "seed"}

    def _absence(self, method: Method, backend: str) -> str:
        """The reason why the method cannot be measured on the backend; empty if it can."""
        if self.protocol.learners > 1 and not method.combine.averages:
            return f"{method.name}: an average of its states is not defined"
        return registry().absence(backend, method.name)


def read(path: str | Path) -> Suite:
    """Read a suite from a TOML file.

    Parameters
    ----------
    path : str or Path
        Its keys are the parameters of `Suite`; `protocol` is a table.

    Returns
    -------
    Suite
        The suite, checked.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not TOML, or not a valid suite.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "mine.toml")
    >>> _ = path.write_text('methods = ["lms"]\\nstreams = ["regression"]\\nrows = [50, 100]\\n')
    >>> read(path).rows
    [50, 100]
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))  # editors may begin a file with a mark
    except OSError as error:
        raise type(error)(f"{path}: the suite cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from error
    try:
        check_keys(table, [f.name for f in fields(Suite)], "a suite")
        if "protocol" in table:
            check_keys(table["protocol"], [f.name for f in fields(Protocol)], "a protocol")
            table["protocol"] = Protocol(**table["protocol"])
        if empty := [name for name in ("methods", "backends", "streams") if table.get(name) == []]:
            raise ValueError(f"{empty[0]}=[]: want names, or leave {empty[0]} out for the default")
        suite = Suite(**table)
        suite.cells()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    return suite

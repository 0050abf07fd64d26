"""A suite: what is to be compared, checked by name and expanded to cells."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from orfit_bench.bench import models
from orfit_bench.bench.cell import Cell
from orfit_bench.bench.entries import Chosen, Entry, filled, find, known, no_method, no_stream
from orfit_bench.bench.protocol import Protocol
from orfit_bench.errors import UnavailableError, hint
from orfit_bench.learners.factory import DTYPES, RANDOM_STATE
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Method, Stream

DEFAULT_STREAMS = {
    "regression": ("rotated_digits", "drift"),
    "filter": ("rotated_digits", "drift"),
    "classification": ("class_digits",),
    "subspace": ("digits_pca",),
}
"""What methods of a kind learn where no stream is named. Quick, and of some use to the kind (decision 0019)."""

NO_BACKEND = (
    "no backend is installed, so nothing can be computed: install the distribution orfit-bench-numpy "
    "(from a checkout: pip install ./plugins/orfit-bench-numpy)"
)


@dataclass(frozen=True, slots=True)
class Suite:
    """Every method on every backend over every stream that suits it, in every size, with every seed.

    No methods or no backends means all of them (of the backends those that can compute the method, where there is one),
    no streams DEFAULT_STREAMS of each method's kind. A method that suits no stream named, and a stream that suits no
    method of the suite, is a mistake. rows and features set the streams' settings n and d; without them each stream has
    its own size. settings, by the name of a method or stream, are laid over those of all entries of that name.
    ValueError or TypeError that names what is wrong, with the nearest name; UnavailableError where no backend is
    installed.
    """

    methods: Sequence[Chosen] = ()
    backends: Sequence[str] = ()
    streams: Sequence[Chosen] = ()
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
            raise ValueError("a suite wants at least one seed")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype={self.dtype!r}: want one of {', '.join(DTYPES)}")

    def config(self) -> dict[str, Any]:
        """The suite as JSON knows it, nothing left to defaults but the sizes of the streams."""
        methods, streams = self._chosen()
        return {
            "methods": [
                {"name": m.name, "settings": settings, "model": model}
                for m, settings, model in self._described(methods)
            ],
            "backends": self._backends(),
            "streams": [{"name": s.name, "settings": self._settings(s)} for s in streams],
            **{name: [int(v) for v in getattr(self, name)] for name in ("rows", "features", "seeds")},
            "protocol": asdict(self.protocol),
            "dtype": self.dtype,
        }

    def cells(self) -> list[tuple[Cell, str]]:
        """The cells, none twice, each with the reason for its absence ("" where it can be measured)."""
        chosen, streams = self._chosen()
        methods, backends, sized = list(self._described(chosen)), self._backends(), list(self._sized(streams))
        lacks = {(m.name, b): self._absence(m, b) for m, _, _ in methods for b in backends}
        elsewhere = self._elsewhere(lacks)
        planned = {}
        seeds = [RANDOM_STATE.check(s) for s in self.seeds]
        for (stream, size), seed, (method, settings, model), backend in product(sized, seeds, methods, backends):
            pair = method.name, backend
            if self._meet(method, stream) and pair not in elsewhere:
                what = method.name, backend, stream.name, settings, size
                cell = Cell(*what, seed, self.dtype, self.protocol, model)
                planned[cell.key] = cell, lacks[pair]
        return list(planned.values())

    def _elsewhere(self, pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Methods on backends that cannot compute them while others can, where nobody named the backends."""
        here = {(method, backend) for method, backend in pairs if not registry().absence(backend, method)}
        offered = {method for method, _ in here}
        return set() if self.backends else {pair for pair in pairs if pair not in here and pair[0] in offered}

    def names(self) -> tuple[list[str], list[str]]:
        """The methods and the streams of the suite. ValueError or TypeError where they do not fit together."""
        methods, streams = self._chosen()
        return [m.name for m in methods], [s.name for s in streams]

    def files(self) -> list[Path]:
        """The user's files that are here and that rows of its streams are made of, none twice."""
        _, streams = self._chosen()
        return list(dict.fromkeys(path for entry in streams for path in entry.declared.files()))

    def _chosen(self) -> tuple[list[Entry], list[Entry]]:
        """The entries of methods and streams, with what stands for those not named; all that fits together."""
        methods = [find(m, "methods") for m in self.methods or list(registry().methods)]
        defaults = dict.fromkeys(name for m in methods for name in DEFAULT_STREAMS[m.declared.kind])
        streams = [find(s, "streams") for s in self.streams or defaults]
        met = [m for m in methods if any(self._meet(m.declared, s.declared) for s in streams)]
        if self.methods and (lonely := [m for m in methods if m not in met]):
            raise ValueError(no_stream(lonely[0].declared, [s.name for s in streams]))
        for stream in streams:
            if not any(self._meet(m.declared, stream.declared) for m in met):
                raise ValueError(no_method(stream.declared))
        names = [e.name for e in (*met, *streams)]
        if unknown := [name for name in self.settings if name not in names]:
            raise ValueError(f"settings of {unknown[0]!r}: no method or stream of the suite{hint(unknown[0], names)}")
        return met, streams

    def _meet(self, method: Method, stream: Stream) -> bool:
        """Whether the method is to learn the stream."""
        if self.streams:
            return stream.suits(method.kind)
        return stream.name in DEFAULT_STREAMS[method.kind]

    def _settings(self, entry: Entry) -> dict[str, Any]:
        return {**entry.settings, **self.settings.get(entry.name, {})}

    def _described(self, methods: Sequence[Entry]) -> Iterator[tuple[Method, dict[str, Any], dict[str, Any]]]:
        for entry in methods:
            method: Method = entry.declared
            yield method, filled(method, self._settings(entry)), models.filled(method, entry.model)

    def _backends(self) -> list[str]:
        if not registry().backends:
            raise UnavailableError(NO_BACKEND)
        return [registry().find("backends", name).name for name in self.backends or list(registry().backends)]

    def _sized(self, streams: Sequence[Entry]) -> Iterator[tuple[Stream, dict[str, Any]]]:
        for entry in streams:
            stream: Stream = entry.declared
            name, settings = entry.name, self._settings(entry)
            if "seed" in settings:
                raise ValueError(f"stream {name!r}: its seed comes from the suite's seeds")
            for n, d in product(self.rows or (None,), self.features or (None,)):
                size = {k: v for k, v in (("n", n), ("d", d)) if v is not None}
                if fixed := set(size) - {s.name for s in stream.settings}:
                    what = "features" if "d" in fixed else "rows"
                    raise ValueError(f"the {what} of {name!r} cannot be chosen: name other streams, or no {what}")
                sized = filled(stream, {**settings, **size})
                yield stream, {k: v for k, v in sized.items() if k != "seed"}

    def _absence(self, method: Method, backend: str) -> str:
        if self.protocol.learners > 1 and not method.combine.averages:
            return f"{method.name}: an average of its states is not defined"
        return registry().absence(backend, method.name)


def read(path: str | Path) -> Suite:
    """The suite in a TOML file; its keys are the fields of `Suite`, `protocol` a table. See `Suite` for errors."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise type(error)(f"{path}: the suite cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: no TOML file: {error}") from error
    try:
        known(table, [f.name for f in fields(Suite)], "a suite")
        if "protocol" in table:
            known(table["protocol"], [f.name for f in fields(Protocol)], "a protocol")
            table["protocol"] = Protocol(**table["protocol"])
        suite = Suite(**table)
        suite.cells()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    return suite

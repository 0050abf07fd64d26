"""A suite: what is to be compared, checked by name and expanded to cells."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from orfit_bench.bench.cell import Cell
from orfit_bench.bench.protocol import Protocol
from orfit_bench.errors import UnavailableError, hint
from orfit_bench.host.create import DTYPES, RANDOM_STATE
from orfit_bench.host.registry import registry
from orfit_bench.host.snapshot import config
from orfit_bench.spec import Method, Stream
from orfit_bench.spec.setting import checked

Chosen = str | Mapping[str, Any]
"""A name, or {"name": ..., "settings": {...}}."""

NO_BACKEND = (
    "no backend is installed, so nothing can be computed: install the distribution orfit-bench-numpy "
    "(from a checkout: pip install ./plugins/orfit-bench-numpy)"
)


@dataclass(frozen=True, slots=True)
class Suite:
    """Every method on every backend over every stream, in every size, with every seed.

    No methods or no backends means all of them. rows and features set the streams' settings n and d; without them
    each stream has its own size. ValueError or TypeError that names what is wrong, with the nearest name;
    UnavailableError where no backend is installed.
    """

    methods: Sequence[Chosen] = ()
    backends: Sequence[str] = ()
    streams: Sequence[Chosen] = ("rotated_digits", "drift")
    rows: Sequence[int] = ()
    features: Sequence[int] = ()
    seeds: Sequence[int] = (0,)
    protocol: Protocol = field(default_factory=Protocol)
    dtype: str = "float64"

    def __post_init__(self) -> None:
        for name in ("methods", "backends", "streams", "rows", "features", "seeds"):
            value = getattr(self, name)
            if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
                raise TypeError(f"{name}={value!r}: want a list")
        if not isinstance(self.protocol, Protocol):
            raise TypeError(f"protocol={self.protocol!r}: want a Protocol")
        if not self.streams or not self.seeds:
            raise ValueError("a suite wants at least one stream and one seed")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype={self.dtype!r}: want one of {', '.join(DTYPES)}")

    def config(self) -> dict[str, Any]:
        """The suite as JSON knows it, nothing left to defaults but the sizes of the streams."""
        return {
            "methods": [{"name": method.name, "settings": settings} for method, settings in self._methods()],
            "backends": self._backends(),
            "streams": [dict(zip(("name", "settings"), _parts(s, "streams"), strict=True)) for s in self.streams],
            **{name: [int(v) for v in getattr(self, name)] for name in ("rows", "features", "seeds")},
            "protocol": asdict(self.protocol),
            "dtype": self.dtype,
        }

    def cells(self) -> list[tuple[Cell, str]]:
        """The cells, none twice, each with the reason for its absence ("" where it can be measured)."""
        methods, backends, streams = list(self._methods()), self._backends(), list(self._streams())
        lacks = {(m.name, b): self._absence(m, b) for m, _ in methods for b in backends}
        planned = {}
        for stream, sized in streams:
            for seed in (RANDOM_STATE.check(s) for s in self.seeds):
                for method, settings in methods:
                    for backend in backends:
                        cell = Cell(method.name, backend, stream.name, settings, sized, seed, self.dtype, self.protocol)
                        planned[cell.key] = cell, lacks[method.name, backend]
        return list(planned.values())

    def _methods(self) -> Iterator[tuple[Method, dict[str, Any]]]:
        regressions = [n for n, m in registry().methods.items() if m.kind == "regression" and not m.layered]
        for chosen in self.methods or regressions:
            name, settings = _parts(chosen, "methods")
            method = registry().find("methods", name)
            yield method, filled(method, settings)

    def _backends(self) -> list[str]:
        if not registry().backends:
            raise UnavailableError(NO_BACKEND)
        return [registry().find("backends", name).name for name in self.backends or list(registry().backends)]

    def _streams(self) -> Iterator[tuple[Stream, dict[str, Any]]]:
        for chosen in self.streams:
            name, settings = _parts(chosen, "streams")
            stream = registry().find("streams", name)
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
        if self.protocol.learners > 1 and not method.averages:
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
        _known(table, [f.name for f in fields(Suite)], "a suite")
        if "protocol" in table:
            _known(table["protocol"], [f.name for f in fields(Protocol)], "a protocol")
            table["protocol"] = Protocol(**table["protocol"])
        suite = Suite(**table)
        suite.cells()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    return suite


def filled(declared: Method | Stream, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a method or stream, as JSON knows them."""
    return config(checked(declared.name, declared.settings, given))


def _known(given: Any, known: Sequence[str], owner: str) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(f"{owner}: got {given!r}, want a table of {', '.join(known)}")
    for name in given:
        if name not in known:
            raise ValueError(f"{owner} has no {name!r}{hint(name, known)}")


def _parts(chosen: Any, where: str) -> tuple[str, Mapping[str, Any]]:
    if isinstance(chosen, str):
        return chosen, {}
    if not isinstance(chosen, Mapping) or not isinstance(chosen.get("name"), str):
        raise TypeError(f'{where}: got {chosen!r}, want a name or {{name = "...", settings = {{...}}}}')
    _known(chosen, ["name", "settings"], f"an entry of {where}")
    settings = chosen.get("settings", {})
    if not isinstance(settings, Mapping):
        raise TypeError(f"{where}: settings={settings!r}: want a table")
    return chosen["name"], settings

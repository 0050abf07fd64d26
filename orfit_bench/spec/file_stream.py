"""Streams from files and tables of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from orfit_bench.errors import suggest
from orfit_bench.spec.data import Data
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Offers, Stream
from orfit_bench.spec.types import Choice, Integer, Names, Number, Text
from orfit_bench.tables.encoding import ENCODED, check_columns, find_encoding
from orfit_bench.tables.files import FORMATS, is_url, open_file
from orfit_bench.tables.folders import files_of
from orfit_bench.tables.names import quoted
from orfit_bench.tables.ordering import order_of_rows
from orfit_bench.tables.rows import Cursor, View
from orfit_bench.tables.sources import Source

IN_MEMORY = 400e6
"""Largest size of rows in bytes that is kept in memory; larger ones are read in batches, again in each pass."""
SETTINGS = (
    Setting("path", Text(), "", f"path or URL of a file ending in {', '.join(FORMATS)}"),
    Setting("target", Names(), [], "column to predict, or several; none for methods that learn rows without targets"),
    Setting("test", Number(0, 1, closed="left"), 0.0, "share of the rows, the last ones, that only measure the error"),
    Setting(
        "time", Text(), None, "column that orders the rows and is not learned; None: as in the file", optional=True
    ),
    Setting("drop", Names(), [], "columns that are not learned"),
    Setting("texts", Choice(("refuse", "one_hot")), "refuse", "what columns of strings become"),
    Setting("categorical", Names(), [], "columns of strings, integers or booleans that become a column for each value"),
    Setting("missing", Choice(("refuse", "indicators")), "refuse", "what missing values become"),
    Setting(
        "gaps", Choice(("refuse", "keep")), "refuse", "what rows without a target become; filters only predict them"
    ),
    Setting("n", Integer(1), None, "how many rows are used; None: all", optional=True),
)


def stream_of_file(settings: Mapping[str, Any]) -> Stream:
    """The stream with these settings as its defaults, and with `offers` found from its target."""
    defaults = tuple(replace(s, default=s.check(settings.get(s.name, s.default))) for s in SETTINGS)
    given = {s.name: s.default for s in defaults}
    source = open_file(given["path"], _codes(given))
    check_columns(source, _features(source, given), given["texts"] == "one_hot", given["categorical"])
    path, targets = given["path"], given["target"]
    files = list if is_url(path) else partial(files_of, Path(path))
    offers = _offered(source, targets, given["gaps"] == "keep")
    return replace(FILE, settings=defaults, offers=offers, files=files)


def stream_of_table(source: Source, name: str, settings: Mapping[str, Any]) -> Stream:
    """A stream of the rows of a table in memory."""
    defaults = tuple(replace(s, default=s.check(settings[s.name])) for s in SETTINGS if s.name not in ("path", "n"))
    given = {s.name: s.default for s in defaults}
    check_columns(source, _features(source, given), given["texts"] == "one_hot", given["categorical"])
    summary = f"a table of {source.rows} rows"
    return Stream(
        name,
        summary,
        lambda **given: load(source, **given),
        (*defaults, SETTINGS[-1]),
        "a table in memory",
        offers=_offered(source, given["target"], given["gaps"] == "keep"),
    )


def load(
    source: Source,
    target: Sequence[str],
    test: float,
    time: str | None,
    drop: Sequence[str],
    texts: str,
    categorical: Sequence[str],
    missing: str,
    gaps: str,
    n: int | None,
) -> Data:
    """The rows of a source; ValueError or TypeError names a column or row that cannot be learned."""
    columns = _features(source, {"target": target, "drop": drop, "time": time, "categorical": categorical})
    rows, learned = _count_rows(source, n, test)
    encoding = find_encoding(source, columns, texts == "one_hot", missing == "indicators", categorical)
    cursor = Cursor(source, encoding, tuple(target), gaps == "keep")
    fits = 8.0 * rows * (len(encoding.names) + len(target)) <= IN_MEMORY
    order = None if time is None else order_of_rows(source, time, rows, fits)
    in_memory = cursor.read(0, rows) if fits else None

    def part(start: int, stop: int) -> tuple[Any, Any]:
        """X and y of these rows in their order; y is None without a target."""
        if in_memory is None:
            return View(cursor, 0, start, stop), View(cursor, 1, start, stop) if target else None
        X, y = (a[start:stop] if order is None else a[order[start:stop]] for a in in_memory)
        return X, y if target else None

    return Data(*part(0, learned), part(learned, rows) if test else None, feature_names=encoding.names)


def _count_rows(source: Source, n: int | None, test: float) -> tuple[int, int]:
    """The number of rows that are used, and of those that are learned."""
    if not source.rows:
        raise ValueError(f"{source.name}: the file has no rows")
    rows = source.rows if n is None else n
    if rows > source.rows:
        raise ValueError(f"{source.name}: n={rows}: want at most {source.rows}, the file has no more rows")
    learned = rows - round(test * rows)
    if not 0 < learned <= rows - (test > 0):
        raise ValueError(f"{source.name}: test={test} of {rows} rows leaves no row to learn, or none to test on")
    return rows, learned


def _load_file(path: str, **settings: Any) -> Data:
    return load(open_file(path, _codes(settings)), **settings)


def _codes(settings: Mapping[str, Any]) -> list[str]:
    """The columns that may hold codes: categories, and a target that may be a label."""
    targets = settings["target"] if len(settings["target"]) == 1 and settings["gaps"] != "keep" else []
    return [*settings["categorical"], *targets]


def _features(source: Source, settings: Mapping[str, Any]) -> list[str]:
    """The columns that are learned. ValueError for a column that does not exist, or if none is left."""
    named = {what: Names().check(settings[what] or ()) for what in ("target", "drop", "time", "categorical")}
    for what, names in named.items():
        for name in names:
            if name not in source.kinds:
                several = all(part.strip() in source.kinds for part in name.split(","))
                hint = ". Name each column on its own" if several else suggest(name, source.kinds)
                raise ValueError(f"{source.name}: no column {name!r} ({what}){hint}")
    for name in named["target"]:
        for what, role in (("drop", "left out"), ("time", "the order of the rows")):
            if name in named[what]:
                raise ValueError(
                    f"{source.name}: column {name!r} is named as target and as {what}: it cannot be predicted and be "
                    f"{role}; name it once"
                )
    categorical = named.pop("categorical")
    left_out = {name for names in named.values() for name in names}
    if wrong := [name for name in categorical if name in left_out | source.index]:
        what = next((what for what, names in named.items() if wrong[0] in names), "index")
        raise ValueError(f"{source.name}: column {wrong[0]!r} is named as categorical and as {what}: name it once")
    columns = [name for name in source.kinds if name not in left_out | source.index]
    if not columns:
        index = f", or hold the index of a DataFrame ({quoted(sorted(source.index))})" if source.index else ""
        raise ValueError(f"{source.name}: no column is left to learn: all are target, time or dropped{index}")
    return columns


def _offered(source: Source, targets: Sequence[str], gaps: bool) -> Offers:
    """What y holds; TypeError if the target holds neither numbers nor labels, or, with gaps, anything but numbers."""
    kinds = [source.kinds[name] for name in targets]
    allowed = ("number", "integer", "boolean", *["text"] * (len(targets) == 1 and not gaps))
    if len(kinds) == 1 and kinds[0].startswith(ENCODED) and not gaps:  # categories that are integers or booleans
        return "labels"
    for name, kind in zip(targets, kinds, strict=True):
        if kind not in allowed:
            raise TypeError(f"{source.name}: the target {name!r} is of type {kind}, want one of {', '.join(allowed)}")
    if gaps and kinds:
        return "gaps"
    if len(kinds) != 1:
        return "numbers" if kinds else "rows"
    return "labels" if kinds == ["text"] else "numbers" if kinds == ["number"] else "integers"


FILE = Stream(
    "file",
    "rows of a file: CSV, Parquet, Arrow, Feather, NPY or Zarr, local or by URL",
    _load_file,
    SETTINGS,
    source="the user",
    configure=stream_of_file,
)

"""Labels of cells and formats of numbers, common to tables, figures and pages."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter, defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from orfit_bench.bench.collection import runs
from orfit_bench.bench.variables import stream_names

if TYPE_CHECKING:
    import xarray

LABEL = 24
"""Longest line of a label with settings; longer labels are wrapped, single words are not broken."""


def methods(results: xarray.Dataset, every_model: bool = False) -> list[str]:
    """The method of each cell, with settings and model if cells of that method differ in them.

    With `every_model`, every nonlinear model is named if some cells have a linear one, since a figure has no line below
    it that names the model.
    """
    names, models = ([str(v) for v in results[name].values] for name in ("method", "model"))
    labels = _differing(names, [json.loads(s) for s in results["settings"].values])
    pairs = Counter(name for name, _ in set(zip(names, models, strict=True)))
    several = {name for name, count in pairs.items() if count > 1}
    if every_model and "linear" in models:
        several |= {name for name, model in zip(names, models, strict=True) if model != "linear"}
    given = zip(labels, names, models, strict=True)
    return [f"{label} ({model})" if name in several else label for label, name, model in given]


def streams(results: xarray.Dataset, without: Collection[str] = ()) -> list[str]:
    """The stream of each cell, with settings and seed (except `without`) if cells of that stream differ in them."""
    given = [json.loads(s) for s in results["stream_settings"].values]
    seeded = [{**s, "seed": int(seed)} for s, seed in zip(given, results["seed"].values, strict=True)]
    kept = [{key: value for key, value in s.items() if key not in without} for s in seeded]
    return _differing(stream_names(results), kept)


def conditions(results: xarray.Dataset) -> dict[str, list[str]]:
    """The conditions (protocol, dtype, run) in which cells differ, with their values for every cell."""
    found = {name: [str(v) for v in results[name].values] for name in ("protocol", "dtype")} | {"run": runs(results)}
    return {name: texts for name, texts in found.items() if len(set(texts)) > 1}


def is_ok(results: xarray.Dataset, i: int) -> bool:
    """Whether the cell was measured."""
    return str(results.variables["status"].values[i]) == "ok"  # results["status"] would create a new array: 60 us


def number(results: xarray.Dataset, name: str, i: int) -> float:
    """The value of a cell; NaN if the results have no variable of that name."""
    return float(results.variables[name].values[i]) if name in results.variables else math.nan


def distinct(results: xarray.Dataset, name: str) -> list[str]:
    """The distinct values of a string coordinate, sorted."""
    return sorted({str(v) for v in results[name].values})


def shown(value: float, form: str) -> str:
    """The number as a string: `form` is "B" (bytes), "s" (seconds), "share" (percent) or a Python format."""
    if math.isnan(value):
        return "n/a"
    if form == "B":
        return as_bytes(value)
    if form == "s":
        return as_seconds(value)
    if form == "share":
        return f"{value:.0%}" if value >= 0.0995 else f"{100 * value:.2g}%"
    return format(value, form)


def as_bytes(value: float) -> str:
    """Three digits and a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5 or unit == "GB":
            break
        value /= 1000
    return f"{value:.3g} {unit}"


def as_seconds(value: float) -> str:
    """Three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= 0.9995 * scale or unit == "us":
            break
    return f"{value / scale:.3g} {unit}"


def folded(label: str) -> str:
    """The label wrapped between words; names and values are never broken."""
    return textwrap.fill(label, LABEL, break_long_words=False, break_on_hyphens=False)


def plain(value: Any) -> str:
    """A setting as a user writes it: a constant schedule is shown as a number."""
    if isinstance(value, dict) and list(value) == ["constant"]:
        value = value["constant"]["value"]
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)


def _differing(names: list[str], given: list[dict[str, Any]]) -> list[str]:
    """Each name with the settings in which cells of this name differ."""
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    for n, s in zip(names, given, strict=True):
        for key, value in s.items():
            kinds[n, key].add(json.dumps(value))
    return [
        " ".join([n, *(f"{key}={plain(value)}" for key, value in s.items() if len(kinds[n, key]) > 1)])
        for n, s in zip(names, given, strict=True)
    ]

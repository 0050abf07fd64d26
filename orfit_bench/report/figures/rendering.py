"""All figures of some results: one for each stream, kind of error, protocol and machine."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench.collection import origin, runs
from orfit_bench.report import labels
from orfit_bench.report.figures import cost, forgetting, stream_error, throughput
from orfit_bench.report.figures.style import STYLE, FigureSpec, by, keep_seen_ticks
from orfit_bench.report.plotting import matplotlib

if TYPE_CHECKING:
    import xarray

FIGURES: tuple[FigureSpec, ...] = (stream_error.FIGURE, cost.FIGURE, throughput.FIGURE, forgetting.FIGURE)

LARGEST_TITLE, SMALLEST_TITLE = 11.0, 7.0
"""Sizes of titles, in points."""
WIDTH_OF_POINT = 0.0092
"""Mean width of a bold letter, in inches for each point of its size."""


@dataclass(frozen=True, slots=True)
class RenderedFigure:
    """A figure that was drawn; the caller closes it."""

    name: str
    """A file name without an ending, unique among the figures of the same results."""
    spec: FigureSpec
    stream: str
    figure: Any
    some: str = ""
    """A description of the methods that are drawn; empty if all are drawn."""


@dataclass(frozen=True, slots=True)
class Omitted:
    """A figure that cannot be drawn."""

    name: str
    spec: FigureSpec
    stream: str
    reason: str


def render_figures(results: xarray.Dataset) -> Iterator[RenderedFigure | Omitted]:
    """The figures by stream, including those that cannot be drawn. Raises UnavailableError without matplotlib.

    If a machine has several runs (in a merged file), the latest is drawn.
    """
    prepared = _prepared(results)
    parts = {sizes: _parts(prepared, sizes) for sizes in (False, True)}
    names: set[str] = set()
    with matplotlib().rc_context(STYLE):
        for spec in FIGURES:
            for title, part in parts[spec.sizes].items():
                yield _render(_name(f"{spec.name}-{title}", names), spec, title, part)


def _render(name: str, spec: FigureSpec, title: str, part: xarray.Dataset) -> RenderedFigure | Omitted:
    if reason := spec.missing(part) if part.sizes["cell"] else "none of its cells was measured":
        return Omitted(name, spec, title, reason)
    figure = spec.draw(part)
    keep_seen_ticks(figure)
    count, most = len(by(part, "label")), spec.most(part) if spec.most else math.inf
    _set_title(figure, f"{title} ({most} of {count} methods)" if count > most else title)
    some = f"{most} of {count} methods, {spec.which}" if count > most else ""
    return RenderedFigure(name, spec, title, figure, some)


def _set_title(figure: Any, title: str) -> None:
    """Set the title, in smaller letters and on several lines if it is wider than the figure."""
    width = float(figure.get_size_inches()[0])
    size = min(LARGEST_TITLE, max(SMALLEST_TITLE, width / (WIDTH_OF_POINT * len(title))))
    figure.suptitle(textwrap.fill(title, int(width / (WIDTH_OF_POINT * size))), fontsize=size, fontweight="bold")


def _prepared(results: xarray.Dataset) -> xarray.Dataset:
    """The cells of the latest run of each machine, with `label` and `style` of the method of each, and its `place`."""
    named = np.array(labels.methods(results, every_model=True), dtype=str)
    kinds = results["error"].values  # kinds of error are never mixed in a figure, see `_titles`
    orders = {kind: list(dict.fromkeys(named[kinds == kind])) for kind in set(kinds)}
    styles = [orders[kind].index(label) for kind, label in zip(kinds, named, strict=True)]
    places = ("cell", np.array(_places(results), dtype=str))
    labelled = results.assign_coords(label=("cell", named), style=("cell", styles), place=places)
    return labelled.isel(cell=_latest(results))


def _places(results: xarray.Dataset) -> list[str]:
    """The run and the processor of each cell."""
    machines = zip(runs(results), origin(results, "machine"), strict=True)
    return [f"{run} ({json.loads(machine)['cpu']})" for run, machine in machines]


def _latest(results: xarray.Dataset) -> list[int]:
    """The cells of the latest run of each machine."""
    latest: dict[str, tuple[str, str]] = {}
    runs_of_cells = list(zip(origin(results, "machine"), origin(results, "date"), runs(results), strict=True))
    for machine, date, run in runs_of_cells:
        latest[machine] = max(latest.get(machine, ("", "")), (date, run))
    return [i for i, (machine, _, run) in enumerate(runs_of_cells) if latest[machine][1] == run]


def _parts(prepared: xarray.Dataset, sizes: bool) -> dict[str, xarray.Dataset]:
    """The measured cells by title: by stream (or its size), error, protocol, dtype and machine."""
    titled = prepared.assign_coords(title=("cell", np.array(_titles(prepared, sizes), dtype=str)))
    ok = prepared["status"].values == "ok"
    return {title: titled.isel(cell=[i for i in cells if ok[i]]) for title, cells in by(titled, "title").items()}


def _titles(prepared: xarray.Dataset, sizes: bool) -> list[str]:
    """The title of the figure of each cell; the error is named if a stream has several."""
    streams = labels.streams(prepared, without=("seed", "d") if sizes else ("seed",))
    error, *others = ([str(v) for v in prepared[name].values] for name in ("error", "protocol", "dtype", "place"))
    errors = defaultdict(set)
    for stream, its in zip(streams, error, strict=True):
        errors[stream].add(its)
    named = [its if len(errors[stream]) > 1 else "" for stream, its in zip(streams, error, strict=True)]
    differing = [texts for texts in others if len(set(texts)) > 1]
    return [", ".join(filter(None, parts)) for parts in zip(streams, named, *differing, strict=True)]


def _name(text: str, taken: set[str]) -> str:
    """The text as a file name, with a number appended if it is already taken."""
    plain = re.sub(r"[^A-Za-z0-9_=.]+", "-", text).strip("-.") or "picture"
    name = next(n for k in range(1, len(taken) + 2) if (n := plain if k == 1 else f"{plain}-{k}") not in taken)
    taken.add(name)
    return name

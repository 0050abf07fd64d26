"""Throughput and the roofline limit: bars for one size, lines over several numbers of features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.report.figures.style import (
    COLOURS,
    DASHES,
    HATCHES,
    LINE,
    MARKERS,
    WIDTH,
    FigureSpec,
    Margins,
    as_count,
    by,
    canvas,
    ends,
    legend,
    legend_width,
    log_axis,
    mean,
)
from orfit_bench.report.labels import folded
from orfit_bench.report.plotting import INK

if TYPE_CHECKING:
    import xarray

BARS, PANELS = 30, 12
"""Largest number of methods in a figure, for one size and for several."""
LIMIT = "roofline limit,\none thread"
TITLE = "fastest method first"
"""The title of the legend, which lists the backends by name."""


def missing(part: xarray.Dataset) -> str:
    """The reason why the figure cannot be drawn; empty if it can."""
    return "" if np.isfinite(part["throughput"].values).any() else "no throughput was measured"


def draw(part: xarray.Dataset) -> Any:
    """Draw a bar for each method and backend, or one panel per method if several sizes were run."""
    speed, found = part["throughput"].values, by(part, "label")
    ordered = sorted(found, key=lambda label: -np.nanmax(speed[found[label]], initial=0.0))
    return (_bars if _most(part) == BARS else _panels)(part, ends(ordered, _most(part)))


def _most(part: xarray.Dataset) -> int:
    return BARS if len(set(part["d"].values)) == 1 else PANELS


def _bars(part: xarray.Dataset, ordered: list[str]) -> Any:
    backends, names = sorted(by(part, "backend")), [folded(label) for label in ordered]
    letters = max(len(line) for name in names for line in name.splitlines())
    margins = Margins(left=0.3 + WIDTH * letters, right=legend_width([*backends, LIMIT, TITLE]))
    figure, ((axes,),) = canvas(5.2, max(0.36, 0.1 + LINE * _lines(names)) * max(3, len(ordered)), margins)
    thick = 0.8 / len(backends)
    at = np.arange(len(ordered))
    for k, backend in enumerate(backends):
        rates = [_mean(part, "throughput", label, backend) for label in ordered]
        place = at + (k - (len(backends) - 1) / 2) * thick
        shape = {"hatch": HATCHES[k % len(HATCHES)], "edgecolor": INK, "linewidth": 0.4}
        axes.barh(place, rates, thick, label=backend, color=COLOURS[k % len(COLOURS)], **shape)
    limits = mean(np.array([[_limit(part, label, b) for label in ordered] for b in backends]))
    known = np.isfinite(limits)
    if known.any():
        axes.scatter(limits[known], at[known], marker="|", s=160, linewidths=2, color=INK, label=LIMIT)
    axes.set_yticks(at, names)
    axes.set_ylim(max(3, len(ordered)) - 0.5, -0.5)
    log_axis(axes.xaxis, as_count)
    axes.set_xlabel("samples/s")
    axes.grid(visible=False, axis="y")
    legend(figure, margins, TITLE)
    return figure


def _panels(part: xarray.Dataset, ordered: list[str]) -> Any:
    columns = min(4, len(ordered))
    rows = math.ceil(len(ordered) / columns)
    backends, names = sorted(by(part, "backend")), [folded(label) for label in ordered]
    margins = Margins(
        right=legend_width([*backends, LIMIT, TITLE]),
        top=0.4 + LINE * _lines(names),
        across=0.15,
        down=0.15 + LINE * _lines(names),
    )
    figure, axes = canvas(1.7, 1.7, margins, rows, columns, sharex=True, sharey=True)
    for place, label in zip(axes.flat, ordered, strict=False):
        for k, backend in enumerate(backends):
            sizes, rates = _over_sizes(part, "throughput", label, backend)
            style = {
                "color": COLOURS[k % len(COLOURS)],
                "linestyle": DASHES[k % len(DASHES)],
                "marker": MARKERS[k % len(MARKERS)],
            }
            place.plot(sizes, rates, label=backend if place is axes.flat[0] else None, **style)
        sizes, limits = _limits_over_sizes(part, label)
        place.plot(sizes, limits, label=LIMIT if place is axes.flat[0] else None, color=INK, dashes=(1, 1.5))
        place.set_title(folded(label), fontsize=9)
    log_axis(axes[0, 0].xaxis, as_count)
    log_axis(axes[0, 0].yaxis, as_count)
    for place in axes[-1]:
        place.set_xlabel("features")
    for place in axes[:, 0]:
        place.set_ylabel("samples/s")
    for empty in axes.flat[len(ordered) :]:
        empty.set_axis_off()
    legend(figure, margins, TITLE)
    return figure


def _lines(names: list[str]) -> int:
    return max(1 + name.count("\n") for name in names)


def _cells(part: xarray.Dataset, label: str, backend: str) -> NDArray[Any]:
    return np.flatnonzero((part["label"].values == label) & (part["backend"].values == backend))


def _mean(part: xarray.Dataset, name: str, label: str, backend: str) -> float:
    cells = _cells(part, label, backend)
    return float(mean(part[name].values[cells])) if cells.size else np.nan


def _limit(part: xarray.Dataset, label: str, backend: str) -> float:
    return _mean(part, "throughput", label, backend) / _mean(part, "share_of_limit", label, backend)


def _over_sizes(part: xarray.Dataset, name: str, label: str, backend: str) -> tuple[NDArray[Any], NDArray[Any]]:
    cells = _cells(part, label, backend)
    sizes = part["d"].values[cells]
    values = part[name].values[cells]
    known = np.unique(sizes)
    return known, np.array([mean(values[sizes == size]) for size in known])


def _limits_over_sizes(part: xarray.Dataset, label: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The roofline limit of a method by number of features, which is the same on every backend."""
    for backend in by(part, "backend"):
        sizes, shares = _over_sizes(part, "share_of_limit", label, backend)
        if np.isfinite(shares).any():
            return sizes, _over_sizes(part, "throughput", label, backend)[1] / shares
    return np.empty(0), np.empty(0)


FIGURE = FigureSpec(
    "throughput",
    "Throughput",
    "Samples learned per second, and the roofline limit of one thread for the declared cost of the method.",
    missing,
    draw,
    sizes=True,
    most=_most,
    which="the fastest and the slowest",
)

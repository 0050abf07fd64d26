"""Throughput beside the machine's limit: bars of one size, lines over several numbers of features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.report.figures.picture import (
    COLOURS,
    DASHES,
    HATCHES,
    LINE,
    MARKERS,
    WIDTH,
    Margins,
    Picture,
    as_count,
    beside,
    by,
    canvas,
    ends,
    legend,
    log_axis,
    mean,
)
from orfit_bench.report.labels import folded
from orfit_bench.report.pictures import INK

if TYPE_CHECKING:
    import xarray

BARS, PANELS = 30, 12
"""Most methods of one picture, of one size or of several."""
LIMIT = "limit of the machine,\none thread"


def missing(part: xarray.Dataset) -> str:
    """Why there is nothing to draw."""
    return "" if np.isfinite(part["samples_per_second"].values).any() else "no throughput was measured"


def draw(part: xarray.Dataset) -> Any:
    """The figure: a bar for each method on each backend, or a panel a method where several sizes were run."""
    speed, found = part["samples_per_second"].values, by(part, "label")
    ordered = sorted(found, key=lambda label: -np.nanmax(speed[found[label]], initial=0.0))
    return (_bars if _most(part) == BARS else _panels)(part, ends(ordered, _most(part)))


def _most(part: xarray.Dataset) -> int:
    return BARS if len(set(part["d"].values)) == 1 else PANELS


def _bars(part: xarray.Dataset, ordered: list[str]) -> Any:
    backends, names = sorted(by(part, "backend")), [folded(label) for label in ordered]
    letters = max(len(line) for name in names for line in name.splitlines())
    margins = Margins(left=0.3 + WIDTH * letters, right=beside([*backends, LIMIT]))
    figure, ((axes,),) = canvas(5.2, max(0.36, 0.1 + LINE * _lines(names)) * max(3, len(ordered)), margins)
    thick = 0.8 / len(backends)
    at = np.arange(len(ordered))
    for k, backend in enumerate(backends):
        rates = [_mean(part, "samples_per_second", label, backend) for label in ordered]
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
    axes.set_xlabel("throughput, samples/s")
    axes.grid(visible=False, axis="y")
    legend(figure, margins, "fastest first")
    return figure


def _panels(part: xarray.Dataset, ordered: list[str]) -> Any:
    columns = min(4, len(ordered))
    rows = math.ceil(len(ordered) / columns)
    backends, names = sorted(by(part, "backend")), [folded(label) for label in ordered]
    margins = Margins(
        right=beside([*backends, LIMIT]), top=0.4 + LINE * _lines(names), across=0.15, down=0.15 + LINE * _lines(names)
    )
    figure, axes = canvas(1.7, 1.7, margins, rows, columns, sharex=True, sharey=True)
    for place, label in zip(axes.flat, ordered, strict=False):
        for k, backend in enumerate(backends):
            sizes, rates = _over_sizes(part, "samples_per_second", label, backend)
            look = {"color": COLOURS[k], "linestyle": DASHES[k % len(DASHES)], "marker": MARKERS[k % len(MARKERS)]}
            place.plot(sizes, rates, label=backend if place is axes.flat[0] else None, **look)
        sizes, limits = _limits_over_sizes(part, label)
        place.plot(sizes, limits, label=LIMIT if place is axes.flat[0] else None, color=INK, dashes=(1, 1.5))
        place.set_title(folded(label), fontsize=9)
    log_axis(axes[0, 0].xaxis, as_count)
    log_axis(axes[0, 0].yaxis, as_count)
    for place in axes[-1]:
        place.set_xlabel("features")
    for place in axes[:, 0]:
        place.set_ylabel("throughput, samples/s")
    for empty in axes.flat[len(ordered) :]:
        empty.set_axis_off()
    legend(figure, margins, "fastest first")
    return figure


def _lines(names: list[str]) -> int:
    return max(1 + name.count("\n") for name in names)


def _cells(part: xarray.Dataset, label: str, backend: str) -> NDArray[Any]:
    return np.flatnonzero((part["label"].values == label) & (part["backend"].values == backend))


def _mean(part: xarray.Dataset, name: str, label: str, backend: str) -> float:
    cells = _cells(part, label, backend)
    return float(mean(part[name].values[cells])) if cells.size else np.nan


def _limit(part: xarray.Dataset, label: str, backend: str) -> float:
    return _mean(part, "samples_per_second", label, backend) / _mean(part, "share_of_limit", label, backend)


def _over_sizes(part: xarray.Dataset, name: str, label: str, backend: str) -> tuple[NDArray[Any], NDArray[Any]]:
    cells = _cells(part, label, backend)
    sizes = part["d"].values[cells]
    values = part[name].values[cells]
    known = np.unique(sizes)
    return known, np.array([mean(values[sizes == size]) for size in known])


def _limits_over_sizes(part: xarray.Dataset, label: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The machine's limit of a method by its features: the same on every backend."""
    for backend in by(part, "backend"):
        sizes, shares = _over_sizes(part, "share_of_limit", label, backend)
        if np.isfinite(shares).any():
            return sizes, _over_sizes(part, "samples_per_second", label, backend)[1] / shares
    return np.empty(0), np.empty(0)


PICTURE = Picture(
    "throughput",
    "Throughput",
    "Throughput, in samples/s, beside what the machine allows one thread at the declared cost of a sample.",
    missing,
    draw,
    sizes=True,
    most=_most,
    which="the fastest and the slowest",
)

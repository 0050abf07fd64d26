"""Forgetting: the error on every earlier task after each task, one heat map per method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.report.figures.style import (
    LINE,
    FigureSpec,
    Margins,
    as_error,
    by,
    canvas,
    ends,
    mean,
    one_backend,
    reason_unknown,
    wide,
)
from orfit_bench.report.labels import folded
from orfit_bench.report.plotting import INK

if TYPE_CHECKING:
    import xarray

COLUMNS = 5
MAPS = 20
"""Largest number of heat maps in a figure."""
SIDE, GAP = 1.35, 0.45
"""Size of a map and distance between maps, in inches."""
SPAN = 100.0
"""The colour scale extends from the median divided by this to the median times this; exact fits lie far below."""


def missing(part: xarray.Dataset) -> str:
    """The reason why the figure cannot be drawn; empty if it can."""
    return reason_unknown(part["task_error"].values, "the stream has no tasks")


def draw(part: xarray.Dataset) -> Any:
    """Draw one map per method on a common colour scale, in order of increasing forgetting.

    All maps are drawn in one axes object, since one for each would be ten times slower in matplotlib.
    """
    found = {label: one_backend(part, cells) for label, cells in by(part, "label").items()}
    forgotten = {label: float(mean(part["forgetting"].values[cells])) for label, cells in found.items()}
    known = sorted((label for label in found if not math.isnan(forgotten[label])), key=lambda label: forgotten[label])
    ordered = [*ends(known, MAPS), *(label for label in found if label not in known)][:MAPS]
    maps = {label: _matrix(part["task_error"].values[found[label]]) for label in ordered}
    columns = min(COLUMNS, len(ordered))
    rows = math.ceil(len(ordered) / columns)
    names = [folded(label) for label in ordered]
    above = 0.15 + 0.9 * LINE * max(2 + name.count("\n") for name in names)
    pitch, fall = SIDE + GAP, SIDE + 0.25 + above
    margins = Margins(left=0.6, right=1.3, bottom=0.2, top=0.3 + above)
    figure, ((axes,),) = canvas(columns * pitch - GAP, rows * SIDE + (rows - 1) * (fall - SIDE), margins)
    axes.set_axis_off()
    norm = _norm(list(maps.values()))
    options = {"norm": norm, "cmap": "viridis", "interpolation": "none", "aspect": "auto"}
    frames = []  # as a single line, interrupted by NaN, which is much faster than one line per frame
    for place, (label, name) in enumerate(zip(ordered, names, strict=True)):
        x, y = place % columns * pitch, place // columns * fall
        shown = np.clip(maps[label], norm.vmin, norm.vmax)  # imshow would leave infinite errors blank
        image = axes.imshow(shown, extent=(x, x + SIDE, y + SIDE, y), **options)
        axes.text(x, y - 0.06, f"{name}\n{_described(forgotten[label])}", fontsize=7.5, va="bottom")
        frames += [(x, y), (x, y + SIDE), (x + SIDE, y + SIDE), (np.nan, np.nan)]
    axes.plot(*zip(*frames, strict=True), color=INK, linewidth=0.6)
    axes.set(xlim=(-0.02, columns * pitch - GAP), ylim=(rows * SIDE + (rows - 1) * (fall - SIDE) + 0.02, -0.02))
    axes.text(-0.1, SIDE / 2, "after task", rotation=90, ha="right", va="center", fontsize=8)
    axes.text(0, SIDE + 0.04, "error on task", va="top", fontsize=8)
    _bar(figure, image, margins)
    return figure


def _matrix(runs: NDArray[Any]) -> NDArray[Any]:
    """The mean over seeds, without tasks that exist only in other streams of the file."""
    values = mean(runs)
    tasks = int((~np.isnan(values)).any(axis=1).sum())
    return values[:tasks, :tasks]


def _norm(maps: list[NDArray[Any]]) -> Any:
    from matplotlib import colors

    values = np.concatenate([m[np.isfinite(m)] for m in maps])
    low, high = values.min(), values.max()
    if not wide(values):
        return colors.Normalize(low, high)
    middle = float(np.median(values))
    return colors.LogNorm(max(low, middle / SPAN), min(high, middle * SPAN))


def _bar(figure: Any, image: Any, margins: Margins) -> None:
    """The colour scale, in the right margin, with few ticks."""
    from matplotlib import ticker

    width, height = figure.get_size_inches()
    place = figure.add_axes((1 - (margins.right - 0.2) / width, margins.bottom / height, 0.16 / width, 1.35 / height))
    low, high = image.norm.vmin, image.norm.vmax
    ticks = np.geomspace(low, high, 4) if low > 0 and high / low > 30 else np.linspace(low, high, 4)
    bar = figure.colorbar(image, cax=place, ticks=ticks, format=ticker.FuncFormatter(lambda v, _: as_error(v)))
    bar.ax.minorticks_off()
    place.set_title("error on\nthe task's rows", fontsize=8, loc="left")


ROUNDING = 1e-12
"""Forgetting below this is rounding."""


def _described(forgotten: float) -> str:
    return "n/a" if math.isnan(forgotten) else f"forgetting {as_error(forgotten if abs(forgotten) > ROUNDING else 0.0)}"


FIGURE = FigureSpec(
    "forgetting",
    "Forgetting",
    "The error on each task (columns) after each later task (rows, downwards). The diagonal shows the task just "
    "learned; a column that becomes brighter downwards is a task that is being forgotten. Errors more than a hundred "
    "times below or above the median are drawn in the colours at the ends of the scale.",
    missing,
    draw,
    most=lambda part: MAPS,
    which="those with the least and the most forgetting",
)

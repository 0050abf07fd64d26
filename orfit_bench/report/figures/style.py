"""Common parts of the figures: styles of methods, selection of cells, axes and legends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.report.plotting import INK

if TYPE_CHECKING:
    import xarray

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
"""The palette of Okabe and Ito for colour-blind readers, without the yellow, which is faint on white."""
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
HATCHES = ("", "////", "....", "xxxx")
GREY = "#8C8C8C"
STYLE = {
    "text.parse_math": False,  # a name may contain dollars
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GREY,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.6,
}
WIDTH, LINE = 0.085, 0.15
"""Width of a letter and height of a line, in inches."""
SUBS = (500.0, (1.0,)), (10.0, (1.0, 3.0)), (4.0, (1.0, 2.0, 5.0)), (0.0, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
"""Ticks of a logarithmic axis, as multiples of powers of ten, by the ratio of its ends."""
NAMED = 14
"""Largest number of methods with their own style and legend entry; more could not be distinguished."""
WIDE_RATIO = 30.0
"""An axis is logarithmic if its values differ by more than this factor."""


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A kind of figure of the results of one stream, as prepared by `render_figures`."""

    name: str
    """The beginning of its file name."""
    heading: str
    caption: str
    """A description that is valid for every stream."""
    missing: Callable[[xarray.Dataset], str]
    """Returns the reason why these results cannot be drawn; empty if they can."""
    draw: Callable[[xarray.Dataset], Any]
    """Returns the figure, without a title."""
    sizes: bool = False
    """Whether one figure shows all numbers of features."""
    most: Callable[[xarray.Dataset], int] | None = None
    """Returns the largest number of methods in the figure (of more, the `ends` are shown); None if it shows all."""
    which: str = ""
    """A description of the `ends`."""


def ends(ordered: list[str], most: int) -> list[str]:
    """All of them, or the first and last `most` // 2: showing only the best would be misleading."""
    return ordered if len(ordered) <= most else ordered[: most - most // 2] + ordered[-(most // 2) :]


def by(part: xarray.Dataset, name: str) -> dict[str, list[int]]:
    """The cells grouped by the values of a string coordinate, in order of first occurrence."""
    found: dict[str, list[int]] = {}
    for i, text in enumerate(part[name].values):
        found.setdefault(str(text), []).append(i)
    return found


def one_backend(part: xarray.Dataset, cells: list[int]) -> list[int]:
    """The cells of the first backend: the result of learning does not depend on the backend."""
    backends = part["backend"].values
    return [i for i in cells if backends[i] == backends[cells[0]]]


def mean(values: NDArray[Any]) -> NDArray[Any]:
    """The mean over the first axis, ignoring NaN; NaN if all values are NaN."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    means: NDArray[Any] = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def reason_unknown(values: NDArray[Any], absent: str) -> str:
    """Why none of these errors can be drawn: `absent` if there are none; empty if one is finite."""
    if np.isfinite(values).any():
        return ""
    return absent if np.isnan(values).all() else "no error is finite"


def style_of(part: xarray.Dataset, cell: int) -> dict[str, Any]:
    """Colour, dash and marker of the method of a cell, the same in all figures of these results."""
    i = int(part["style"].values[cell])
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


class Margins(NamedTuple):
    """Margins around and between the axes in inches, set by hand because automatic layouts draw everything twice."""

    left: float = 0.75
    right: float = 0.2
    bottom: float = 0.5
    top: float = 0.4
    across: float = 0.3
    """The distance between columns of axes."""
    down: float = 0.3
    """The distance between rows."""


def canvas(width: float, height: float, margins: Margins, rows: int = 1, columns: int = 1, **more: Any) -> Any:
    """A figure with a grid (rows, columns) of axes of the given size in inches, and margins around them."""
    total_width = margins.left + columns * width + (columns - 1) * margins.across + margins.right
    tall = margins.bottom + rows * height + (rows - 1) * margins.down + margins.top
    place = {
        "left": margins.left / total_width,
        "right": 1 - margins.right / total_width,
        "bottom": margins.bottom / tall,
        "top": 1 - margins.top / tall,
        "wspace": margins.across / width,
        "hspace": margins.down / height,
    }
    from matplotlib.figure import Figure  # pyplot would double the import time

    figure = Figure(figsize=(total_width, tall))
    axes = figure.subplots(rows, columns, gridspec_kw=place, squeeze=False, **more)
    for one in axes.flat:
        one.locator_params(nbins=6)  # drawing ticks takes half of the time, placing their labels a fifth
        one.xaxis.set_label_coords(0.5, -0.29 / height)
        one.yaxis.set_label_coords(-(margins.left - 0.25) / width, 0.5)
    return figure, axes


def legend_width(names: Iterable[str]) -> float:
    """Width in inches of a legend of these names, to the right of the axes."""
    return 0.95 + WIDTH * max((len(line) for name in names for line in name.splitlines()), default=0)


def height_of(names: Iterable[str]) -> float:
    """Height in inches of a legend of these names, including its title."""
    return 0.35 + sum(0.09 + LINE * (1 + name.count("\n")) for name in names)


def legend(figure: Any, margins: Margins, title: str, **more: Any) -> None:
    """The legend, in the right margin."""
    width, height = figure.get_size_inches()
    corner = (1 - (margins.right - 0.3) / width, 1 - (margins.top - 0.1) / height)
    figure.legend(loc="upper left", bbox_to_anchor=corner, borderaxespad=0, title=title, alignment="left", **more)


def log_axis(axis: Any, form: Callable[[float], str]) -> None:
    """Make the axis logarithmic, with few ticks, formatted by `form`, and no minor ticks.

    It stays linear if all values are within a factor of two, since there would be no ticks otherwise.
    """
    from matplotlib import ticker

    low, high = float(axis.get_minpos()), float(max(axis.get_data_interval()))  # bars begin at 0
    axis.set_major_locator(ticker.MaxNLocator(4))
    if high > 2 * low:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        subs = next(subs for factor, subs in SUBS if high > factor * low)
        axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=7))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: form(value)))


def keep_seen_ticks(figure: Any) -> None:
    """Keep only the visible ticks: matplotlib creates all ticks of a locator, at a millisecond each."""
    from matplotlib import ticker

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            if not isinstance(axis.get_major_locator(), ticker.FixedLocator):
                low, high = sorted(axis.get_view_interval())
                slack = 1e-9 * (high - low)
                seen = [at for at in axis.get_majorticklocs() if low - slack <= at <= high + slack]
                axis.set_major_locator(ticker.FixedLocator(seen))


def as_count(value: float) -> str:
    """A number of rows with three digits."""
    for letter, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            return f"{value / scale:.3g}{letter}"
    return f"{value:.3g}"


def as_error(value: float) -> str:
    """An error with three digits."""
    return f"{value:.3g}"


def wide(values: Any) -> bool:
    """Whether the values need a logarithmic axis."""
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    return bool(known.size) and known.min() > 0 and known.max() / known.min() > WIDE_RATIO

"""What the pictures share: how a method looks, which cells are drawn, and where a picture begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.report.pictures import INK

if TYPE_CHECKING:
    import xarray

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
"""Okabe and Ito's, which the colour-blind tell apart, without the yellow, which is lost on a white page."""
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
HATCHES = ("", "////", "....", "xxxx")
GREY = "#8C8C8C"
STYLE = {
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
"""Inches of a letter, and of a line."""
SUBS = (500.0, (1.0,)), (10.0, (1.0, 3.0)), (4.0, (1.0, 2.0, 5.0)), (0.0, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
"""Where the ends of a logarithmic axis differ by more than a factor: which multiples of powers of ten have a tick."""
NAMED = 14
"""Most methods of one picture that have a line of the legend: the best; more cannot be told apart."""
WIDE_RATIO = 30.0
"""An axis whose numbers differ by more than this factor is logarithmic."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A kind of picture of one stream's results, which `plates` prepares for it."""

    name: str
    """Begins the name of its file."""
    heading: str
    caption: str
    """What is drawn, in words that fit every stream."""
    missing: Callable[[xarray.Dataset], str]
    """Why these results cannot be drawn; empty where they can."""
    draw: Callable[[xarray.Dataset], Any]
    """The figure, without a title."""
    sizes: bool = False
    """Whether one picture shows all numbers of features at once."""
    most: Callable[[xarray.Dataset], int] | None = None
    """How many methods it can show, of more the `ends`; None where it shows all."""
    which: str = ""
    """Which methods the `ends` are."""


def ends(ordered: list[str], most: int) -> list[str]:
    """All, or of more than `most` the first and the last: a picture of the best alone would flatter."""
    return ordered if len(ordered) <= most else ordered[: most - most // 2] + ordered[-(most // 2) :]


def by(part: xarray.Dataset, name: str) -> dict[str, list[int]]:
    """The cells by the texts of a coordinate, in order of their first."""
    found: dict[str, list[int]] = {}
    for i, text in enumerate(part[name].values):
        found.setdefault(str(text), []).append(i)
    return found


def one_backend(part: xarray.Dataset, cells: list[int]) -> list[int]:
    """Those cells of the first backend: what is learned does not depend on what computes it."""
    backends = part["backend"].values
    return [i for i in cells if backends[i] == backends[cells[0]]]


def mean(values: NDArray[Any]) -> NDArray[Any]:
    """The mean over the first axis of what is known, NaN where nothing is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    means: NDArray[Any] = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def look(part: xarray.Dataset, cell: int) -> dict[str, Any]:
    """Colour, dash and marker of the cell's method, the same in all pictures of these results."""
    i = int(part["look"].values[cell])
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


class Margins(NamedTuple):
    """Inches around the axes, and between them: placed by hand, for matplotlib's own layouts draw everything twice."""

    left: float = 0.75
    right: float = 0.2
    bottom: float = 0.5
    top: float = 0.4
    across: float = 0.3
    """Between columns of axes."""
    down: float = 0.3
    """Between rows."""


def canvas(width: float, height: float, margins: Margins, rows: int = 1, columns: int = 1, **more: Any) -> Any:
    """A figure with a grid of axes, (rows, columns), of so many inches each, and the margins around."""
    whole = margins.left + columns * width + (columns - 1) * margins.across + margins.right
    tall = margins.bottom + rows * height + (rows - 1) * margins.down + margins.top
    place = {
        "left": margins.left / whole,
        "right": 1 - margins.right / whole,
        "bottom": margins.bottom / tall,
        "top": 1 - margins.top / tall,
        "wspace": margins.across / width,
        "hspace": margins.down / height,
    }
    from matplotlib.figure import Figure  # pyplot would double the time that the import takes

    figure = Figure(figsize=(whole, tall))
    axes = figure.subplots(rows, columns, gridspec_kw=place, squeeze=False, **more)
    for one in axes.flat:
        one.locator_params(nbins=6)  # half of the time goes into ticks, and a fifth into the labels' places beside them
        one.xaxis.set_label_coords(0.5, -0.29 / height)
        one.yaxis.set_label_coords(-(margins.left - 0.25) / width, 0.5)
    return figure, axes


def beside(names: Iterable[str]) -> float:
    """Inches that a legend of these names takes at the right of the axes."""
    return 0.95 + WIDTH * max((len(line) for name in names for line in name.splitlines()), default=0)


def height_of(names: Iterable[str]) -> float:
    """Inches that a legend of these names is high, title included."""
    return 0.35 + sum(0.09 + LINE * (1 + name.count("\n")) for name in names)


def legend(figure: Any, margins: Margins, title: str, **more: Any) -> None:
    """The legend, in the right margin."""
    width, height = figure.get_size_inches()
    corner = (1 - (margins.right - 0.3) / width, 1 - (margins.top - 0.1) / height)
    figure.legend(loc="upper left", bbox_to_anchor=corner, borderaxespad=0, title=title, alignment="left", **more)


def log_axis(axis: Any, form: Callable[[float], str]) -> None:
    """Make the axis logarithmic, with few ticks, each written by `form`: neither powers nor minor ticks crowd it.

    Where all that is drawn lies within a factor of two it stays linear, or there would be no tick at all.
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
    """Fix the ticks at those that are seen: matplotlib makes all that a locator names, a millisecond for each."""
    from matplotlib import ticker

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            if not isinstance(axis.get_major_locator(), ticker.FixedLocator):
                low, high = sorted(axis.get_view_interval())
                slack = 1e-9 * (high - low)
                seen = [at for at in axis.get_majorticklocs() if low - slack <= at <= high + slack]
                axis.set_major_locator(ticker.FixedLocator(seen))


def as_count(value: float) -> str:
    """A number of rows in three digits."""
    for letter, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            return f"{value / scale:.3g}{letter}"
    return f"{value:.3g}"


def as_error(value: float) -> str:
    """An error in three digits."""
    return f"{value:.3g}"


def wide(values: Any) -> bool:
    """Whether the numbers want a logarithmic axis."""
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    return bool(known.size) and known.min() > 0 and known.max() / known.min() > WIDE_RATIO

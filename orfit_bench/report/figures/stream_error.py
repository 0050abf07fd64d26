"""Test error along the stream: one line per method, with a confidence interval if several seeds were run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.bench.statistics import estimate
from orfit_bench.report.figures.style import (
    GREY,
    NAMED,
    FigureSpec,
    Margins,
    as_error,
    by,
    canvas,
    height_of,
    legend,
    legend_width,
    log_axis,
    mean,
    one_backend,
    reason_unknown,
    style_of,
    wide,
)
from orfit_bench.report.labels import folded

if TYPE_CHECKING:
    import xarray

MORE = "more, with larger final error"


def missing(part: xarray.Dataset) -> str:
    """The reason why the figure cannot be drawn; empty if it can."""
    return reason_unknown(part["test_error_trajectory"].values, "the stream has no test set")


def draw(part: xarray.Dataset) -> Any:
    """Draw the test error against the number of learned rows, methods in order of their final error."""
    lines = {label: one_backend(part, cells) for label, cells in by(part, "label").items()}
    errors = {label: _runs(part, "test_error_trajectory", cells) for label, cells in lines.items()}
    ordered = sorted(lines, key=lambda label: np.nan_to_num(_last(errors[label]), nan=np.inf))
    names = [*map(folded, ordered[:NAMED]), MORE]
    margins = Margins(left=1.0, right=legend_width(names))
    figure, ((axes,),) = canvas(6, max(3.2, height_of(names)), margins)
    for place, label in enumerate(ordered):
        rows, runs = mean(_runs(part, "rows_learned", lines[label])), errors[label]
        if place < NAMED:
            style, seen = style_of(part, lines[label][0]), np.flatnonzero(np.isfinite(rows + mean(runs)))
            marked = seen[place % min(4, max(1, len(seen))) :: 4].tolist()
            axes.plot(rows, mean(runs), label=folded(label), markevery=marked, **style)
            _interval(axes, rows, runs, style["color"])
        else:
            others = f"{len(ordered) - NAMED} {MORE}" if place == NAMED else None
            axes.plot(rows, mean(runs), label=others, color=GREY, linewidth=0.7, alpha=0.7)
    if wide([value for runs in errors.values() for value in mean(runs)]):
        log_axis(axes.yaxis, as_error)
    axes.set_xlabel("rows learned")
    axes.set_ylabel(f"{part['error'].values[0]}, test set")
    legend(figure, margins, "best final error first")
    return figure


def _runs(part: xarray.Dataset, name: str, cells: list[int]) -> NDArray[Any]:
    values: NDArray[Any] = part[name].values[cells]
    return values


def _last(runs: NDArray[Any]) -> float:
    known = mean(runs)
    known = known[~np.isnan(known)]
    return float(known[-1]) if known.size else np.nan


def _interval(axes: Any, rows: NDArray[Any], runs: NDArray[Any], colour: str) -> None:
    if len(runs) < 2:
        return
    found = [estimate(column) for column in runs.T]
    low, high = ([e.mean + sign * e.half for e in found] for sign in (-1, 1))
    axes.fill_between(rows, low, high, color=colour, alpha=0.15, linewidth=0)


FIGURE = FigureSpec(
    "error",
    "Error along the stream",
    "Test error against the number of learned rows. Bands, with several seeds, are 95 % intervals of the mean.",
    missing,
    draw,
)

"""Final error against time per sample and against memory, with the Pareto front."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
    reason_unknown,
    style_of,
    wide,
)
from orfit_bench.report.labels import as_bytes, as_seconds, folded
from orfit_bench.report.plotting import INK, PAPER

if TYPE_CHECKING:
    import xarray


AXES = ("seconds", "memory"), ("time per sample", "peak memory"), (as_seconds, as_bytes)
"""For each panel: the field of a point, its label and its format."""
SIGNS = ("", ".", "_", "|", "x")
"""Marks inside a marker that identify the backend."""


class Point(NamedTuple):
    """A method on a backend, mean over seeds."""

    label: str
    backend: str
    cell: int
    error: float
    seconds: float
    """per sample"""
    memory: float
    """peak memory in bytes, host and device together"""


def missing(part: xarray.Dataset) -> str:
    """The reason why the figure cannot be drawn; empty if it can."""
    if any(_points(part)):
        return ""
    return reason_unknown(part["test_error"].values, "the stream has no test set") or "nothing was timed"


def draw(part: xarray.Dataset) -> Any:
    """Draw two panels with a common error axis; a line connects the backends of a method."""
    points = list(_points(part))
    ordered = list(dict.fromkeys(p.label for p in sorted(points, key=lambda p: p.error)))
    backends = sorted({p.backend for p in points})
    more = [f"{len(ordered) - NAMED} more, worse"] * (len(ordered) > NAMED)
    names = [*map(folded, ordered[:NAMED]), *more, *(f"on {backend}" for backend in backends), "Pareto front"]
    margins = Margins(left=1.0, right=legend_width(names), across=0.65)
    figure, (panels,) = canvas(3.2, max(3.2, height_of(names)), margins, 1, 2, sharey=True)
    for axes, name, label, form in zip(panels, *AXES, strict=True):
        handles = [*_methods(axes, part, points, ordered, name), *_backends(axes, points, backends, name)]
        handles += _front(axes, [(getattr(p, name), p.error) for p in points])
        log_axis(axes.xaxis, form)
        axes.set_xlabel(label)
    if wide([p.error for p in points]):
        log_axis(panels[0].yaxis, as_error)
    panels[0].set_ylabel(f"{part['error'].values[0]}, test set")
    legend(figure, margins, "best first", handles=handles, labels=names)
    return figure


def _points(part: xarray.Dataset) -> Iterator[Point]:
    memory = part["host_memory"].values + np.nan_to_num(part["device_memory"].values)
    errors, seconds, on = (part[name].values for name in ("test_error", "seconds_per_sample", "backend"))
    for label, cells in by(part, "label").items():
        for backend in dict.fromkeys(on[cells]):
            mine = [i for i in cells if on[i] == backend]
            point = Point(label, str(backend), mine[0], *(float(mean(v[mine])) for v in (errors, seconds, memory)))
            if np.isfinite([point.error, point.seconds]).all():
                yield point


def _methods(
    axes: Any, part: xarray.Dataset, points: list[Point], ordered: list[str], name: str
) -> Iterator[tuple[Any, ...]]:
    """A marker for each backend of each method, connected by a thin line; yields the legend handles."""
    for place, label in enumerate(ordered):
        mine = [p for p in points if p.label == label]
        shape = style_of(part, mine[0].cell) if place < NAMED else {"color": GREY, "marker": "."}
        where = [getattr(p, name) for p in mine]
        drawn = axes.plot(
            where, [p.error for p in mine], **shape | {"linestyle": "-", "linewidth": 0.7, "markersize": 6}
        )
        if place <= NAMED:
            yield tuple(drawn)


def _backends(axes: Any, points: list[Point], backends: list[str], name: str) -> Iterator[tuple[Any, ...]]:
    """Mark the backend inside each marker, except the first backend; yields the legend handles."""
    for k, backend in enumerate(backends):
        mine = [p for p in points if p.backend == backend]
        where, sign = [getattr(p, name) for p in mine], SIGNS[k % len(SIGNS)]
        plain = {"linestyle": "", "marker": sign, "color": PAPER, "markersize": 4.5}
        drawn = axes.plot(where, [p.error for p in mine], zorder=4, **plain) if sign else []
        yield (*axes.plot([], [], "o", color=INK, markersize=6), *drawn)


def _front(axes: Any, points: list[tuple[float, float]]) -> list[tuple[Any, ...]]:
    """The points that are not dominated, connected by steps."""
    best: list[tuple[float, float]] = []
    for x, error in sorted(points):
        if not best or error < best[-1][1]:
            best.append((x, error))
    line = {"color": INK, "linewidth": 1.0, "dashes": (4, 2)}
    return [tuple(axes.step(*zip(*best, strict=True), where="post", zorder=0, **line))]


FIGURE = FigureSpec(
    "cost",
    "Error, time and memory",
    "Final test error against the time per sample when learning in chunks (left) and against peak memory (right). No "
    "method lies below and to the left of the Pareto front; a line connects the backends of a method.",
    missing,
    draw,
)

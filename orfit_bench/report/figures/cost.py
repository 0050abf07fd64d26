"""What an error costs: the error at the end against the time of a row and the memory, with the Pareto front."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orfit_bench.report.figures.picture import (
    FILLS,
    GREY,
    NAMED,
    Margins,
    Picture,
    as_error,
    beside,
    by,
    canvas,
    legend,
    log_axis,
    look,
    mean,
    wide,
)
from orfit_bench.report.labels import as_bytes, as_seconds, folded

if TYPE_CHECKING:
    import xarray


AXES = ("seconds", "memory"), ("time of a row", "peak memory"), (as_seconds, as_bytes)
"""Of each panel: the field of a point, what it is called, how it is written."""
FRONT = "Pareto front"
LINE = {"color": "#000000", "linewidth": 1.0, "dashes": (4, 2)}


class Point(NamedTuple):
    """A method on a backend, mean over seeds."""

    label: str
    backend: str
    cell: int
    error: float
    seconds: float
    """a row"""
    memory: float
    """bytes at the peak, of host and device together"""


def missing(part: xarray.Dataset) -> str:
    """Why there is nothing to draw."""
    return "" if any(_points(part)) else "the stream has no test set"


def draw(part: xarray.Dataset) -> Any:
    """The figure: two panels with a common axis of errors; a line joins the backends of a method."""
    points = list(_points(part))
    ordered = list(dict.fromkeys(p.label for p in sorted(points, key=lambda p: p.error)))
    backends = sorted({p.backend for p in points})
    names = [*map(folded, ordered[:NAMED]), *backends, FRONT]
    margins = Margins(right=beside(names))
    figure, (panels,) = canvas(3.2, max(3.2, 0.25 * len(names)), margins, 1, 2, sharey=True)
    for axes, name, said, form in zip(panels, *AXES, strict=True):
        _joined(axes, points, name)
        for p in points:
            shape = _shape(part, p, ordered) | {"fillstyle": FILLS[backends.index(p.backend) % len(FILLS)]}
            axes.plot([getattr(p, name)], [p.error], **shape)
        _front(axes, [(getattr(p, name), p.error) for p in points])
        log_axis(axes.xaxis, form)
        axes.set_xlabel(said)
    if wide([p.error for p in points]):
        log_axis(panels[0].yaxis, as_error)
    panels[0].set_ylabel(f"{part['error'].values[0]}, test set")
    legend(figure, margins, "best first", handles=_handles(panels[0], part, points, ordered, backends))
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


def _shape(part: xarray.Dataset, point: Point, ordered: list[str]) -> dict[str, Any]:
    shape = look(part, point.cell) if point.label in ordered[:NAMED] else {"color": GREY, "marker": "."}
    return shape | {"linestyle": ""}


def _joined(axes: Any, points: list[Point], name: str) -> None:
    """A line from each method's first backend to its last."""
    lines: list[tuple[float, float]] = []
    for label in dict.fromkeys(p.label for p in points):
        lines += [*((getattr(p, name), p.error) for p in points if p.label == label), (np.nan, np.nan)]
    axes.plot(*zip(*lines, strict=True), color=GREY, linewidth=0.7)


def _front(axes: Any, points: list[tuple[float, float]]) -> None:
    """The points that none beats in both, joined by steps."""
    best: list[tuple[float, float]] = []
    for x, error in sorted(points):
        if not best or error < best[-1][1]:
            best.append((x, error))
    axes.step(*zip(*best, strict=True), where="post", zorder=0, **LINE)


def _handles(
    axes: Any, part: xarray.Dataset, points: list[Point], ordered: list[str], backends: list[str]
) -> list[Any]:
    """What stands in the legend: methods by colour and marker, backends by filling, the front."""
    first = {p.label: p for p in reversed(points)}
    handles = []
    for label in ordered[:NAMED]:
        handles += axes.plot([], [], label=folded(label), **_shape(part, first[label], ordered))
    if len(ordered) > NAMED:
        handles += axes.plot([], [], ".", color=GREY, label=f"{len(ordered) - NAMED} more, worse")
    for k, backend in enumerate(backends):
        handles += axes.plot([], [], "o", color="#000000", fillstyle=FILLS[k % len(FILLS)], label=f"on {backend}")
    return handles + axes.plot([], [], label=FRONT, **LINE)


PICTURE = Picture(
    "cost",
    "The error at the end against the time a row takes in chunks (left) and the peak of memory while learning (right). "
    "Below and left of the Pareto front there is nothing; a line joins the backends of a method.",
    missing,
    draw,
)

"""The map of equivalent methods: an extension of figure 8 of the survey, with measured deviations on its edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orfit_bench.conformance.check import Deviation, worst
from orfit_bench.report.plotting import PAPER, pyplot, save
from orfit_bench.spec import Equality

PLACES = {
    "sgd": (0.0, 3.0),
    "lms": (0.0, 2.0),
    "nlms": (0.0, 1.0),
    "one_step_sgd": (0.0, 0.0),
    "apa": (1.6, 1.0),
    "orfit": (1.6, 3.0),
    "icl": (2.9, 2.0),
    "min-norm": (1.6, 2.0),
    "ogd": (1.6, 4.0),
    "gp": (3.2, 4.0),
    "rls": (4.4, 3.0),
    "batch ridge": (5.8, 4.0),
    "ridge": (4.4, 2.0),
    "kalman": (5.8, 3.0),
    "class_rls": (5.8, 2.0),
    "softmax": (5.8, 1.0),
    "owm": (4.4, 4.0),
    "incremental_pca": (3.2, 0.0),
    "batch PCA": (5.4, 0.0),
    "implicit_krasulina": (3.2, 1.0),
    "batch EM": (5.4, 1.0),
}
"""Positions of the methods; a method that is not listed here is placed in a row below."""


def draw(found: Mapping[Equality, list[Deviation]], path: Path) -> None:
    """Write the figure. Raises UnavailableError without matplotlib, ValueError for an unknown file format."""
    save(draw_figure({edge: worst(measured).value for edge, measured in found.items()}), path)


def draw_figure(deviations: Mapping[Equality, float]) -> Any:
    """The map as a matplotlib figure, from the deviation measured on each edge."""
    figure, axes = pyplot().subplots(figsize=(11.5, 8), layout="constrained")
    places = placed(deviations)
    for (one, other), label in labels(deviations).items():
        _edge(axes, places[one], places[other], label)
    solutions = {edge.other for edge in deviations if edge.batch}
    for name, place in places.items():
        _node(axes, name, place, name in solutions)
    axes.set_title(
        "Equivalent streaming learners\ncircles: methods; squares: batch solutions; "
        "edges: the settings under which two agree, and the measured relative deviation",
        fontsize=11,
    )
    axes.set_axis_off()
    axes.margins(0.09, 0.07)
    return figure


def labels(deviations: Mapping[Equality, float]) -> dict[tuple[str, str], str]:
    """The label of each edge: the settings under which its ends agree, and the measured deviation."""
    found: dict[tuple[str, str], list[str]] = {}
    for edge, deviation in deviations.items():
        number = f"{deviation:.0e}".replace("0e+00", "0")
        found.setdefault((edge.one, edge.other), []).append(f"{edge.when}: {number}" if edge.when else number)
    return {ends: "\n".join(lines) for ends, lines in found.items()}


def placed(edges: Iterable[Equality]) -> dict[str, tuple[float, float]]:
    """The position of every node."""
    names = dict.fromkeys(name for edge in edges for name in (edge.one, edge.other))
    others = [name for name in names if name not in PLACES]
    return {name: PLACES.get(name, (1.5 * others.index(name) if name in others else 0.0, -1.0)) for name in names}


def _edge(axes: Any, one: tuple[float, float], other: tuple[float, float], label: str) -> None:
    (x0, y0), (x1, y1) = one, other
    axes.plot([x0, x1], [y0, y1], color="0.55", linewidth=1.6, zorder=1)
    paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}
    axes.text((x0 + x1) / 2, (y0 + y1) / 2, label, fontsize=8, ha="center", va="center", zorder=2, bbox=paper)


def _node(axes: Any, name: str, place: tuple[float, float], solution: bool) -> None:
    axes.text(
        *place,
        name,
        fontsize=11,
        fontweight="bold",
        ha="center",
        va="center",
        zorder=3,
        color="#4d3800" if solution else "#0b3d66",
        bbox={
            "boxstyle": "square,pad=0.45" if solution else "round,pad=0.5,rounding_size=0.9",
            "facecolor": "#fff2cc" if solution else "#dcebf7",
            "edgecolor": "#7f6000" if solution else "#0b5394",
        },
    )

"""The page of an experiment: shared code, and the sections at the end of every page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.report.page import Cell, Listing, Number, Section
from orfit_bench.report.page import render as rendered
from orfit_bench.report.plotting import PAPER, matplotlib
from orfit_bench_papers import data
from orfit_bench_papers.procedure import Procedure, Setup

if TYPE_CHECKING:
    import xarray

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8c564b", "#7f7f7f", "#9467bd", "#17becf")
"""The palette of Okabe and Ito and three more colours, without black, which is inverted in dark mode."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)), (0, (3, 1, 1, 1)), "-", "--")
"""Line styles that distinguish curves without colours."""

ONE_RUN = "one run has no spread"
SPREAD = "± in ours is a standard deviation over the runs"


class Claim(NamedTuple):
    """A number or statement of the source, and our result."""

    what: str
    place: str
    source: Cell
    ours: Cell
    why: str = ""
    """Why our result differs, or a remark."""


class Ambiguity(NamedTuple):
    """A detail that the source does not specify, two interpretations, and their results."""

    what: str
    chosen: str
    other: str
    ours: Cell
    instead: Cell


def claims_section(rows: Iterable[Claim], caption: str = f"Our results and those of the source; {SPREAD}") -> Section:
    """The table that compares our results with the source."""
    columns = ("quantity", "place in the source", "source", "ours", "remark")
    return Section("Comparison with the source", [Listing(caption, columns, [tuple(row) for row in rows])])


def ambiguities_section(rows: Iterable[Ambiguity], caption: str) -> Section:
    """The details that the source does not specify, and how much they change the result."""
    columns = ("left open", "read here as", "other reading", "here", "other reading gives")
    return Section(
        "What the source leaves open", [Listing(f"{caption}; {SPREAD}", columns, [tuple(row) for row in rows])]
    )


def spread(values: Any, digits: int = 3) -> Number:
    """Mean and standard deviation (n - 1) of the values over runs, as a cell."""
    runs = np.asarray(values, float).ravel()
    mean = float(runs.mean())
    if math.isnan(mean):
        return Number(math.nan, "n/a")
    if len(runs) == 1:
        return Number(mean, f"{mean:.{digits}g}")
    return Number(mean, f"{mean:.{digits}g} ± {runs.std(ddof=1):.2g}")


def printed(mean: float, deviation: float | None = None) -> Number:
    """A number with two decimals, as in the source."""
    return Number(mean, f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}")


def holds(true: Any) -> str:
    """Whether a statement was found to hold."""
    return "holds" if bool(true) else "does not hold"


def axes(columns: int = 1, rows: int = 1, height: float = 4.2, width: float = 10.0, **more: Any) -> tuple[Any, Any]:
    """A matplotlib figure with this many plots, as (figure, axes)."""
    matplotlib()
    from matplotlib.figure import Figure  # pyplot, which takes long to import, is not needed

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **more)


def legend(plot: Any, fontsize: int = 8, **more: Any) -> None:
    """A legend that can be read on light and on dark pages."""
    plot.legend(fontsize=fontsize, facecolor=PAPER, framealpha=0.8, **more)


def band(plot: Any, x: Any, runs: NDArray[Any], label: str, place: int, **more: Any) -> None:
    """The mean over the runs (run, x) as a curve, with one standard deviation to both sides as a band."""
    mean, colour = runs.mean(axis=0), COLOURS[place % len(COLOURS)]
    plot.plot(x, mean, color=colour, linestyle=DASHES[place % len(DASHES)], label=label, linewidth=1.6, **more)
    if len(runs) > 1:
        deviation = runs.std(axis=0, ddof=1)
        plot.fill_between(x, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0)


def render(procedure: Procedure, results: xarray.Dataset, setup: Setup) -> str:
    """The page as HTML."""
    summary = f"{procedure.experiment.summary}. Source: {procedure.experiment.source}."
    sections = [*procedure.sections(results, setup), _run(procedure, results, setup)]
    title = f"{procedure.name} on {setup.data}" if procedure.data else procedure.name
    return rendered(title, summary, sections)


def _run(procedure: Procedure, results: xarray.Dataset, setup: Setup) -> Section:
    """A description of the run, the machine, and how to run it again."""
    versions = ", ".join(f"{k} {v}" for k, v in json.loads(results.attrs["versions"]).items())
    machine, commit = json.loads(results.attrs["machine"]), json.loads(results.attrs["commit"])
    rows = [("again", _again(procedure, setup))]
    if procedure.data:
        rows.append(("rows", data.described(setup.data)))
    rows += [("protocol", ", ".join(f"{name} {_plain(value)}" for name, value in setup.protocol.items()))]
    rows += [("backend", setup.backend), ("machine", str(machine["cpu"])), ("versions", versions)]
    if commit["id"]:
        rows.append(("commit", commit["id"][:12] + (", with changes" if commit["dirty"] else "")))
    rows += [("noted", note) for note in json.loads(results.attrs["notes"])]
    return Section("The run", [Listing("What was run, where, and how to run it again", ("what", "is"), rows)])


def _again(procedure: Procedure, setup: Setup) -> str:
    """The command that repeats the run, or Python code if the command has no option for a number."""
    changed = {name: value for name, value in setup.protocol.items() if value != procedure.protocol[name]}
    data = setup.data if setup.data in procedure.data[1:] else None
    if changed.keys() <= {"runs"}:
        options = {"data": data, **changed}
        return " ".join(
            ["orfit-bench reproduce", procedure.name, *(f"--{name} {v}" for name, v in options.items() if v)]
        )
    given = "".join(f", {name}={value!r}" for name, value in {"data": data, **changed}.items() if value)
    return (
        "from pathlib import Path; from orfit_bench_papers import running; "
        f"procedure = running.find({procedure.name!r}); "
        f'running.run(procedure, running.make_setup(procedure{given}), Path("reproduced"), isolate=False)'
    )


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)

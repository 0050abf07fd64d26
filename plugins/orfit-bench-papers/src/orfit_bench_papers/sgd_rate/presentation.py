"""The sections of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.report.page import Cell as Shown
from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench_papers.page import Claim, axes, band, claims_section, holds, legend, spread
from orfit_bench_papers.procedure import Setup
from orfit_bench_papers.sgd_rate.measurement import PROBLEMS, STEPS

if TYPE_CHECKING:
    import xarray


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    share = (results.gap / results.bound).transpose("problem", "steps", "run", "horizon")
    alt = "Gap over bound at the longest horizon: " + "; ".join(
        f"{p}, {s} {float(share.sel(problem=p, steps=s).isel(horizon=-1).mean()):.2f}" for p in PROBLEMS for s in STEPS
    )
    columns = ("problem", "steps", *(f"T = {T:,}" for T in results.horizon.values))
    rows: list[tuple[Shown, ...]] = [
        (p, s, *(spread(share.sel(problem=p, steps=s, horizon=T)) for T in results.horizon.values))
        for p in PROBLEMS
        for s in STEPS
    ]
    return [
        Section("Rate", [as_figure(_curves(results), _CAPTION, alt + ".")]),
        claims_section(_claims(share)),
        Section("Share of the bound", [Listing("(F(average) - F*) / (B G / sqrt(T)): mean and deviation over the runs",
                                               columns, rows, True)]),
        Section("What to know", [Text(_notes(results))]),
    ]  # fmt: skip


_CAPTION = (
    "F at the average of T iterates less its least value, against T; the grey line is the bound B G / sqrt(T). Mean "
    "and one standard deviation over the runs, each a mean of many repeats on the line, where F is another for each "
    "T."
)


def _curves(results: xarray.Dataset) -> Any:
    figure, plots = axes(2, height=4.4)
    T = results.horizon.values
    for plot, name in zip(plots, PROBLEMS, strict=True):
        gaps = results.gap.sel(problem=name).transpose("steps", "run", "horizon").values
        for i, steps in enumerate(STEPS):
            band(plot, T, gaps[i], steps, i, marker="os^"[i], markersize=4)
        bound = results.bound.sel(problem=name).isel(run=0).values
        plot.plot(T, bound, color="0.6", linewidth=2, label="bound")
        plot.set(xscale="log", yscale="log", xlabel="T", title="digits: hinge" if name == "digits" else "the line")
        legend(plot, 8)
    plots[0].set_ylabel("F(average) - F*")
    return figure


def _claims(share: xarray.DataArray) -> list[Claim]:
    place = "slides, SGD convergence"
    mean = share.mean("run")
    most = {(p, s): float(mean.sel(problem=p, steps=s).max()) for p in PROBLEMS for s in STEPS}
    first = mean.sel(problem="line", steps="running")

    def ratio(p: str, s: str) -> Number:
        return Number(most[p, s], f"at most {most[p, s]:.3f}")

    wrong = "printed for this step, for which it is false without a projection"
    if len(first) > 1 and (np.diff(first) > 0).all():
        wrong += ": gap over bound grows with T"
    rows = [
        Claim("E F(average) - F* over B G / sqrt(T), constant step B / (G sqrt(T)): digits", place, "at most 1",
               ratio("digits", "constant"), f"{holds(most['digits', 'constant'] <= 1)}; the step needs T beforehand"),
        Claim("the same, running step B / (G sqrt(t)): digits", place, "at most 1", ratio("digits", "running"),
               "no counterexample, but no proof" if most["digits", "running"] <= 1 else wrong),
        Claim("the same, running and projected onto |w| <= B: digits", place, "at most 1",
               ratio("digits", "running, projected")),
        Claim("constant step: line", place, "at most 1", ratio("line", "constant")),
        Claim("running step: line", place, "at most 1", ratio("line", "running"),
               wrong if most["line", "running"] > 1 else "no counterexample at these horizons"),
        Claim("running and projected: line", place, "at most 1", ratio("line", "running, projected")),
    ]  # fmt: skip
    return rows + [
        Claim(
            f"running step: line, T = {int(T):,}",
            place,
            "at most 1",
            spread(share.sel(problem="line", steps="running", horizon=T)),
        )
        for T in first.horizon.values
    ]


def _notes(results: xarray.Dataset) -> list[str]:
    return [
        "Digits: hinge loss of even against odd digits, rows drawn uniformly with replacement, so that a row's "
        "gradient has the gradient of F as its mean. F* is from a linear program, B the norm of its solution, G the "
        "longest row.",
        "The line: F(w) = a |w - 1| with gradients of -1 and 1, a = 1.6 / sqrt(T), B = G = 1. A running step starts "
        "larger than a constant one, and without a projection the early iterates that it throws far stay in the "
        "average.",
        "Besides F being G-Lipschitz, the mean square of a row's gradient must be at most G^2, which the slides "
        "leave out.",
    ]

"""The sections of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.report.page import Cell as Shown
from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench_papers.orfit_rotated_digits.measurement import images
from orfit_bench_papers.orfit_unlimited.measurement import ERRORS, ONE_PASS, READINGS, STEPS
from orfit_bench_papers.page import Ambiguity, Claim, ambiguities_section, axes, band, claims_section, legend, spread
from orfit_bench_papers.procedure import Setup

if TYPE_CHECKING:
    import xarray


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    here = results.sel(reading="as here")
    ends = here.one_pass.isel(row=-1)
    final = {
        "as printed": here.sgd.sel(step="as printed").isel(epoch=-1),
        "converging": here.sgd.sel(step="converging").isel(epoch=-1),
    }
    alt = (
        f"Test error at the end in radians: ORFit {float(ends.sel(learner='ORFit', error='test').mean()):.2f}, "
        f"One-Step SGD {float(ends.sel(learner='One-Step SGD', error='test').mean()):.2f}, "
        + ", ".join(f"SGD with the step {k} {float(v.sel(error='test').mean()):.2f}" for k, v in final.items())
    )
    return [
        Section("Figure 5-2", [as_figure(_curves(here, setup), _CAPTION, alt + ".")]),
        claims_section(_claims(here, setup)),
        Section("At the end", [_table(here, setup)]),
        ambiguities_section(
            _ambiguities(results), "Training error of SGD with the printed step after the last epoch, in radians"
        ),
        Section("What moves the result, and what does not", [Text(_notes(results, setup))]),
    ]


_CAPTION = (
    "Top: root mean squared error on the test images and on all images learned; bottom: of one training example. "
    "Left: one pass, row by row (the vertical line: the row at which the example is learned). Right: SGD, epoch by "
    "epoch; the level line is ORFit after its one pass. Means, with one standard deviation to both sides."
)


def _curves(here: xarray.Dataset, setup: Setup) -> Any:
    figure, plots = axes(2, 2, height=7.4)
    once = here.one_pass.transpose("learner", "error", "run", "row").values
    many = here.sgd.transpose("step", "error", "run", "epoch").values
    for row, picked in enumerate((("test", "train"), ("sample",))):
        left, right = plots[row]
        place = 0
        for error in picked:
            for i, name in enumerate(ONE_PASS):
                band(left, here.row.values, once[i, ERRORS.index(error)], f"{name}, {error}", place + i)
            for j, step in enumerate(STEPS):
                band(
                    right, here.epoch.values, many[j, ERRORS.index(error)], f"SGD, step {step}, {error}", place + j + 4
                )
            level = once[0, ERRORS.index(error), :, -1].mean()
            right.axhline(max(level, 1e-16), color=f"C{7 + place // 2}", linewidth=0.8, linestyle=(0, (6, 3)))
            place += 2
        left.set(xlabel="rows learned", ylabel="error (rad)", ylim=(0, None))
        right.set(xlabel="epochs", xscale="log", yscale="log", ylabel="error (rad)", ylim=(1e-5, 10))
        for plot in (left, right):
            legend(plot, 7)
    plots[1, 0].axvline(setup["sample"], color="#d62728", linestyle=(0, (4, 2)), linewidth=1)
    return figure


def _claims(here: xarray.Dataset, setup: Setup) -> list[Claim]:
    place, curve = "thesis, 5.2, Figure 5-2", "a curve, no number"
    end = here.one_pass.isel(row=-1)
    sgd = here.sgd.isel(epoch=-1)
    printed, converging = (float(here.step_size.sel(step=s).mean()) for s in STEPS)
    worst = here.one_pass.sel(learner="ORFit", error="sample").isel(row=slice(setup["sample"] - 1, None)).max("row")
    return [
        images(here, setup),
        Claim("training error of ORFit", place, "almost zero", _tiny(end.sel(learner="ORFit", error="train")), "rad"),
        Claim(f"training error of SGD, step {printed:g}", place, "almost zero",
               spread(sgd.sel(step="as printed", error="train")),
               f"rad after {setup['epochs']} epochs with pixels in [0, 1]; the thesis names no scale"),
        Claim(f"training error of SGD, step {converging:.2g}", place, "almost zero",
               spread(sgd.sel(step="converging", error="train")),
               f"rad; the step is 1 / max |x|^2, the condition of the Gram matrix {float(here.condition.mean()):.0e}"),
        Claim("test error of ORFit", place, curve, spread(end.sel(learner="ORFit", error="test")), "rad"),
        Claim("test error of SGD, converging step", "thesis, 5.2 and Theorem 3", "similar to ORFit's",
               spread(sgd.sel(step="converging", error="test")), "rad"),
        Claim("distance of SGD to ORFit, of the whole move", "thesis, Corollary 4", "0 in the limit",
               spread(here.distance.sel(step="converging")),
               f"converging step; {spread(here.distance.sel(step='as printed')).text} with the printed step"),
        Claim(f"error of example {setup['sample']} under ORFit, the most after its step", place, "preserved perfectly",
               _tiny(worst), "rad"),
        Claim(f"error of example {setup['sample']} under One-Step SGD", place, "quickly deteriorates",
               spread(end.sel(learner="One-Step SGD", error="sample")), "rad, at the end"),
    ]  # fmt: skip


def _tiny(values: Any) -> Number:
    """The largest error over the runs, for errors that are only rounding."""
    return Number(float(values.max()), f"at most {float(values.max()):.0e}")


def _table(here: xarray.Dataset, setup: Setup) -> Listing:
    end, sgd = here.one_pass.isel(row=-1), here.sgd.isel(epoch=-1)
    rows: list[tuple[Shown, ...]] = [
        (name, "1", *(spread(end.sel(learner=name, error=e)) for e in ERRORS)) for name in ONE_PASS
    ]
    rows += [
        (f"SGD, step {step}", str(setup["epochs"]), *(spread(sgd.sel(step=step, error=e)) for e in ERRORS))
        for step in STEPS
    ]
    columns = ("method", "epochs", "test error", "training error", f"error of example {setup['sample']}")
    return Listing("Mean and standard deviation over the runs, in radians", columns, rows, True)


def _ambiguities(results: xarray.Dataset) -> list[Ambiguity]:
    def end(reading: str) -> Number:
        return spread(results.sgd.sel(reading=reading, step="as printed", error="train").isel(epoch=-1))

    return [Ambiguity(*READINGS[name], end("as here"), end(name)) for name in list(READINGS)[1:]]


def _notes(results: xarray.Dataset, setup: Setup) -> list[str]:
    step = float(results.step_size.sel(reading="as here", step="converging").mean())
    gone = [r for r in READINGS if np.isnan(results.sgd.sel(reading=r, step="as printed")).any()]
    diverged = (
        f" With these readings the printed step leaves the finite numbers (n/a): {', '.join(gone)}." if gone else ""
    )
    once = results.one_pass.sel(learner="ORFit").isel(row=-1)
    pixels = ", ".join(f"{r} {spread(once.sel(reading=r, error='test')).text}" for r in READINGS)
    return [
        f"The printed step {setup['step_size']:g} says nothing without the pixel scale: with pixels in [0, 1] the "
        f"largest step that shrinks every row's error is about {2 * step:.2g}, so the printed one is "
        f"{step / setup['step_size']:.0f} times smaller than a good one and {setup['epochs']} epochs do not "
        f"converge.{diverged}",
        f"ORFit has no step: its training error is at most {float(once.sel(error='train').max()):.0e} rad under every "
        f"reading. Its test error is {pixels} rad.",
        "Training errors are on all rows of the training set, learned already or not.",
    ]

"""Thesis, section 5.2: one pass without a limit on memory, against a thousand passes of SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench.error import NUMBERS
from orfit_bench.bench.learning import learn
from orfit_bench.bench.protocol import Protocol
from orfit_bench.errors import DivergedError
from orfit_bench.orders import reshuffled
from orfit_bench.report.page import Cell as Shown
from orfit_bench.report.page import Listing, Number, Section, Text, drawn
from orfit_bench.spec.stream import Array, Data
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.orfit_rotated_digits import images, rows, start, tested
from orfit_bench_papers.page import Beside, Open, axes, band, beside, left_open, legend, spread
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

if TYPE_CHECKING:
    import xarray

ONE_PASS = {"ORFit": "orfit", "One-Step SGD": "one_step_sgd"}
STEPS = ("as printed", "converging")
ERRORS = ("test", "train", "sample")
READINGS: dict[str, tuple[str, str, str]] = {
    "as here": ("", "", ""),
    "random start": ("start", "w = 0", "w ~ N(0, 1/d)"),
    "bytes": ("pixel scale", "[0, 1]", "0 to 255"),
    "standardised": ("pixel scale", "[0, 1]", "(pixel - mean) / standard deviation, of all pixels learned"),
    "reshuffled": ("order of SGD's rows", "by angle in every epoch", "a new random order in every epoch"),
}
"""What the thesis leaves open: its name, how it is read here, and another reading."""


def readings(setup: Setup) -> Axes:
    """Every reading, and every run."""
    return {"reading": list(READINGS), "run": list(range(setup["runs"]))}


def epochs(setup: Setup) -> Array:
    """The epochs after which SGD is looked at."""
    return np.unique(np.geomspace(1, setup["epochs"], 25).astype(int))


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """Errors of the one-pass methods after every row, and of SGD after some epochs."""
    import xarray

    reading, run = cell["reading"], cell["run"]
    found = rows(setup, reading, run)
    given = start(reading, found.X.shape[1], run)
    w0 = given.get("initial_weights", np.zeros(found.X.shape[1]))
    n, looks = len(found.X), epochs(setup)
    made = {name: setup.create(method, run, **given) for name, method in ONE_PASS.items()}
    once = [trajectory(learner, found, setup["sample"], Protocol(), range(1, n + 1)) for learner in made.values()]
    w = weights(made["ORFit"])
    steps = {"as printed": setup["step_size"], "converging": 1 / float((found.X**2).sum(axis=1).max())}
    many, distance = [], []
    for step in steps.values():
        sgd = setup.create("lms", run, step_size=step, **given)
        seen, passes = (found, setup["epochs"]) if reading != "reshuffled" else (_shuffled(found, setup, run), 1)
        many.append(trajectory(sgd, seen, setup["sample"], Protocol(passes=passes), n * looks, found))
        gone = np.isnan(many[-1]).any()
        distance.append(np.nan if gone else np.linalg.norm(weights(sgd) - w) / np.linalg.norm(w - w0))
    return xarray.Dataset(
        {
            "one_pass": (("learner", "error", "row"), np.array(once), about("rad", "error after every row")),
            "sgd": (("step", "error", "epoch"), np.array(many), about("rad", "error of SGD after epochs; NaN: gone")),
            "distance": (
                "step",
                np.array(distance),
                about("1", "|w - w_ORFit| / |w_ORFit - w_0| after the last epoch"),
            ),
            "tested": tested(found, setup),
            "condition": ((), np.linalg.cond(found.X) ** 2, about("1", "condition of the Gram matrix of the rows")),
            "step_size": ("step", np.array(list(steps.values())), about("1", "step of SGD")),
        },
        {
            "learner": list(ONE_PASS),
            "error": list(ERRORS),
            "row": np.arange(1, n + 1),
            "step": list(STEPS),
            "epoch": looks,
        },
    )


def weights(learner: Any) -> Array:
    """The weights (d,)."""
    return np.asarray(learner.state()["w"].values[:, 0])


def _shuffled(found: Data, setup: Setup, run: int) -> Data:
    return reshuffled(found, setup["epochs"], run)


def trajectory(
    learner: Any, seen: Data, sample: int, protocol: Protocol, looks: Any, base: Data | None = None
) -> Array:
    """(3, looks) errors on the test set, on all rows learned and on the followed example; NaN once it has diverged.

    seen is what is learned, base (or it) what the errors are on; looks counts rows.
    """
    base = base or seen
    sets, at = (
        (base.test, base.cut(0, len(base.X)), base.cut(sample - 1, sample)),
        {int(k): i for i, k in enumerate(looks)},
    )
    errors = np.full((3, len(at)), np.nan)

    def look(done: int) -> None:
        if done in at:
            errors[:, at[done]] = [NUMBERS.shown(learner, part) for part in sets]  # type: ignore[arg-type]

    learner.partial_fit(*base.cut(0, 0))
    try:
        learn([learner], seen, protocol, at, look)
    except DivergedError:
        return np.full_like(errors, np.nan)
    return errors


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """What the page shows."""
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
        Section("Figure 5-2", [drawn(_curves(here, setup), _CAPTION, alt + ".")]),
        beside(_claims(here, setup)),
        Section("At the end", [_table(here, setup)]),
        left_open(_open(results), "Training error of SGD with the printed step after the last epoch, in radians"),
        Section("What moves the result, and what does not", [Text(_remarks(results, setup))]),
    ]


_CAPTION = (
    "Top: root mean squared error on the test images and on all images learned; bottom: of one training example. "
    "Left: one pass, row by row (the vertical line: the row at which the example is learned). Right: SGD, epoch by "
    "epoch; the level line is ORFit after its one pass. Means, with one standard deviation to both sides."
)


def _curves(here: xarray.Dataset, setup: Setup) -> Any:
    made, plots = axes(2, 2, height=7.4)
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
    return made


def _claims(here: xarray.Dataset, setup: Setup) -> list[Beside]:
    place, curve = "thesis, 5.2, Figure 5-2", "a curve, no number"
    end = here.one_pass.isel(row=-1)
    sgd = here.sgd.isel(epoch=-1)
    printed, converging = (float(here.step_size.sel(step=s).mean()) for s in STEPS)
    worst = here.one_pass.sel(learner="ORFit", error="sample").isel(row=slice(setup["sample"] - 1, None)).max("row")
    return [
        images(here, setup),
        Beside("training error of ORFit", place, "almost zero", _tiny(end.sel(learner="ORFit", error="train")), "rad"),
        Beside(f"training error of SGD, step {printed:g}", place, "almost zero",
               spread(sgd.sel(step="as printed", error="train")),
               f"rad after {setup['epochs']} epochs with pixels in [0, 1]; the thesis names no scale"),
        Beside(f"training error of SGD, step {converging:.2g}", place, "almost zero",
               spread(sgd.sel(step="converging", error="train")),
               f"rad; the step is 1 / max |x|^2, the condition of the Gram matrix {float(here.condition.mean()):.0e}"),
        Beside("test error of ORFit", place, curve, spread(end.sel(learner="ORFit", error="test")), "rad"),
        Beside("test error of SGD, converging step", "thesis, 5.2 and Theorem 3", "similar to ORFit's",
               spread(sgd.sel(step="converging", error="test")), "rad"),
        Beside("distance of SGD to ORFit, of the whole move", "thesis, Corollary 4", "0 in the limit",
               spread(here.distance.sel(step="converging")),
               f"converging step; {spread(here.distance.sel(step='as printed')).text} with the printed step"),
        Beside(f"error of example {setup['sample']} under ORFit, the most after its step", place, "preserved perfectly",
               _tiny(worst), "rad"),
        Beside(f"error of example {setup['sample']} under One-Step SGD", place, "quickly deteriorates",
               spread(end.sel(learner="One-Step SGD", error="sample")), "rad, at the end"),
    ]  # fmt: skip


def _tiny(values: Any) -> Number:
    """The largest over runs of errors that are rounding."""
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


def _open(results: xarray.Dataset) -> list[Open]:
    def end(reading: str) -> Number:
        return spread(results.sgd.sel(reading=reading, step="as printed", error="train").isel(epoch=-1))

    return [Open(*READINGS[name], end("as here"), end(name)) for name in list(READINGS)[1:]]


def _remarks(results: xarray.Dataset, setup: Setup) -> list[str]:
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


PROCEDURE = Procedure(
    EXPERIMENTS["orfit-unlimited"],
    protocol={"runs": 10, "rows": 100, "epochs": 1000, "step_size": 1e-5, "sample": 11},
    axes=readings,
    measure=measure,
    sections=sections,
    ranges={"rows": "[2, inf)", "sample": "[1, {rows}]", "step_size": "(0, inf)"},
)

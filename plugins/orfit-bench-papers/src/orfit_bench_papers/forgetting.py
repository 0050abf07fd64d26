"""Survey, section I: catastrophic forgetting of every regression method, side by side on the same ten tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench import models
from orfit_bench.bench.error import NUMBERS
from orfit_bench.bench.learning import recorded
from orfit_bench.bench.protocol import Protocol
from orfit_bench.errors import DivergedError
from orfit_bench.plugins.registry import registry
from orfit_bench.report.page import Listing, Section, Text, drawn
from orfit_bench.spec import Data
from orfit_bench.spec.stream import Array
from orfit_bench_papers import data
from orfit_bench_papers._tasks import forgetting, own
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.page import COLOURS, DASHES, Beside, axes, beside, legend, spread
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, slots=True)
class Entry:
    """A method, its settings beside the step, and powers of ten between which the step is sought."""

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    steps: tuple[int, int] | None = None


ENTRIES = {
    "Greedy": Entry("greedy"),
    "One-Step SGD": Entry("one_step_sgd"),
    "LMS": Entry("lms", {}, (-5, -1)),
    "NLMS": Entry("nlms", {}, (-3, 0)),
    "SGD, averaged": Entry("sgd", {"averaging": "uniform"}, (-5, -1)),
    "APA, 10 rows": Entry("apa", {"projection_order": 10}, (-2, 0)),
    "RLS, forgetting 0.9": Entry("rls", {"forgetting_factor": 0.9}),
    "RLS": Entry("rls"),
    "Kalman, drifting": Entry("kalman", {"process_noise": 1e-3, "observation_noise": 0.1}),
    "OWM": Entry("owm", {}, (-3, 0)),
    "ORFit, memory 10": Entry("orfit", {"memory": 10}),
    "OGD": Entry("ogd", {}, (-4, 0)),
    "GP": Entry("gp", {}, (-4, 0)),
    "ICL": Entry("icl"),
}
"""Regression methods; steps are chosen on a validation part, all else is each method's default or named."""


def places(setup: Setup) -> Axes:
    """Every method and run."""
    return {"learner": list(ENTRIES), "run": list(range(setup["runs"]))}


def learner(setup: Setup, entry: Entry, seed: int, step: float | None) -> Any:
    """A new learner; one that learns layer by layer fits a perceptron with one hidden layer."""
    declared = registry().methods[entry.method]
    given = {} if step is None else {"step_size": step}
    model = models.made(models.filled(declared, None))
    return setup.create(entry.method, seed, model=model, **entry.settings, **given)


def chosen(setup: Setup, entry: Entry, found: Data, seed: int) -> float | None:
    """The step with the least error on the validation part after the last row; None where there is none to choose."""
    if entry.steps is None:
        return None
    lowest, highest = entry.steps
    tried = np.logspace(lowest, highest, 2 * (highest - lowest) + 1)
    errors = [_validated(learner(setup, entry, seed, float(step)), found) for step in tried]
    return float(tried[int(np.argmin(errors))])


def _validated(made: Any, found: Data) -> float:
    try:
        return NUMBERS.shown(made.partial_fit(found.X, found.y).flush(), found.validation)  # type: ignore[arg-type]
    except DivergedError:
        return np.inf


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """The error matrix over ten tasks, and the test error at the end."""
    import xarray

    entry, seed = ENTRIES[cell["learner"]], cell["run"]
    found = data.rotated(setup.data, setup["rows"], seed, validation=True)
    step = chosen(setup, entry, found, seed)
    made = learner(setup, entry, seed, step).partial_fit(*found.cut(0, 0))
    seen = recorded([made], found, Protocol())
    order = np.arange(1, len(found.tasks))
    return xarray.Dataset(
        {
            "task_error": (("after", "task"), seen.task_error, about("rad^2", "mean squared error on task after task")),
            "test_error": ((), float(seen.test_error[-1]), about("rad", "root mean squared error on the test images")),
            "step": ((), np.nan if step is None else step, about("1", "step chosen on the validation part; NaN: none")),
        },
        {"after": order, "task": order},
    )


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """What the page shows."""
    E = dict(zip(ENTRIES, results.task_error.transpose("learner", "run", "after", "task").values, strict=True))
    table = [
        (name, spread(forgetting(e)), spread(e[:, -1].mean(axis=1)), spread(own(e).mean(axis=1)),
         spread(results.test_error.sel(learner=name)), _step(results, name))
        for name, e in E.items()
    ]  # fmt: skip
    columns = (
        "method",
        "forgetting F_T",
        "mean squared error E_T",
        "on the task just learned",
        "test error (rad)",
        "step",
    )
    alt = "Forgetting in rad^2: " + ", ".join(f"{name} {forgetting(e).mean():.2g}" for name, e in E.items())
    return [
        Section("What becomes of the first task", [drawn(_curves(E), _CAPTION, alt + ".")]),
        Section("Error matrices", [drawn(_maps(E), _MAPS, alt + ".")]),
        Section("Side by side", [Listing("Mean and standard deviation over the runs, in rad^2", columns, table, True)]),
        beside(_beside(E, setup)),
        Section("What to know", [Text(_REMARKS)]),
    ]


_CAPTION = (
    "Mean squared error on the images of the first task after every task, shown where it is at least 1e-5; means "
    "over the runs, in two plots for room."
)
_MAPS = "Mean squared error on task i (across) after task j (down), mean over the runs, by powers of ten."
_REMARKS = [
    "A task is a tenth of the stream: images of the digit 2 in a tenth of the half turn, in order. Little forgetting "
    "is worth nothing alone: a method that learns little has little to forget, so see the error on the task just "
    "learned and the test error too.",
    "Steps are chosen on the validation images of each run, by the error after the last row; other settings are each "
    "method's defaults or named. OWM and GP learn layer by layer and fit a perceptron with 32 tanh units, the others "
    "a linear model.",
]


def _step(results: xarray.Dataset, name: str) -> str:
    steps = results.step.sel(learner=name).values
    if np.isnan(steps).all():
        return ""
    return f"{np.median(steps):.2g}"


def _curves(E: dict[str, Array]) -> Any:
    made, plots = axes(2, height=4.4, sharey=True)
    half = len(E) // 2
    for i, (name, e) in enumerate(E.items()):
        plot, style = plots[i // half], i % half
        x = np.arange(1, e.shape[1] + 1)
        plot.plot(x, np.maximum(e[:, :, 0].mean(axis=0), 1e-5), color=COLOURS[style], linestyle=DASHES[style],
                  marker="os^DvPX"[style], markersize=4, label=name)  # fmt: skip
    for plot in plots:
        plot.set(yscale="log", xlabel="after task")
        legend(plot, 7)
    plots[0].set_ylabel("error on task 1 (rad^2)")
    return made


def _maps(E: dict[str, Array]) -> Any:
    made, plots = axes(5, 3, height=6.6, sharex=True, sharey=True)
    for plot in plots.flat[len(E) :]:
        plot.set_axis_off()
    for plot, (name, e) in zip(plots.flat, E.items(), strict=False):
        n = e.shape[-1]
        shown = np.log10(np.maximum(e.mean(axis=0), 1e-20))
        image = plot.imshow(shown, vmin=-4, vmax=1, cmap="cividis", extent=(0.5, n + 0.5, n + 0.5, 0.5))
        plot.set_title(name, fontsize=8)
    made.colorbar(image, ax=plots, shrink=0.6, label="log10 of the mean squared error (rad^2)")
    return made


def _beside(E: dict[str, Array], setup: Setup) -> list[Beside]:
    most = max(E, key=lambda name: forgetting(E[name]).mean())
    zero = {name: float(abs(forgetting(E[name])).max()) for name in ("OGD", "GP", "ICL")}
    share = {
        name: float((forgetting(E[name]) / own(E[name])[:, :-1].mean(axis=1)).mean())
        for name in ("One-Step SGD", "LMS")
    }
    return [
        Beside("forgetting of OGD, GP and ICL", "survey, section III; Theorems 5 and 6", "0",
               ", ".join(f"{n} {v:.0e}" for n, v in zero.items()), "rad^2, the most over runs; rounding"),
        Beside("gradient steps alone forget catastrophically", "survey, section I", "errors on earlier tasks grow much",
               ", ".join(f"{n}: {v:.2g} times" for n, v in share.items()),
               "growth of the error on earlier tasks over the error when they were learned; a step chosen for the "
               "error at the "
               "end, as LMS has it, is small, learns little of each task and so has less to forget"),
        Beside("the largest forgetting", "thesis, 5.1: Greedy as the extreme case", "Greedy", most,
               f"F_T {forgetting(E[most]).mean():.2f} rad^2"),
    ]  # fmt: skip


PROCEDURE = Procedure(
    EXPERIMENTS["forgetting"],
    protocol={"runs": 10, "rows": 100},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"rows": "[2, inf)"},
)

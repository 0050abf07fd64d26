"""The sections of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.report.page import Listing, Section, Text, as_figure
from orfit_bench.spec.data import Array
from orfit_bench_papers._tasks import forgetting, own
from orfit_bench_papers.forgetting.measurement import ENTRIES
from orfit_bench_papers.page import COLOURS, DASHES, Claim, axes, claims_section, legend, spread
from orfit_bench_papers.procedure import Setup

if TYPE_CHECKING:
    import xarray


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
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
        Section("What becomes of the first task", [as_figure(_curves(E), _CAPTION, alt + ".")]),
        Section("Error matrices", [as_figure(_maps(E), _MAPS, alt + ".")]),
        Section("Side by side", [Listing("Mean and standard deviation over the runs, in rad^2", columns, table, True)]),
        claims_section(_claims(E, setup)),
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
    figure, plots = axes(2, height=4.4, sharey=True)
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
    return figure


def _maps(E: dict[str, Array]) -> Any:
    figure, plots = axes(5, 3, height=6.6, sharex=True, sharey=True)
    for plot in plots.flat[len(E) :]:
        plot.set_axis_off()
    for plot, (name, e) in zip(plots.flat, E.items(), strict=False):
        n = e.shape[-1]
        shown = np.log10(np.maximum(e.mean(axis=0), 1e-20))
        image = plot.imshow(shown, vmin=-4, vmax=1, cmap="cividis", extent=(0.5, n + 0.5, n + 0.5, 0.5))
        plot.set_title(name, fontsize=8)
    figure.colorbar(image, ax=plots, shrink=0.6, label="log10 of the mean squared error (rad^2)")
    return figure


def _claims(E: dict[str, Array], setup: Setup) -> list[Claim]:
    most = max(E, key=lambda name: forgetting(E[name]).mean())
    zero = {name: float(abs(forgetting(E[name])).max()) for name in ("OGD", "GP", "ICL")}
    share = {
        name: float((forgetting(E[name]) / own(E[name])[:, :-1].mean(axis=1)).mean())
        for name in ("One-Step SGD", "LMS")
    }
    return [
        Claim("forgetting of OGD, GP and ICL", "survey, section III; Theorems 5 and 6", "0",
               ", ".join(f"{n} {v:.0e}" for n, v in zero.items()), "rad^2, the most over runs; rounding"),
        Claim("gradient steps alone forget catastrophically", "survey, section I",
               "errors on earlier tasks grow much",
               ", ".join(f"{n}: {v:.2g} times" for n, v in share.items()),
               "growth of the error on earlier tasks over the error when they were learned; a step chosen for the "
               "error at the "
               "end, as LMS has it, is small, learns little of each task and so has less to forget"),
        Claim("the largest forgetting", "thesis, 5.1: Greedy as the extreme case", "Greedy", most,
               f"F_T {forgetting(E[most]).mean():.2f} rad^2"),
    ]  # fmt: skip

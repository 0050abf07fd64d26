"""Survey, Figure 1: the error of every model on every task, for methods that forget everything to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench.spec import Integer
from orfit_bench.spec.data import Array, Pair
from orfit_bench_papers import data
from orfit_bench_papers._tasks import forgetting, own
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.page import Claim, axes, claims_section, holds, spread
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

if TYPE_CHECKING:
    import xarray

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "LMS, step 1": ("lms", {"step_size": 1.0}),
    "LMS, step 1/2": ("lms", {"step_size": 0.5}),
    "APA, 5 rows": ("apa", {"projection_order": 5, "step_size": 1.0, "eps": 0.0}),
    "APA, all rows": ("apa", {"projection_order": None, "step_size": 1.0, "eps": 0.0}),
    "ICL": ("icl", {}),
    "OGD, step 1/2": ("ogd", {"step_size": 0.5}),
    "ORFit, memory 10": ("orfit", {"memory": 10}),
    "RLS, beta 0.9": ("rls", {"ridge": 0.01, "forgetting_factor": 0.9}),
    "RLS, beta 1": ("rls", {"ridge": 0.01}),
}
"""Learning rules and their settings by name; rows have length 1, as required by Assumption 1."""
NOTHING = 1e-20
"""Squared errors below this are rounding, here and in the colours."""


def places(setup: Setup) -> Axes:
    """Every method and run."""
    return {"learner": list(METHODS), "run": list(range(setup["runs"]))}


def tasks(setup: Setup, run: int) -> Pair:
    """Tasks of one row each: rotated images at length 1, and their angles."""
    found = data.rotated(setup.data, setup["tasks"], run)
    return found.X / np.linalg.norm(found.X, axis=1, keepdims=True), np.asarray(found.y)


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """The squared errors eps_ij^2 of the model after task j on task i, and those before each task."""
    import xarray

    X, y = tasks(setup, cell["run"])
    method, settings = METHODS[cell["learner"]]
    learner = setup.create(method, cell["run"], **settings)
    squares, ahead = np.empty((len(y), len(y))), np.empty(len(y))
    learner.partial_fit(X[:0], y[:0])
    for j in range(len(y)):
        ahead[j] = (y[j] - learner.predict(X[j : j + 1])[0]) ** 2
        learner.partial_fit(X[j : j + 1], y[j : j + 1])
        squares[:, j] = (y - learner.predict(X)) ** 2
    order = np.arange(1, len(y) + 1)
    return xarray.Dataset(
        {
            "squared_error": (
                ("task", "model"),
                squares,
                about("rad^2", "eps_ij^2 of the model after task j on task i"),
            ),
            "a_priori": ("task", ahead, about("rad^2", "squared error on each task just before it is learned")),
        },
        {"task": order, "model": order},
    )


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    E = results.squared_error.transpose("learner", "run", "task", "model").values
    rows = [
        (name, spread(own(e).mean(axis=1)), spread(forgetting(e.swapaxes(1, 2))), spread(e[:, :, -1].mean(axis=1)),
         spread(results.a_priori.sel(learner=name).mean("task")))
        for name, e in zip(METHODS, E, strict=True)
    ]  # fmt: skip
    columns = ("method", "on the task just learned", "forgetting F_T", "mean squared error E_T", "a-priori error")
    return [
        Section("Figure 1", [as_figure(_maps(E), _CAPTION, _alt(E))]),
        Section("Its sums", [Listing("Mean and standard deviation over the runs, in rad^2", columns, rows, True)]),
        claims_section(_claims(E, results.a_priori)),
        Section("What to know", [Text(_REMARKS)]),
    ]


_CAPTION = (
    "Squared error of the model after task j (across) on task i (down), mean over the runs, by powers of ten. On the "
    "diagonal is the task just learned (finetuning), left of it the task just before it is learned (online "
    "optimisation), right of it the past: continual learning looks at the whole upper triangle."
)
_REMARKS = [
    "A task is one image of the digit 2 at length 1, turned by an angle that grows from task to task; the angle is "
    "to be estimated. Any 784 features or fewer rows have a solution of all tasks here, as Assumption 1 wants.",
    "The survey's figure is a drawing of four by four entries without numbers; what it states of methods is in the "
    "table.",
]


def _maps(E: Array) -> Any:
    figure, plots = axes(3, 3, height=9.2, width=9.6, sharex=True, sharey=True)
    T = E.shape[-1]
    shown = np.log10(np.maximum(E.mean(axis=1), NOTHING))
    for plot, name, one in zip(plots.flat, METHODS, shown, strict=True):
        image = plot.imshow(one, vmin=-6, vmax=1, cmap="cividis", extent=(0.5, T + 0.5, T + 0.5, 0.5))
        plot.set_title(name, fontsize=9)
    figure.supxlabel("model after task j", fontsize=9)
    figure.supylabel("task i", fontsize=9)
    figure.colorbar(image, ax=plots, shrink=0.6, label="log10 of the squared error (rad^2)")
    return figure


def _alt(E: Array) -> str:
    details = ", ".join(f"{name} {forgetting(e.swapaxes(1, 2)).mean():.2g}" for name, e in zip(METHODS, E, strict=True))
    return f"A heat map for each method. Forgetting in rad^2: {details}."


def _claims(E: Array, ahead: xarray.DataArray) -> list[Claim]:
    of = dict(zip(METHODS, E, strict=True))
    T = E.shape[-1]
    bound = max(float((forgetting(e.swapaxes(1, 2)) - T / (T - 1) * e[:, :, -1].mean(axis=1)).max()) for e in E)
    past = {name: float(np.triu(e).max()) for name, e in of.items()}
    moved = max(
        float(abs(np.triu(e - np.diagonal(e, axis1=1, axis2=2)[:, :, None])).max()) for e in [of["OGD, step 1/2"]]
    )
    window = of["APA, 5 rows"]
    near = max(float(window[:, j - k, j].max()) for j in range(5, T) for k in range(5))
    halved = own(of["LMS, step 1/2"]) / ahead.sel(learner="LMS, step 1/2").transpose("run", "task")
    share = float(abs(np.sqrt(halved) - 0.5).max())
    return [
        Claim("F_T <= T/(T-1) E_T, all methods", "survey, section II, Metrics", "holds", f"{holds(bound <= 1e-12)}",
               "the largest difference is " + f"{bound:.1e}"),
        Claim("LMS with step 1: error on the task just learned", "survey, (LMS)", Number(0, "0"),
               _small(float(own(of["LMS, step 1"]).max()))),
        Claim("LMS with step 1/2: the same", "survey, (LMS)", "half the a-priori error",
               Number(share, f"share off by at most {share:.0e}")),
        Claim("APA with 5 rows: error on the last 5 tasks", "survey, (APA)", Number(0, "0"), _small(near)),
        Claim("APA with all rows: error on all tasks seen", "survey, (APA-dagger)", Number(0, "0"),
               _small(past["APA, all rows"])),
        Claim("ICL: error on all tasks seen", "survey, Theorem 5", Number(0, "0"), _small(past["ICL"])),
        Claim("OGD: change on tasks seen", "survey, after (OGD)", Number(0, "0"), _small(moved)),
    ]  # fmt: skip


def _small(value: float) -> Number:
    return Number(value, f"at most {value:.0e}")


PROCEDURE = Procedure(
    EXPERIMENTS["survey-figure-1"],
    protocol={"runs": 10, "tasks": 40},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"tasks": Integer(6)},
)

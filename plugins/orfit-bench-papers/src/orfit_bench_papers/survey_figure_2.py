"""Survey, Figure 2: LMS on two tasks in turn, with the constant step 1 and with steps that alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench import schedules
from orfit_bench.report.page import Number, Section, Text, as_figure
from orfit_bench.spec import Integer
from orfit_bench.spec.data import Array
from orfit_bench_papers import data
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.page import COLOURS, DASHES, Claim, axes, claims_section, legend, spread
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

if TYPE_CHECKING:
    import xarray

STEPS = ("constant", "alternating")


def places(setup: Setup) -> Axes:
    """Both kinds of steps, every run."""
    return {"steps": list(STEPS), "run": list(range(setup["runs"]))}


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """The distance of LMS from the common solution of two real tasks, step by step."""
    import xarray

    found = data.rotated(setup.data, 2, cell["run"])
    X, y, T = found.X / np.linalg.norm(found.X, axis=1, keepdims=True), np.asarray(found.y), setup["steps"]
    c = float((X[0] @ X[1]) ** 2)
    truth = np.linalg.lstsq(X, y, rcond=None)[0]
    values = [1.0] * T if cell["steps"] == "constant" else [1.0, 1 / (1 - c)] * ((T + 1) // 2)
    learner = setup.create("lms", step_size=schedules.sequence(values))
    plane = np.linalg.qr(X.T)[0]  # (d, 2): the path from 0 to the solution stays in the span of both tasks
    plane = plane * np.copysign(1, plane.T @ X[0] + 1e-300 * (plane.T @ X[1]))
    learner.partial_fit(X[:0], y[:0])
    gap, error = np.empty((T + 1, 2)), np.empty(T + 1)
    for t in range(T + 1):
        if t:
            learner.partial_fit(X[(t - 1) % 2][None], y[(t - 1) % 2][None])
        w = learner.array("w")[:, 0]
        gap[t] = plane.T @ (w - truth)
        seen = [0, 1] if t > 1 else [0]
        error[t] = float(np.mean([(y[i] - X[i] @ w) ** 2 for i in seen]))
    return xarray.Dataset(
        {
            "gap": (("t", "axis"), gap, about("1", "theta^t - theta* in an orthonormal basis of both tasks")),
            "error": ("t", error, about("rad^2", "E_t, the mean squared error on the tasks seen")),
            "c": ((), c, about("1", "(x_1'x_2)^2")),
            "tasks": (("task", "axis"), X @ plane, about("1", "the two rows in that basis")),
        },
        {"t": np.arange(T + 1), "axis": [0, 1], "task": [1, 2]},
    )


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    alt = (
        "Left: the way of both kinds of steps in the plane of two tasks. Right: the squared distance, which falls by "
        "the factor c a step with constant steps and to rounding after three alternating ones."
    )
    return [
        Section("Figure 2", [as_figure(_plots(results), _CAPTION, alt)]),
        claims_section(_claims(results)),
        Section("What to know", [Text(_notes(results))]),
    ]


_CAPTION = (
    "Left: theta^t - theta* of one run, on its way to 0 along the two lines on which a task is solved. Right: "
    "squared distance to theta* over that at the start, every run; the thin line is the bound c^(T-1) of its tasks' "
    "c."
)


def _plots(results: xarray.Dataset) -> Any:
    figure, (left, right) = axes(2, height=4.6)
    _path(left, results)
    t = results.t.values
    for i, steps in enumerate(STEPS):
        square = (results.gap.sel(steps=steps) ** 2).sum("axis").transpose("run", "t").values
        for run, one in enumerate(square / square[:, :1]):
            style = {"color": COLOURS[i], "linestyle": DASHES[i], "linewidth": 1}
            right.plot(t, np.maximum(one, 1e-33), label=None if run else steps, **style)
    for c in results.c.sel(steps="constant").values:
        right.plot(t[1:], c ** (t[1:] - 1), color="0.6", linewidth=0.5)
    right.set(yscale="log", xlabel="step t", ylabel="squared distance", ylim=(1e-33, 2))
    legend(right, 8)
    return figure


def _path(plot: Any, results: xarray.Dataset) -> None:
    run = results.isel(run=int(np.argsort(results.c.sel(steps="constant").values)[len(results.run) // 2]))
    size = float(abs(run.gap).max())
    for task in run.task.values:
        x = run.tasks.sel(task=task, steps="constant").values
        along = np.array([-x[1], x[0]]) * 1.15 * size  # orthogonal to the row: the line on which its task is solved
        plot.plot([-along[0], along[0]], [-along[1], along[1]], color="0.6", linewidth=1)
        plot.annotate(f"Span(x_{task})^⊥", along, fontsize=8, color="0.4")
    for i, steps in enumerate(STEPS):
        gap = run.gap.sel(steps=steps).values[:8]
        plot.plot(
            gap[:, 0], gap[:, 1], color=COLOURS[i], linestyle=DASHES[i], marker="os"[i], markersize=4, label=steps
        )
    plot.annotate("z^0", run.gap.sel(steps="constant", t=0).values, fontsize=9)
    plot.set_aspect("equal")
    legend(plot, 8)


def _claims(results: xarray.Dataset) -> list[Claim]:
    square = (results.gap**2).sum("axis")
    start = square.sel(t=0)
    constant, alternating = square.sel(steps="constant"), square.sel(steps="alternating")
    even = results.t.values[2::2]
    c = results.c.sel(steps="constant")
    over = [float((constant.sel(t=T) / (c ** (T - 1) * start.sel(steps="constant"))).max()) for T in even if T <= 10]
    E = results.error.sel(steps="constant")
    second = [float((E.sel(t=T) * np.e * (T - 1) / start.sel(steps="constant")).max()) for T in even]
    three = float((alternating.sel(t=3) / start.sel(steps="alternating")).max())
    E3 = float(results.error.sel(steps="alternating", t=3).max())
    return [
        Claim("|theta^T - theta*|^2 <= c^(T-1) |theta*|^2, T even", "survey, Theorem 2", "ratio at most 1",
               Number(max(over), f"at most {max(over):.6f}"), "up to T = 10; then rounding shows where c is small"),
        Claim("E_T <= |theta*|^2 / (e (T-1)), T even", "survey, Theorem 2", "ratio at most 1",
               Number(max(second), f"at most {max(second):.3f}"), "the bound holds for every c; half of it would do"),
        Claim("|theta^3 - theta*|^2 / |theta*|^2, alternating steps", "survey, Theorem 3", Number(0, "0"),
               Number(three, f"at most {three:.0e}"), "rounding, amplified by 1 / (1 - c)"),
        Claim("E_3, alternating steps", "survey, Theorem 3", Number(0, "0"), Number(E3, f"at most {E3:.0e}"), "rad^2"),
        Claim("the same with constant steps", "survey, Figure 2", "not yet", spread(E.sel(t=3)), "E_3, rad^2"),
    ]  # fmt: skip


def _notes(results: xarray.Dataset) -> list[str]:
    c: Array = results.c.sel(steps="constant").values
    return [
        "Each run draws two rotated images of the digit 2 at length 1, with their angles as targets; c = (x_1'x_2)^2 "
        f"is {c.min():.2f} to {c.max():.2f}. The survey's figure is a drawing without numbers.",
        "Two tasks in turn have rank 2, so Assumption 1 holds for the first two rows alone; theta* is the solution "
        "of both of least norm, from a batch problem.",
    ]


PROCEDURE = Procedure(
    EXPERIMENTS["survey-figure-2"],
    protocol={"runs": 10, "steps": 40},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"steps": Integer(3)},
)

"""Survey, Figure 7 and Theorem 7: filter and smoother on tasks in turn; later rows help earlier tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orfit_bench.report.page import Cell as Shown
from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench.spec import Integer
from orfit_bench.spec.data import Array
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.page import COLOURS, ONE_RUN, Claim, axes, claims_section, holds, legend
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

if TYPE_CHECKING:
    import xarray


class World(NamedTuple):
    """A linear Gaussian model of T tasks with d parameters."""

    transitions: Array
    """(T, d, d) A_t; the first is the identity."""
    process: Array
    """(T, d, d) Q_t."""
    X: Array
    """(T, d)"""
    noise: Array
    """(T,) R_t."""


def places(setup: Setup) -> Axes:
    """Every run."""
    return {"run": list(range(setup["runs"]))}


def world(setup: Setup) -> World:
    """The world, the same in every run, so that errors over the runs have the covariances that the smoother states."""
    rng, T, d = np.random.default_rng(7), setup["tasks"], setup["d"]
    turns = [np.linalg.qr(np.eye(d) + 0.4 * rng.standard_normal((d, d)))[0] for _ in range(T)]
    roots = 0.2 * rng.standard_normal((T, d, d))
    process = roots @ roots.transpose(0, 2, 1) + 0.01 * np.eye(d)
    return World(np.array([np.eye(d), *turns[1:]]), process, rng.standard_normal((T, d)), rng.uniform(0.05, 0.5, T))


def drawn_states(found: World, seed: int) -> tuple[Array, Array]:
    """The true states (T, d) and the observations (T,)."""
    rng, (T, d) = np.random.default_rng([seed, 7]), found.X.shape
    theta = np.empty((T, d))
    theta[0] = rng.standard_normal(d)
    for t in range(1, T):
        theta[t] = found.transitions[t] @ theta[t - 1] + np.linalg.cholesky(found.process[t]) @ rng.standard_normal(d)
    return theta, (found.X * theta).sum(axis=1) + np.sqrt(found.noise) * rng.standard_normal(T)


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """For every t, the estimates of all tasks up to t from the rows up to t: their stated and their true errors."""
    import xarray

    found = world(setup)
    theta, y = drawn_states(found, cell["run"])
    T, d = found.X.shape
    learner = setup.create("kalman", initial_covariance=np.eye(d))
    squares, traces = np.full((T, T), np.nan), np.full((T, T), np.nan)
    covariances = np.full((T, T, d, d), np.nan)
    for t in range(T):
        part = slice(0, t + 1)
        varying = {"transition": found.transitions[part], "process_noise": found.process[part]}
        smooth = learner.smooth(found.X[part], y[part], observation_noise=found.noise[part], **varying)
        squares[: t + 1, t] = ((smooth["mean"].values[:, :, 0] - theta[part]) ** 2).sum(axis=1)
        covariances[: t + 1, t] = smooth["covariance"].values
        traces[: t + 1, t] = np.trace(smooth["covariance"].values, axis1=1, axis2=2)
    least = min(
        float(np.linalg.eigvalsh(covariances[i, s] - covariances[i, t])[0])
        for i in range(T)
        for s in range(i, T)
        for t in range(s, T)
    )
    order = np.arange(1, T + 1)
    return xarray.Dataset(
        {
            "squared_error": (("task", "rows"), squares, about("1", "|theta_i - theta_(i|t)|^2")),
            "trace": (("task", "rows"), traces, about("1", "tr Sigma_(i|t), the error that is claimed")),
            "least": ((), least, about("1", "least eigenvalue of Sigma_(i|s) - Sigma_(i|t) over all i <= s <= t")),
        },
        {"task": order, "rows": order},
    )


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    trace = results.trace.isel(run=0).values
    true = results.squared_error.mean("run").values
    T = len(trace)
    alt = (
        "Claimed and true mean squared errors by task and rows known. Of task 1 the claim falls from "
        f"{trace[0, 0]:.2f} with its own row to {trace[0, -1]:.2f} with all {T} rows."
    )
    columns = ("task", "claimed, own rows", "claimed, all rows", "true, own rows", "true, all rows", "better")
    table: list[tuple[Shown, ...]] = [
        (str(i + 1), *(_number(v) for v in (trace[i, i], trace[i, -1], true[i, i], true[i, -1])),
         f"{100 * (1 - trace[i, -1] / trace[i, i]):.0f} %")
        for i in range(T)
    ]  # fmt: skip
    return [
        Section("Figure 7", [as_figure(_plots(trace, true, results), _CAPTION, alt)]),
        claims_section(_claims(results)),
        Section("Backward transfer", [Listing("Mean squared errors by task", columns, table)]),
        Section("What to know", [Text(_notes(setup))]),
    ]


def _number(value: float) -> Number:
    return Number(value, f"{value:.3f}")


_CAPTION = (
    "Left: tr Sigma_(i|t), the squared error of task i that is claimed once the rows up to t are known: the filter "
    "walks down the diagonal, the smoother up each column. Right: the same by t for each task (curves), and the true "
    "squared errors, mean over the runs (dots)."
)


def _plots(trace: Array, true: Array, results: xarray.Dataset) -> Any:
    figure, (left, right) = axes(2, height=4.6)
    T = len(trace)
    image = left.imshow(trace, cmap="cividis", extent=(0.5, T + 0.5, T + 0.5, 0.5))
    for i in range(T):
        for t in range(i, T):
            left.text(t + 1, i + 1, f"{trace[i, t]:.2f}", ha="center", va="center", fontsize=6, color="#ffffff",
                      bbox={"facecolor": "#333333", "edgecolor": "none", "pad": 0.8, "alpha": 0.6})  # fmt: skip
    left.set(xlabel="rows known, t", ylabel="task i", xticks=range(1, T + 1), yticks=range(1, T + 1))
    figure.colorbar(image, ax=left, shrink=0.8)
    for i in range(T):
        at = np.arange(i, T) + 1
        right.plot(at, trace[i, i:], color=COLOURS[i % len(COLOURS)], linewidth=1.3, label=f"task {i + 1}")
        right.plot(
            at, true[i, i:], color=COLOURS[i % len(COLOURS)], marker="os^DvPX*"[i % 8], markersize=4, linestyle=""
        )
    right.set(xlabel="rows known, t", ylabel="squared error", ylim=(0, None))
    legend(right, 7, ncols=2)
    return figure


def _claims(results: xarray.Dataset) -> list[Claim]:
    least = float(results.least.min())
    squares = results.squared_error.transpose("run", "task", "rows")
    known = ~np.isnan(squares.isel(run=0).values)
    runs = len(results.run)
    own = np.diagonal(squares.mean("run").values)
    gain = own - squares.mean("run").isel(rows=-1).values
    better = int((gain[:-1] > 0).sum())
    return [
        Claim("Sigma_(i|t) below Sigma_(i|s) for all i <= s <= t", "survey, Theorem 7",
               "least eigenvalue of difference >= 0",
               Number(least, f"{least:.1e}"), f"{holds(least > -1e-10)}, to rounding"),
        Claim("later rows make the mean squared error smaller", "survey, Theorem 7", "of every task but the last",
               f"of {better} of {len(gain) - 1} tasks", f"true errors, mean over {runs} runs"),
        Claim("backward transfer, mean over tasks", "survey, Positive Backward Transfer", "> 0",
               _number(float(gain[:-1].mean())), "fall of the true squared error from own rows to all rows"),
        Claim("claimed errors are the true ones", "survey, (15)", "E |theta_i - theta_(i|t)|^2 = tr Sigma_(i|t)",
               *_separation(squares.values[:, known], results.trace.isel(run=0).values[known])),
    ]  # fmt: skip


def _separation(squares: Array, claimed: Array) -> tuple[Shown, str]:
    """The largest deviation of the means of squares (run, pair) from the stated values, and the expected deviation."""
    from scipy.stats import t as student

    runs, pairs = squares.shape
    if runs == 1:
        return "n/a", ONE_RUN
    far = float((abs(squares.mean(axis=0) - claimed) / (squares.std(axis=0, ddof=1) / np.sqrt(runs))).max())
    within = student.ppf(1 - 0.025 / pairs, runs - 1)
    bound = f"all {pairs} of Student's t with {runs - 1} degrees of freedom are within {within:.1f} with 95 %"
    return Number(far, f"at most {far:.1f} standard errors apart"), f"all i <= t; {bound}"


def _notes(setup: Setup) -> list[str]:
    return [
        f"{setup['tasks']} tasks with {setup['d']} parameters, of one row each. The transitions are rotations, "
        "another for every task; process and observation noise differ from task to task too; all are the same in "
        "every run, so covariances, which depend on no observation, are as well. The survey's figure is a drawing "
        "without numbers.",
        "The smoother's gain has A_j, the transition to step j, where the proof of Theorem 7 prints A_t.",
    ]


PROCEDURE = Procedure(
    EXPERIMENTS["survey-figure-7"],
    protocol={"runs": 200, "tasks": 8, "d": 4},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"tasks": Integer(2)},
)

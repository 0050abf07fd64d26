"""Survey, Figure 5: RLS averages two tasks, weighted by the forgetting factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench.spec import Integer, types
from orfit_bench_papers import data
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.page import COLOURS, Claim, axes, band, claims_section, legend
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

if TYPE_CHECKING:
    import xarray

TASKS = ((2.0, 4.0), (1.0, 1.0))
"""The pairs (x, y) of both tasks, as printed; their solutions are 2 and 1."""


def places(setup: Setup) -> Axes:
    """The runs on real rows; the printed tasks are the same in each."""
    return {"run": list(range(setup["runs"]))}


def betas(setup: Setup) -> Any:
    """Values of beta from far below 1 up to 1, and the same number from 1 to far above."""
    return np.concatenate([np.geomspace(1e-4, 1, setup["betas"])[:-1], np.geomspace(1, 1e4, setup["betas"])])


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """theta of RLS-(beta, 0) on the printed tasks, and errors on both halves of real rows."""
    import xarray

    (x1, y1), (x2, y2) = TASKS
    theta = []
    for beta in betas(setup):
        rls = setup.create("rls", ridge=0.0, forgetting_factor=float(beta)).step([[x1]], [y1])
        theta.append(float(rls.partial_fit([[x2]], [y2]).array("w")[0, 0]))
    found = data.rotated(setup.data, setup["rows"], cell["run"])
    half = setup["rows"] // 2
    factors = _factors(setup)
    errors = np.empty((len(factors), 2))
    for i, beta in enumerate(factors):
        rls = setup.create("rls", ridge=setup["ridge"], forgetting_factor=float(beta)).partial_fit(found.X, found.y)
        gap = (rls.predict(found.X) - found.y) ** 2
        errors[i] = gap[:half].mean(), gap[half:].mean()
    return xarray.Dataset(
        {
            "theta": ("beta", np.array(theta), about("1", "the model of RLS-(beta, 0) after both printed tasks")),
            "error": (("factor", "half"), errors, about("rad^2", "mean squared error on both halves of the real rows")),
        },
        {"beta": betas(setup), "factor": factors, "half": [1, 2]},
    )


def _factors(setup: Setup) -> Any:
    """Forgetting factors per row; over half of the rows, they multiply weights by 1/1000 to 1000."""
    return np.geomspace(0.001, 1000, 13) ** (2 / setup["rows"])


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    one = results.theta.isel(run=0)
    ends = f"{float(one[0]):.3f} to {float(one[-1]):.3f}"
    alt = f"Left: theta rises from {ends} with beta. Right: the error moves from one half to the other."
    table = [(f"{float(b):.3g}", Number(float(v), f"{float(v):.6f}")) for b, v in zip(one.beta, one, strict=True)]
    return [
        Section("Figure 5", [as_figure(_plots(results, setup), _CAPTION, alt)]),
        claims_section(_claims(results)),
        Section(
            "Numbers",
            [Listing("theta of RLS-(beta, 0) after both tasks", ("beta", "theta"), table[:: max(1, len(table) // 8)])],
        ),
        Section("What to know", [Text(_REMARKS)]),
    ]


_CAPTION = (
    "Left: what RLS-(beta, 0) learns from (2, 4) and then (1, 1), between their own solutions 2 and 1. Right: the "
    "same trade on real rows, the first and the second half of rotated images; mean and one standard deviation."
)
_REMARKS = [
    "beta weighs the residual of task i by beta^-i: below 1 the past fades and theta goes to the last task's "
    "solution, above 1 the past is remembered the more and theta goes to the first task's.",
    "In the limit beta = 0 Lemma 1 speaks of tasks with a common solution, which these have not; `rls` with "
    "forgetting factor 0 keeps the first task's then, for the second row is dependent on the first.",
]


def _plots(results: xarray.Dataset, setup: Setup) -> Any:
    figure, (left, right) = axes(2, height=4.2)
    left.plot(results.beta, results.theta.isel(run=0), color=COLOURS[0], marker="o", markersize=3)
    for (x, y), name, i in zip(TASKS, ("task 1", "task 2"), (1, 2), strict=True):
        left.axhline(y / x, color=COLOURS[i], linestyle="--", linewidth=1)
        left.annotate(
            f"argmin of {name} alone", (1.5e-4, y / x + (0.02 if y / x < 1.5 else -0.05)), fontsize=8, color=COLOURS[i]
        )
    left.set(xscale="log", xlabel="beta", ylabel="theta")
    halves = results.error.transpose("half", "run", "factor").values
    for i, name in enumerate(("first half", "second half")):
        band(right, results.factor.values ** (setup["rows"] / 2), halves[i], name, i)
    right.set(xscale="log", xlabel="weight of a row over that of one half a stream later")
    right.set(yscale="log", ylabel="mean squared error (rad^2)")
    legend(right, 8)
    return figure


def _claims(results: xarray.Dataset) -> list[Claim]:
    one = results.theta.isel(run=0)
    beta = one.beta
    exact = (8 * beta + 1) / (4 * beta + 1)
    off = float(abs(one - exact).max())
    middle = float(one.sel(beta=1.0))
    return [
        Claim("theta_1* of (2, 4)", "survey, Figure 5", Number(2, "2"),
               Number(float(one[-1]), f"{float(one[-1]):.4f}"),
               f"reached as beta grows; at beta = {float(beta[-1]):g}"),
        Claim("theta_2* of (1, 1)", "survey, Figure 5", Number(1, "1"), Number(float(one[0]), f"{float(one[0]):.4f}"),
               f"reached as beta falls; at beta = {float(beta[0]):g}"),
        Claim("argmin of the sum of (x_i theta - y_i)^2 / beta^i", "survey, Figure 5", "(8 beta + 1) / (4 beta + 1)",
               Number(off, f"off by at most {off:.0e}"), "all beta"),
        Claim("the plain average, beta = 1", "from the same", Number(1.8, "9/5"), Number(middle, f"{middle:.6f}")),
    ]  # fmt: skip


PROCEDURE = Procedure(
    EXPERIMENTS["survey-figure-5"],
    protocol={"runs": 10, "betas": 21, "rows": 100, "ridge": 0.01},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"betas": Integer(2), "rows": Integer(2), "ridge": types.Number(0, closed="neither")},
)

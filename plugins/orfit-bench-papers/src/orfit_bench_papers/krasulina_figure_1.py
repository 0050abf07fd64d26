"""Krasulina paper, Figure 1: excess loss of five rules for k-PCA against learning time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench.measuring import warm_up
from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench.spec import Data
from orfit_bench_papers import _krasulina as k_pca
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.page import COLOURS, DASHES, SPREAD, Claim, axes, claims_section, legend, spread
from orfit_bench_papers.procedure import Axes, Cell, Procedure, Setup, about

if TYPE_CHECKING:
    import xarray


def places(setup: Setup) -> Axes:
    """Every k and method; the runs share a step, so they are in one cell."""
    return {"k": list(setup["components"]), "learner": list(k_pca.METHODS)}


def measure(setup: Setup, cell: Cell) -> xarray.Dataset:
    """Excess over batch PCA along one sweep at the step chosen on a validation part, and the time of learning."""
    import xarray

    k, name = cell["k"], cell["learner"]
    X = k_pca.images(setup.data)
    batch, eta0 = k_pca.batch_loss(setup.data, k), k_pca.chosen(setup, name, k)
    warm_up(lambda: k_pca.create_learner(setup, name, k, eta0, 0), Data(X))
    sweeps = [
        k_pca.swept(k_pca.create_learner(setup, name, k, eta0, run), X, setup.data, run, setup["points"])
        for run in range(setup["runs"])
    ]
    excess = k_pca.excess(np.array([s.loss for s in sweeps]), batch)
    seconds = np.array([s.seconds for s in sweeps])
    rows = np.array([len(part) for part in np.array_split(np.arange(len(X)), setup["points"])]).cumsum()
    return xarray.Dataset(
        {
            "excess": (("run", "rows_learned"), excess, about("%", "loss beyond batch PCA's, on all rows")),
            "seconds": (("run", "rows_learned"), seconds, about("s", "wall time of learning so far")),
            "eta0": ((), eta0, about("1", "the step chosen on the validation part, 0 where the method has none")),
        },
        {"run": np.arange(setup["runs"]), "rows_learned": rows},
    )


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    end, seconds = results.excess.isel(rows_learned=-1), results.seconds.isel(rows_learned=-1)
    columns = ("method", *(f"k = {k}" for k in results.k.values))
    tables = [
        Listing(f"Excess over batch PCA after one sweep, in percent; {SPREAD}", columns, _cells(end), True),
        Listing(f"Milliseconds of a sweep; {SPREAD}", columns, _cells(1000 * seconds), True),
    ]
    return [
        Section("Figure 1", [as_figure(_curves(results), _CAPTION, _alt(end, seconds))]),
        Section("At the end of the sweep", tables),
        claims_section(_claims(end, seconds)),
        Section("What to know", [Text(_notes(results, setup))]),
    ]


_CAPTION = (
    "Excess over batch PCA on all rows in percent, against the wall time of learning; a dot after equal parts of one "
    "sweep. Means over the runs."
)


def _curves(results: xarray.Dataset) -> Any:
    ks = results.k.values
    figure, plots = axes(len(ks), height=4.0, width=12.0, squeeze=False)
    for plot, k in zip(plots[0], ks, strict=True):
        for i, name in enumerate(k_pca.METHODS):
            one = results.sel(k=k, learner=name).mean("run")
            style = {"color": COLOURS[i], "linestyle": DASHES[i], "marker": "os^Dv"[i], "markersize": 3}
            plot.plot(1000 * one.seconds, one.excess, label=name, linewidth=1.2, **style)
        plot.set(yscale="log", xscale="log", title=f"k = {k}", xlabel="milliseconds of learning")
        plot.xaxis.set_minor_formatter("")
        plot.yaxis.set_minor_formatter("")
    plots[0, 0].set_ylabel("excess over batch PCA (%)")
    legend(plots[0, 0], 7)
    return figure


def _alt(end: xarray.DataArray, seconds: xarray.DataArray) -> str:
    rows = [
        f"k = {k}: "
        + ", ".join(
            f"{n} {float(end.sel(k=k, learner=n).mean()):.2g} % in "
            f"{1000 * float(seconds.sel(k=k, learner=n).mean()):.2g} ms"
            for n in k_pca.METHODS
        )
        for k in end.k.values
    ]
    return f"Curves of excess loss against time. At the end, {'; '.join(rows)}."


def _cells(values: xarray.DataArray) -> list[tuple[str | Number, ...]]:
    return [(name, *(spread(values.sel(learner=name, k=k)) for k in values.k.values)) for name in k_pca.METHODS]


def _claims(end: xarray.DataArray, seconds: xarray.DataArray) -> list[Claim]:
    place, rows = "Krasulina paper, Figure 1", []
    for k in (int(k) for k in end.k.values):
        best, least = _first(end.sel(k=k), "%")
        fastest, shortest = _first(1000 * seconds.sel(k=k), "ms")
        rows += [
            Claim(f"best at the end, k = {k}", place, "Imp. Krasulina", best, least),
            Claim(f"fastest, k = {k}", place, "Imp. Krasulina in most cases, as fast as Sanger", fastest, shortest),
        ]
    return rows


def _first(values: xarray.DataArray, unit: str) -> tuple[str, str]:
    """The method with the smallest mean; the numbers of the first two, and of the implicit rule if it is neither."""
    means = values.mean("run", skipna=False).to_series().sort_values()
    shown = dict.fromkeys([*map(str, means.index[:2]), "Imp. Krasulina"])
    return str(means.index[0]), ", ".join(f"{name} {spread(values.sel(learner=name)).text} {unit}" for name in shown)


def _notes(results: xarray.Dataset, setup: Setup) -> list[str]:
    per_sweep = int(results.rows_learned.values[-1])
    small = f"A sweep is {per_sweep:,} rows here and 70,000 in the paper's MNIST, with a dot every 5,000."
    took = results.seconds.isel(rows_learned=-1, k=-1).mean("run")
    oja, krasulina = (float(took.sel(learner=n) / took.sel(learner="Imp. Krasulina")) for n in ("Oja", "Krasulina"))
    last = int(results.k.values[-1])
    left = k_pca.batch_loss(setup.data, last) / k_pca.batch_loss(setup.data, 0)
    return [
        f"{small} The step is chosen as in krasulina-table-1, which also shows what as many rows as the paper's give.",
        f"At k = {last} batch PCA leaves {100 * left:.2g} % of the rows' squares: where that is little, percents of "
        "it are many.",
        "The paper orthonormalizes C of Oja and Krasulina after every row, which makes its gap in time. The kernels "
        "here get the same C with a QR now and then (of Krasulina's rule with the inverse of C'C kept), so that less "
        f"is left: they take {oja:.1f} and {krasulina:.1f} times the implicit rule's time at k = {last}.",
        "Times are wall times of learning alone, without losses and without compilation, and differ between runs and "
        "machines; all else in the file is the same each time.",
    ]


PROCEDURE = Procedure(
    EXPERIMENTS["krasulina-figure-1"],
    protocol={"runs": 10, "components": (5, 10, 20, 50), "points": 14},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"components": k_pca.COMPONENTS},
)

"""The sections of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench_papers import _krasulina as k_pca
from orfit_bench_papers.krasulina_distributed.measurement import MEANT, READINGS, SIGNED, TABLE_2
from orfit_bench_papers.page import (
    COLOURS,
    DASHES,
    Ambiguity,
    Claim,
    ambiguities_section,
    axes,
    claims_section,
    legend,
    printed,
    spread,
)
from orfit_bench_papers.procedure import Setup

if TYPE_CHECKING:
    import xarray


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    here = results.sel(reading="as here")
    return [
        Section("Figure 2", [as_figure(_curves(here), _CAPTION, _alt(here))]),
        Section("Table 2", [Listing(f"Loss on {setup.data}: mean and standard deviation over the runs",
                                    ("k", "method", "batch PCA", "single", "parallel"), _table(here), True)]),
        claims_section(_claims(results, setup)),
        ambiguities_section(_ambiguities(results), "Loss of the combination after the last round"),
        Section("What to know", [Text(_notes(setup))]),
    ]  # fmt: skip


_CAPTION = (
    "Excess over batch PCA in percent after every round. Solid: the combination of the machines; dashed: the "
    "machines on average, before they are combined. Means over the runs."
)


def _curves(here: xarray.Dataset) -> Any:
    ks = here.k.values
    figure, plots = axes(len(ks), height=4.2, squeeze=False)
    for plot, k in zip(plots[0], ks, strict=True):
        for i, name in enumerate(k_pca.METHODS):
            one = here.sel(k=k, learner=name)
            for values, dash, label in ((one.combined, DASHES[0], name), (one.machines, DASHES[1], None)):
                excess = k_pca.excess(values, one.batch).mean("run")
                style = {"color": COLOURS[i], "linestyle": dash, "marker": "os^Dv"[i], "markersize": 4}
                plot.plot(here["round"].values, excess, label=label, linewidth=1.3, **style)
        plot.set(yscale="log", title=f"k = {k}", xlabel="round")
    plots[0, 0].set_ylabel("excess over batch PCA (%)")
    legend(plots[0, 0], 8)
    return figure


def _alt(here: xarray.Dataset) -> str:
    last = k_pca.excess(here.combined.isel(round=-1), here.batch).mean("run")
    rows = [
        f"k = {k}: " + ", ".join(f"{n} {float(last.sel(k=k, learner=n)):.2g}" for n in k_pca.METHODS)
        for k in here.k.values
    ]
    return f"Curves of excess loss by rounds. Of the combination after the last one in percent, {'; '.join(rows)}."


def _table(here: xarray.Dataset) -> list[tuple[Any, ...]]:
    rows = []
    for k in here.k.values:
        for name in k_pca.METHODS:
            one = here.sel(k=k, learner=name)
            batch = Number(float(one.batch), f"{float(one.batch):.4g}")
            rows.append((str(k), name, batch, spread(one.single, 4), spread(one.combined.isel(round=-1), 4)))
    return rows


def _claims(results: xarray.Dataset, setup: Setup) -> list[Claim]:
    source = setup.data if setup.data in TABLE_2 else "mnist"
    rows = []
    for k in (int(k) for k in results.k.values if int(k) in TABLE_2[source]):
        rows += _implicit(results.sel(reading="as here", k=k, learner="Imp. Krasulina"), setup, source, k)
        rows += [
            _inferior(results.sel(k=k, learner=name), name, k) for name in k_pca.METHODS if name != "Imp. Krasulina"
        ]
    return rows


def _implicit(one: xarray.Dataset, setup: Setup, source: str, k: int) -> list[Claim]:
    """The implicit rule on one machine and on all machines, compared with Table 2."""
    place, rows = f"Krasulina paper, Table 2, {source}", []
    here, there = len(k_pca.images(setup.data)), k_pca.ROWS[source]
    seen = (here, there), (here // setup["machines"], there // 10)
    cases = {"single": one.single, "parallel": one.combined.isel(round=-1)}
    for (what, loss), counts, theirs in zip(cases.items(), seen, TABLE_2[source][k], strict=True):
        meant = MEANT.get(theirs[0], theirs[0])
        slip = f"{theirs[0]} is a slip of a digit: Table 1 has {meant} for the same run" if meant != theirs[0] else ""
        percent, found = k_pca.excess(meant, k_pca.BATCH[source][k]), spread(k_pca.excess(loss, one.batch))
        rows += [
            Claim(f"Imp. Krasulina, {what}, k = {k}: loss", place, printed(*theirs), spread(loss, 4), slip),
            Claim(f"Imp. Krasulina, {what}, k = {k}: excess over batch PCA", place,
                   Number(percent, f"{percent:.2f} %"), Number(found.value, f"{found.text} %"),
                   _rows(*counts)),
        ]  # fmt: skip
    return rows


def _inferior(one: xarray.Dataset, name: str, k: int) -> Claim:
    """Another rule after the last round, and the effect of the signs of its averages."""
    excess = k_pca.excess(one.combined.isel(round=-1), one.batch)
    found, other = (spread(excess.sel(reading=reading)) for reading in ("as here", "signs"))
    signs = f"{other.text} % with the signs of LAPACK's QR" if name in SIGNED else ""
    what = f"{name}, parallel, k = {k}: excess over batch PCA"
    return Claim(what, "Krasulina paper, Figure 2", "inferior", Number(found.value, f"{found.text} %"), signs)


def _rows(here: int, there: int) -> str:
    return "" if here == there else f"a machine sees {here:,} rows here and {there:,} there"


def _ambiguities(results: xarray.Dataset) -> list[Ambiguity]:
    def end(reading: str, name: str, k: int) -> Number:
        return spread(results.combined.sel(reading=reading, learner=name, k=k).isel(round=-1), 4)

    return [
        Ambiguity(f"{what}: {name}, k = {k}", chosen, other, end("as here", name, k), end(reading, name, k))
        for reading, (what, chosen, other) in list(READINGS.items())[1:]
        for k in (int(k) for k in results.k.values)
        for name in (k_pca.POWER if reading == "own starts" else SIGNED)
    ]


def _notes(setup: Setup) -> list[str]:
    rows = len(k_pca.images(setup.data))
    each = rows // setup["machines"] // setup["rounds"]
    return [
        f"{rows:,} rows are split at random among {setup['machines']} machines and combined {setup['rounds']} times, "
        f"after {each:,} rows of each; the paper combines after 1,000.",
        "Sanger's and the implicit rule have an average of their own, (18). The paper averages the orthonormal C of "
        "the others too and makes the mean orthonormal; incremental PCA keeps its singular values. The library's own "
        "merge of those rules joins their projections, which no sign changes.",
    ]

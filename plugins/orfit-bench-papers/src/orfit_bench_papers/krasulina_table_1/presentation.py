"""The sections of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench_papers import _krasulina as k_pca
from orfit_bench_papers.krasulina_table_1.measurement import (
    DIGIT,
    FACTORS,
    HIGHER,
    LONGER,
    READINGS,
    UNEXPLAINED,
    sweeps_of,
)
from orfit_bench_papers.page import (
    COLOURS,
    SPREAD,
    Ambiguity,
    Claim,
    ambiguities_section,
    axes,
    claims_section,
    printed,
    spread,
)
from orfit_bench_papers.procedure import Setup

if TYPE_CHECKING:
    import xarray


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    here = results.sel(reading="as here")
    ks = [f"k = {k}" for k in here.k.values]
    return [
        Section("Table 1", [Listing(f"Loss on {setup.data}: mean and standard deviation over the runs",
                                    ("method", "factor on eta_0", *ks), _table(here))]),
        Section("How much a wrong step costs", [as_figure(_bars(here, setup), _CAPTION, _alt(here))]),
        claims_section(_claims(results, setup), _claims_caption(setup)),
        Section("Steps", [Listing("eta_0 chosen on the validation part", ("method", *ks),
                                  [(n, *(_step(here, n, k) for k in here.k.values)) for n in k_pca.POWER])]),
        ambiguities_section(
            _ambiguities(results), f"Loss at the chosen step, k = {int(here.k.values[-1])}, under other readings"
        ),
        Section("What to know", [Text(_notes(here))]),
    ]  # fmt: skip


_CAPTION = (
    "Excess over batch PCA in percent after one sweep, at a tenth of the chosen step, at it, and at ten times it; "
    "means over the runs. Incremental PCA has no step."
)


def _table(here: xarray.Dataset) -> list[tuple[Any, ...]]:
    ks = here.k.values
    batch = [float(here.batch.sel(k=k).isel(learner=0)) for k in ks]
    rows: list[tuple[Any, ...]] = [("Batch PCA", "", *(Number(b, f"{b:.4g}") for b in batch))]
    for name in k_pca.METHODS:
        for factor in FACTORS if name in k_pca.POWER else (1.0,):
            losses = (spread(here.loss.sel(learner=name, k=k, factor=factor), 4) for k in ks)
            rows.append((name, f"{factor:g}" if name in k_pca.POWER else "", *losses))
    return rows


def _step(here: xarray.Dataset, name: str, k: int) -> Number:
    value = float(here.eta0.sel(learner=name, k=k))
    return Number(value, f"{value:.2g}")


def _excesses(here: xarray.Dataset) -> xarray.DataArray:
    return k_pca.excess(here.loss, here.batch)  # type: ignore[no-any-return]


def _bars(here: xarray.Dataset, setup: Setup) -> Any:
    ks = here.k.values
    figure, plots = axes(len(ks), height=3.8, sharey=True, squeeze=False)
    found = _excesses(here).mean("run")
    for plot, k in zip(plots[0], ks, strict=True):
        for i, name in enumerate(k_pca.METHODS):
            for j, factor in enumerate(FACTORS):
                height = float(found.sel(k=k, learner=name, factor=factor))
                at = i + 0.28 * (j - 1)
                plot.bar(at, height, 0.25, color=COLOURS[i], alpha=(0.45, 1.0, 0.7)[j], hatch=("//", "", "..")[j])
        plot.set(yscale="log", title=f"k = {k}", xticks=range(len(k_pca.METHODS)))
        plot.set_xticklabels([name.replace(" ", "\n") for name in k_pca.METHODS], fontsize=7)
    plots[0, 0].set_ylabel("excess over batch PCA (%)")
    return figure


def _alt(here: xarray.Dataset) -> str:
    found, k = _excesses(here).mean("run"), int(here.k.values[-1])
    reason = [
        f"{name} " + ", ".join(f"{float(found.sel(k=k, learner=name, factor=f)):.2g}" for f in FACTORS)
        for name in k_pca.POWER
    ]
    return f"Bars of the excess at 0.1, 1 and 10 times the step. At k = {k}, in percent: {'; '.join(reason)}."


def _printed_set(setup: Setup) -> str:
    return setup.data if setup.data in k_pca.PRINTED else "mnist"


def _claims_caption(setup: Setup) -> str:
    if _printed_set(setup) == setup.data:
        return f"Loss and, behind it, excess over batch PCA in percent, on {setup.data}; {SPREAD}"
    others = f"the paper's on MNIST beside ours on {setup.data}, which are other images"
    return f"Excess over batch PCA in percent: {others}; {SPREAD}"


def _claims(results: xarray.Dataset, setup: Setup) -> list[Claim]:
    source, same = _printed_set(setup), _printed_set(setup) == setup.data
    here, longer = results.sel(reading="as here"), results.sel(reading=LONGER)
    rows = []
    for k in (int(k) for k in here.k.values if int(k) in k_pca.BATCH[source]):
        if same:
            rows.append(_batch(here, setup, k))
        for (name, factor), (mean, deviation) in k_pca.PRINTED[source][k].items():
            ours, long = (one.sel(k=k, learner=name, factor=factor) for one in (here, longer))
            batch = k_pca.BATCH[source][k]
            theirs, found = k_pca.excess(mean, batch), spread(_excesses(ours))
            tried = [spread(k_pca.excess(loss, long.batch)) for loss in (long.loss, long.higher_loss)]
            losses = (f"{mean:.2f} ± {deviation:.2f}; ", f"{spread(ours.loss, 4).text}; ") if same else ("", "")
            step = f", {factor:g} times the step" if name in k_pca.POWER else ""
            rows.append(
                Claim(f"k = {k}, {name}{step}", "Krasulina paper, Table 1",
                       Number(theirs, f"{losses[0]}{theirs:.2f} %"), Number(found.value, f"{losses[1]}{found.text} %"),
                       _why(theirs, found.value, tried, sweeps_of(setup.data), DIGIT / batch if same else None))
            )  # fmt: skip
    return rows


def _batch(here: xarray.Dataset, setup: Setup, k: int) -> Claim:
    """The loss of batch PCA, which differs from that of the paper for other images."""
    rows, theirs = len(k_pca.images(setup.data)), k_pca.ROWS[setup.data]
    ours = float(here.batch.sel(k=k).isel(learner=0))
    why = "" if rows == theirs else f"of {rows:,} images here and {theirs:,} there: compare percents, not losses"
    return Claim(f"k = {k}, batch PCA", "Krasulina paper, Table 1", printed(k_pca.BATCH[setup.data][k]),
                  Number(ours, f"{ours:.4g}"), why)  # fmt: skip


def _why(theirs: float, ours: float, tried: Sequence[Number], sweeps: int, digit: float | None) -> str:
    """The explanation for an excess that is not within a factor of two of that of the paper, with last digit `digit`.

    `tried` contains the excesses for the rows of the paper: at the step chosen here, and at its neighbour. For images
    that are not those of the paper, which have no such digit, no agreement is expected.
    """
    longer, higher = tried
    if _within(theirs, ours, ours, digit or 0):
        return ""
    reason = f"with as many rows as the paper's, in {sweeps} sweeps, {longer.text} %" if sweeps > 1 else ""
    if digit is None or (reason and _within(theirs, longer.value, longer.value, digit)):
        return reason
    low, high = sorted((longer.value, higher.value))
    if _within(theirs, low, high, digit):
        at = f"{higher.text} % at {HIGHER:.2g} times the step"
        return f"{reason}, {at}: the paper's step, which it does not print, is the larger one or between them"
    return f"{reason}: {UNEXPLAINED}" if reason else UNEXPLAINED


def _within(theirs: float, low: float, high: float, digit: float) -> bool:
    """Whether the number of the paper is between low and high, up to a factor of two and its last printed digit."""
    return low / 2 - digit <= theirs <= 2 * high + digit


def _ambiguities(results: xarray.Dataset) -> list[Ambiguity]:
    k = int(results.k.values[-1])

    def end(reading: str, name: str) -> Number:
        return spread(results.loss.sel(reading=reading, learner=name, k=k, factor=1.0), 4)

    return [
        Ambiguity(f"{READINGS[r][0]}, {name}", *READINGS[r][1:], end("as here", name), end(r, name))
        for r in list(READINGS)[1:]
        for name in (("Sanger", "Imp. Krasulina") if r == "unit start" else k_pca.METHODS)
    ]


def _notes(here: xarray.Dataset) -> list[str]:
    found = _excesses(here).mean("run").max("factor")
    order = [str(n) for n in found.mean("k").sortby(found.mean("k")).learner.values if str(n) in k_pca.POWER]
    return [
        f"From the least to the most sensitive to the step, by the worst excess of the three: {', '.join(order)}.",
        "Table 1 is the loss without the factor 1/2 of (6). Sanger's rule is the paper's, without the lower triangle "
        "that goes by this name elsewhere. The step is eta_0 / t^gamma with gamma 0.9 for Oja and Krasulina, 0.8 for "
        "the others; eta_0 is sought in half decades.",
        "Sanger's and the implicit rule with s C in the place of C and s^2 times the step are the same rules: the "
        "scale of their start moves the best step and nothing else.",
    ]

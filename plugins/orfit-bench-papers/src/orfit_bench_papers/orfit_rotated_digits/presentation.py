"""The sections of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.report.page import Listing, Number, Section, Text, as_figure
from orfit_bench.spec.data import Array
from orfit_bench_papers.orfit_rotated_digits.measurement import FROM_RANDOM, METHODS, READINGS, images
from orfit_bench_papers.page import (
    ONE_RUN,
    Ambiguity,
    Claim,
    ambiguities_section,
    axes,
    band,
    claims_section,
    legend,
    spread,
)
from orfit_bench_papers.procedure import Setup

if TYPE_CHECKING:
    import xarray


def sections(results: xarray.Dataset, setup: Setup) -> list[Section]:
    """The sections of the page."""
    here = results.sel(reading="as here")
    test, sample = (
        here.test_error.transpose("learner", "run", "row"),
        here.sample_error.transpose("learner", "run", "row"),
    )
    return [
        Section("Figure 5-1", [as_figure(_curves(test.values, sample.values, setup), _CAPTION, _alt(test.values))]),
        claims_section(_claims(here, test.values, sample.values, setup)),
        Section("At the end", [_table(here)]),
        ambiguities_section(
            _ambiguities(results), "Test error of ORFit after the last row, in radians, under other readings"
        ),
        Section("What moves the result, and what does not", [Text(_notes(results, setup))]),
    ]


_CAPTION = (
    "Left: root mean squared error on test images after every row. Right: error of one training example; the "
    "vertical line is the step at which it is learned. Means, with one standard deviation to both sides."
)


def _curves(test: Array, sample: Array, setup: Setup) -> Any:
    figure, (left, right) = axes(2, height=5.2)
    x = np.arange(1, test.shape[-1] + 1)
    for i, name in enumerate(METHODS):
        band(left, x, test[i], name, i)
        band(right, x, sample[i], name, i)
    right.axvline(setup["sample"], color="#d62728", linestyle=(0, (4, 2)), linewidth=1)
    top = max(2.6, *(1.05 * float(part.mean(axis=1)[:, -1].max()) for part in (test, sample)))  # all curves end inside
    left.set(xlabel="rows learned", ylabel="test error (rad)", title="(a) test error", ylim=(0, top))
    right.set(xlabel="rows learned", ylabel="error (rad)", title=f"(b) example {setup['sample']}", ylim=(0, top))
    handles, labels = left.get_legend_handles_labels()
    legend(figure, 8, handles=handles, labels=labels, loc="outside lower center", ncols=6)  # it hides no end of a curve
    return figure


def _alt(test: Array) -> str:
    ends = ", ".join(f"{name} {test[i, :, -1].mean():.2f}" for i, name in enumerate(METHODS))
    return f"Curves of the error against rows learned. Test error after the last row in radians: {ends}."


def _claims(here: xarray.Dataset, test: Array, sample: Array, setup: Setup) -> list[Claim]:
    place, at = "thesis, 5.1, Figure 5-1", METHODS.index
    mean, end = test.mean(axis=1), test[:, :, -1]
    rivals = [at(name) for name in METHODS if not name.startswith("ORFit") or name in METHODS[2:4]]
    behind = np.flatnonzero((mean[rivals] <= mean[0]).any(axis=0))
    first = 1 if not len(behind) else int(behind[-1]) + 2
    order = "never at the end" if first > test.shape[-1] else f"from row {first} on"
    kept, lost = sample[0, :, -1], sample[at("One-Step SGD"), :, -1]
    return [
        images(here, setup),
        Claim("ORFit's test error is below all baselines' after enough steps", place, "a curve, no number", order,
               "in the mean over runs"),
        Claim("ORFit varies less between runs", place, "a band, no number", _variation(end, rivals),
               "standard deviations at the end"),
        Claim(f"ORFit keeps the error of example {setup['sample']} low", place, "a curve, no number",
               spread(kept), "rad, after the last row"),
        Claim("other methods forget it", place, "a curve, no number", spread(lost), "One-Step SGD, rad"),
        *(Claim(f"test error of {name} at the end", place, "a curve, no number", spread(end[i]), "rad")
          for i, name in enumerate(METHODS)),
    ]  # fmt: skip


def _variation(end: Array, rivals: Sequence[int]) -> str:
    """Whether the final errors (method, run) of ORFit have the smallest standard deviation, and all deviations."""
    if end.shape[1] == 1:
        return ONE_RUN
    spreads = end.std(axis=1, ddof=1)
    less = [METHODS[i] for i in rivals if spreads[i] <= spreads[0]]
    verdict = f"does not hold for {', '.join(less)}" if less else "holds"
    return f"{verdict}: {spreads[0]:.2g} against " + ", ".join(f"{METHODS[i]} {spreads[i]:.2g}" for i in rivals)


def _table(here: xarray.Dataset) -> Listing:
    rows = []
    for name in METHODS:
        one = here.sel(learner=name)
        followed = one.sample_error.transpose("run", "row").values
        rows.append((name, spread(one.test_error.isel(row=-1)), spread(one.absolute), spread(followed[:, -1])))
    columns = ("method", "root mean squared error", "mean absolute error", "error of the example followed")
    return Listing("After the last row: mean and standard deviation over the runs, in radians", columns, rows, True)


def _ambiguities(results: xarray.Dataset) -> list[Ambiguity]:
    def end(reading: str) -> Number:
        return spread(results.test_error.sel(reading=reading, learner="ORFit").isel(row=-1))

    rows = [
        Ambiguity(*READINGS[name], end(FROM_RANDOM[0] if name in FROM_RANDOM[1:] else "as here"), end(name))
        for name in list(READINGS)[1:]
    ]
    absolute = spread(results.absolute.sel(reading="as here", learner="ORFit"))
    return [*rows, Ambiguity("error norm", "root mean square", "mean absolute error", end("as here"), absolute)]


def _notes(results: xarray.Dataset, setup: Setup) -> list[str]:
    ends = results.test_error.isel(row=-1).mean("run")
    first = [str(ends.sel(reading=r).idxmin("learner").item()) for r in READINGS]
    kept = [r for r, name in zip(READINGS, first, strict=True) if name == "ORFit"]
    n, memory = setup["rows"], setup["memory"]
    return [
        f"ORFit has the least mean error at the end under {len(kept)} of {len(READINGS)} readings: "
        f"{', '.join(kept) or 'none'}.",
        f"Rows are {n}, directions kept are {memory}: what the memory cannot hold is forgotten, by which directions "
        "it drops.",
        "Algorithm 2 of the thesis is run as corrected (its line 9 must normalize the residual of the gradient, not "
        "the gradient); as printed its basis is not orthonormal and the errors explode.",
    ]

"""Results as one page: what ran and where, every number, the pictures, the statistics, and what is missing and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from orfit_bench.plugins.registry import registry
from orfit_bench.report import labels
from orfit_bench.report import results_listings as listings
from orfit_bench.report.declared import lacking
from orfit_bench.report.figures import Omitted, Plate, plates
from orfit_bench.report.page import Part, Section, Text, drawn, render
from orfit_bench.report.table import legend

if TYPE_CHECKING:
    import xarray

WAYS = (
    "Each p is of Wilcoxon's signed-rank test on the relative differences 2 (a - b) / (a + b) of the test errors a and "
    "b of two methods on the same stream with the same seed, corrected for the number of tests by Holm's procedure. "
    "The effect is the matched-pairs rank-biserial correlation: +1 where the method is better in every pair, -1 in "
    "none. Differences of rounding are ties, and so are two exact fits. "
    "Cells that were not measured make no pair; pairs of one stream speak of that stream alone."
)
SPENT = (
    "Learning is what every rate is made of: the median of some runs of fresh learners, without set-up and evaluation. "
    "Where a device learns, its part that brings the rows there is named too, as measured by itself. "
    "First use is another learner's first few rows, before the clock: mostly importing and compiling the kernel."
)


def results_page(results: xarray.Dataset, title: str = "Streaming learners compared") -> str:
    """The page as HTML. UnavailableError without matplotlib or Jinja."""
    return render(title, _summary(results), list(_sections(results)))


def _summary(results: xarray.Dataset) -> str:
    counts = Counter(str(status) for status in results["status"].values)
    told = ", ".join(f"{n} {status}" for status, n in sorted(counts.items(), key=lambda c: -c[1]))
    protocols, dtypes = (", ".join(labels.distinct(results, name)) for name in ("protocol", "dtype"))
    merged = f" {len(labels.distinct(results, 'run'))} runs in one file." if "run" in results.coords else ""
    n = results.sizes["cell"]
    return f"{n} cells, a method on a backend over a stream each: {told}. {protocols}; {dtypes}.{merged}"


def _sections(results: xarray.Dataset) -> Iterator[Section]:
    yield Section("What ran, and where", [listings.origin(results)])
    yield Section("Results", [*listings.cells(results), Text(legend(results))])
    yield from _pictures(results)
    yield Section("Statistics", list(_statistics(results)))
    yield Section("Wall time", [Text([SPENT, listings.spent(results)]), listings.times(results)])
    missing = listings.failures(results)
    yield Section("What is missing", [missing or Text(["Every cell was measured, and none with a note."])])
    yield Section("Methods and backends", [listings.capabilities(registry()), Text(lacking(registry()))])
    yield Section("Settings", [listings.settings(results)])


def _pictures(results: xarray.Dataset) -> Iterator[Section]:
    for picture, those in groupby(plates(results), key=lambda plate: plate.picture):
        yield Section(picture.heading, [_part(plate) for plate in those])


def _part(plate: Plate | Omitted) -> Part:
    if isinstance(plate, Omitted):
        return Text([f"No picture of {plate.stream}: {plate.reason}."])
    caption = f"{plate.stream}: {f'{plate.some}. ' if plate.some else ''}{plate.picture.caption}"
    return drawn(plate.figure, caption, f"{plate.picture.heading}, {plate.stream}; the numbers are in the tables")


def _statistics(results: xarray.Dataset) -> Iterator[Part]:
    means = list(listings.means(results))
    yield from means
    if not means:
        yield Text(["One seed: no mean has an interval. Name several with --seed."])
    pairs = listings.pairs(results)
    if isinstance(pairs, str):
        yield Text([pairs])
    else:
        yield Text([WAYS])
        yield pairs

"""Results as an HTML page: environment, tables, figures, statistics and the reasons for missing results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from orfit_bench.bench.collection import runs
from orfit_bench.counts import describe_count
from orfit_bench.plugins.registry import registry
from orfit_bench.report import labels
from orfit_bench.report import results_listings as listings
from orfit_bench.report.declared import lacking
from orfit_bench.report.figures import Omitted, RenderedFigure, render_figures
from orfit_bench.report.page import Part, Section, Text, as_figure, render
from orfit_bench.report.table import legend

if TYPE_CHECKING:
    import xarray

WAYS = (
    "The p-values are those of Wilcoxon's signed-rank test on the relative differences 2 (a - b) / (a + b) of the "
    "test errors a and b of two methods on the same stream and seed, with Holm's correction for multiple testing. The "
    "effect size is the matched-pairs rank-biserial correlation: +1 if the method is better in every pair, -1 if it "
    "is worse in every pair. Differences at the level of rounding errors, and two exact fits, count as ties. Cells "
    "that were not measured form no pair. Pairs from a single stream allow conclusions about that stream only."
)
SPENT = (
    "'Learning' is the time from which samples/s is computed: the median over several runs of new learners, without "
    "set-up and evaluation. On a device, the time to transfer the data is measured separately and shown as well. "
    "'First use' is the time of the first few rows of another learner before the timed runs, mostly importing and "
    "compiling the kernel."
)
METRICS_EXPLAINED = (
    "deviation: relative difference from the exact batch solution of the same problem. forgetting: increase of the "
    "error on earlier parts of the stream since they were learned. p50 and p99: median and 99th percentile of the "
    "time to learn a single sample in a call of its own. state: size of the arrays that the learner keeps. peak "
    "memory: largest amount of memory allocated while learning."
)


def results_page(results: xarray.Dataset) -> str:
    """The page as HTML. Raises UnavailableError without matplotlib or Jinja2."""
    return render("Comparison of streaming learners", _summary(results), list(_sections(results)))


def _summary(results: xarray.Dataset) -> str:
    counts = Counter(str(status) for status in results["status"].values)
    statuses = ", ".join(f"{n} {status}" for status, n in sorted(counts.items(), key=lambda c: -c[1]))
    protocols, dtypes = (", ".join(labels.distinct(results, name)) for name in ("protocol", "dtype"))
    n_runs = len(set(runs(results))) if "run" in results.coords else 1
    merged = f" {n_runs} runs in one file." if n_runs > 1 else ""
    n = results.sizes["cell"]
    return f"{describe_count(n, 'cell')} (method, backend and stream): {statuses}. {protocols}; {dtypes}.{merged}"


def _sections(results: xarray.Dataset) -> Iterator[Section]:
    yield Section("Environment", [listings.origin(results)])
    yield Section("Results", [*listings.cells(results), Text([METRICS_EXPLAINED, *legend(results)])])
    yield from _pictures(results)
    yield Section("Statistics", list(_statistics(results)))
    yield Section("Wall time", [Text([SPENT, listings.spent(results)]), listings.times(results)])
    missing = listings.failures(results)
    yield Section("Missing results", [missing or Text(["All cells were measured; there are no notes."])])
    yield Section("Methods and backends", [listings.capabilities(registry()), Text(lacking(registry()))])
    yield Section("Settings", [listings.settings(results)])


def _pictures(results: xarray.Dataset) -> Iterator[Section]:
    for spec, those in groupby(render_figures(results), key=lambda rendered: rendered.spec):
        yield Section(spec.heading, [_part(rendered) for rendered in those])


def _part(rendered: RenderedFigure | Omitted) -> Part:
    if isinstance(rendered, Omitted):
        return Text([f"No figure for {rendered.stream}: {rendered.reason}."])
    caption = f"{rendered.stream}: {f'{rendered.some}. ' if rendered.some else ''}{rendered.spec.caption}"
    return as_figure(
        rendered.figure, caption, f"{rendered.spec.heading}, {rendered.stream}; the numbers are in the tables"
    )


def _statistics(results: xarray.Dataset) -> Iterator[Part]:
    means = list(listings.means(results))
    yield from means
    if not means:
        seeds = len(set(results["seed"].values.tolist()))
        why = "Only one seed was run" if seeds == 1 else "No method was measured with several seeds"
        yield Text([f"{why}, so there are no confidence intervals.{' Use --seed several times.' * (seeds == 1)}"])
    pairs = listings.pairs(results)
    if isinstance(pairs, str):
        yield Text([pairs])
    else:
        yield Text([WAYS])
        yield pairs

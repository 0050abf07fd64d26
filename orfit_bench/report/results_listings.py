"""Tables of results for an HTML page and, through `report.table.listed`, for a terminal."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.bench import collection, statistics
from orfit_bench.bench.variables import ORIGIN
from orfit_bench.plugins.registry import Registry
from orfit_bench.report import labels
from orfit_bench.report.columns import COST, MEMORY, WAITING, Columns, by_error, columns_of
from orfit_bench.report.labels import as_bytes, as_seconds, is_ok, number, shown
from orfit_bench.report.page import Cell, Listing, Number
from orfit_bench.report.table import ranked

if TYPE_CHECKING:
    import xarray

TIMES: Columns = {
    "seconds": ("learning", "s"),
    "seconds_transfer": ("thereof transfer", "s"),
    "timed_runs": ("timed runs", ".0f"),
    "seconds_compile": ("first use", "s"),
}
"""Shown only if the results have them; for instance, a CPU backend transfers no data."""
SPANS = ("seconds", "seconds_transfer", "seconds_compile")
AVERAGED: Columns = {
    "test_error": ("test error", ".4g"),
    "forgetting": ("forgetting", ".3g"),
    "throughput": ("samples/s", ",.0f"),
}
TOO_FEW = "too few"
MOST_PAIRS = 1000
"""Number of pairs that are listed; 150 settings of a method make ten times as many."""


def origin(results: xarray.Dataset) -> Listing:
    """The environment and date of the measurements, with one column per run."""
    runs = _runs(results)
    rows = [(key, *(run[key] for run in runs.values())) for key in next(iter(runs.values()))]
    return Listing("Environment", ("", *runs), rows)


def origins(results: xarray.Dataset) -> list[str]:
    """The environment of each run in one line; empty if there is only one run."""
    runs = _runs(results)
    lines = [
        f"{name}: {run['processor']}, host {run['host']}; commit {run['commit']}; {run['date']}"
        for name, run in runs.items()
    ]
    return lines if len(lines) > 1 else []


def cells(results: xarray.Dataset) -> Iterator[Listing]:
    """All cells that could be measured, one table per kind of error; the others are listed by `failures`."""
    headings, who = _who(results)
    streams = labels.streams(results)
    for error, those in by_error(results).items():
        found = columns_of(results, error, those)
        numbers = {n: c for n, c in found.items() if n not in COST} | COST | WAITING | MEMORY
        numbers = {n: c for n, c in numbers.items() if n != "device_memory" or _known(results, n, those)}
        rows: list[list[Cell]] = [[*who[i], *_numbers(results, numbers, i)] for i in ranked(results, streams, those)]
        columns = (*headings, *(heading for heading, _ in numbers.values()))
        yield Listing(f"Cells: {error}", columns, rows, sortable=True)


def times(results: xarray.Dataset) -> Listing:
    """Wall time of each cell by activity."""
    headings, who = _who(results)
    every = range(len(who))
    numbers = {name: column for name, column in TIMES.items() if _known(results, name, every)}
    rows: list[list[Cell]] = [[*who[i], *_numbers(results, numbers, i)] for i in every if is_ok(results, i)]
    columns = (*headings, *(heading for heading, _ in numbers.values()))
    return Listing("Wall time of a cell", columns, rows, sortable=True)


def spent(results: xarray.Dataset) -> str:
    """Total wall time of all cells by activity."""
    here = [name for name in SPANS if _known(results, name, range(results.sizes["cell"]))]
    if not here:
        return "Total wall time: not measured"
    sums = {TIMES[name][0]: float(np.nansum(results[name].values)) for name in here}
    return f"Total wall time: {', '.join(f'{heading} {as_seconds(value)}' for heading, value in sums.items())}"


def means(results: xarray.Dataset) -> Iterator[Listing]:
    """Means over seeds with 95 % confidence intervals, one table per kind of error with at least two seeds."""
    headings, who = _who(results, without=("seed",))
    kinds: dict[str, list[list[Cell]]] = {}
    samples = statistics.samples(results)
    for group in (g for g in statistics.over_seeds(results) if len(g) > 1):
        averages = (_mean(results, name, samples, group) for name in AVERAGED)
        row: list[Cell] = [*who[group[0]], _seeds(results, group), *averages]
        kinds.setdefault(str(results["error"].values[group[0]]), []).append(row)
    columns = (*headings, "seeds", *(heading for heading, _ in AVERAGED.values()))
    for error, rows in kinds.items():
        yield Listing(
            f"Means over seeds with 95 % confidence intervals (Student's t): {error}", columns, rows, sortable=True
        )


def pairs(results: xarray.Dataset) -> Listing | str:
    """Pairwise comparisons of methods; a sentence if no pair has enough data for a test."""
    found = statistics.comparisons(results)
    methods = labels.methods(results)
    if not found:
        return "No two methods have test errors on the same stream and seed, so that methods cannot be compared."
    if not any(c.p == c.p for c in found):
        most = max(c.wins + c.losses for c in found)
        return (
            f"Not enough data to compare methods: at most {most} pairs of test errors (one per stream and seed, or per "
            f"file) differ; the test requires {statistics.FEWEST}. Run more streams, or more seeds of drawn streams."
        )
    rows: list[list[Cell]] = [
        [methods[c.one], methods[c.other], *(Number(n, str(n)) for n in (c.wins, c.losses, c.ties)), *_tested(c)]
        for c in found[:MOST_PAIRS]
    ]
    title = "Pairwise comparison of test errors"
    if len(found) > MOST_PAIRS:
        title += f": the {MOST_PAIRS:,} pairs of {len(found):,} with the smallest p"
    columns = ("method", "against", "wins", "losses", "ties", "median difference", "effect size", "p", "p (Holm)")
    return Listing(title, columns, rows, sortable=True)


def failures(results: xarray.Dataset) -> Listing | None:
    """Cells that were not measured, and notes on measured ones; None if there are neither."""
    headings, who = _who(results)
    rows: list[list[Cell]] = []
    for cell, status, reason, notes in zip(who, *_columns(results, "status", "reason", "notes"), strict=True):
        rows += [[*cell, status, reason]] * (status != "ok") + [[*cell, "note", notes]] * bool(notes)
    listing = Listing("Missing results and notes", (*headings, "status", "reason"), rows, sortable=True)
    return listing if rows else None


def capabilities(known: Registry) -> Listing:
    """The methods that each backend supports."""
    rows = [(m, *("no" if known.absence(b, m) else "yes" for b in known.backends)) for m in known.methods]
    return Listing(
        "Methods supported by each backend, on the machine where this page was written",
        ("method", *known.backends),
        rows,
    )


def settings(results: xarray.Dataset) -> Listing:
    """All settings of every method and stream in the results."""
    found: dict[tuple[str, str, str], None] = {}
    names = ("method", "model", "settings", "stream", "stream_settings")
    for method, model, given, stream, stream_given in zip(*_columns(results, *names), strict=True):
        found["method " + method, model, _plain(given)] = None
        found["stream " + stream, "", _plain(stream_given)] = None
    return Listing("Settings", ("name", "model", "settings"), sorted(found))


def _runs(results: xarray.Dataset) -> dict[str, dict[str, str]]:
    """The environment of each run, as strings."""
    cells = Counter(collection.runs(results))
    names = ("run", *ORIGIN)
    columns = (collection.runs(results), *(collection.origin(results, name) for name in ORIGIN))
    found: dict[str, list[dict[str, str]]] = {}
    for values in zip(*columns, strict=True):
        found.setdefault(values[0], []).append(dict(zip(names, values, strict=True)))
    return {run: _run(origins, cells[run]) for run, origins in found.items()}


def _run(origins: list[dict[str, str]], cells: int) -> dict[str, str]:
    origin, dates = origins[0], sorted({one["date"] for one in origins})
    machine, commit, versions = (json.loads(origin[name]) for name in ("machine", "commit", "versions"))
    memory = f", {as_bytes(float(machine['memory']))} of memory" if machine["memory"] else ""
    return {
        "date": " to ".join(dict.fromkeys((dates[0], dates[-1]))),
        "commit": _commits(commit),
        "processor": f"{machine['cpu']}, {machine['cores']} cores{memory}",
        "host": machine.get("host", "unknown"),
        "system": str(machine["platform"]),
        "threads": ", ".join(f"{name}={value}" for name, value in machine.get("threads", {}).items()),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "cells": str(cells),
    }


def _commits(commit: dict[str, Any]) -> str:
    """The commits of the package and of plugins from other repositories."""
    plugins = commit.pop("plugins", {})
    elsewhere = {name: of for name, of in plugins.items() if of != commit}
    return "; ".join([_commit(commit), *(f"{name} {_commit(of)}" for name, of in elsewhere.items())])


def _commit(of: dict[str, Any]) -> str:
    changed = f" with uncommitted changes {of.get('changes', '')}" if of.get("dirty") else ""
    return f"{of.get('id') or 'unknown'}{changed}"


def _numbers(results: xarray.Dataset, columns: Columns, i: int) -> list[Number]:
    """The values of a cell; if it was not measured, its status replaces the first one."""
    values = [(number(results, name, i), form) for name, (_, form) in columns.items()]
    numbers = [Number(value, shown(value, form)) for value, form in values]
    return numbers if is_ok(results, i) else [Number(math.nan, str(results["status"].values[i])), *numbers[1:]]


def _known(results: xarray.Dataset, name: str, those: Sequence[int]) -> bool:
    return any(not math.isnan(number(results, name, i)) for i in those)


def _mean(results: xarray.Dataset, name: str, samples: Sequence[str], group: Sequence[int]) -> Number:
    found = statistics.estimate(statistics.distinct(results[name].values, samples, group))
    form = AVERAGED[name][1]
    sure = name != "throughput" and not math.isnan(found.half)  # timings vary with the load of the machine
    return Number(found.mean, shown(found.mean, form) + f" \N{PLUS-MINUS SIGN} {found.half:.2g}" * sure)


def _seeds(results: xarray.Dataset, group: Sequence[int]) -> Number:
    """The number of seeds, and of those with a finite error if there are fewer."""
    errors = [results[name].values[group] for name in ("test_error", "a_priori_error")]
    counts = [int(np.isfinite(values).sum()) for values in errors if not np.isnan(values).all()]  # of those that apply
    finite = min(counts, default=len(group))
    return Number(len(group), str(len(group)) if finite == len(group) else f"{len(group)} ({finite} finite)")


def _tested(c: statistics.PairwiseComparison) -> Iterator[Number]:
    yield Number(c.difference, f"{c.difference:+.1%}")
    for value, form in ((c.effect, "+.2f"), (c.p, ".2g"), (c.p_holm, ".2g")):
        yield Number(value, TOO_FEW if math.isnan(value) else format(value, form))


def _who(results: xarray.Dataset, without: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    """The headings and values that identify each cell, except the stream settings in `without`."""
    conditions = labels.conditions(results)
    named = [labels.methods(results), *_columns(results, "backend"), labels.streams(results, without)]
    named += conditions.values()
    return ["method", "backend", "stream", *conditions], [list(texts) for texts in zip(*named, strict=True)]


def _columns(results: xarray.Dataset, *names: str) -> list[list[str]]:
    return [[str(v) for v in results[name].values] for name in names]


def _plain(text: str) -> str:
    return ", ".join(f"{key} = {labels.plain(value)}" for key, value in json.loads(text).items()) or "none"

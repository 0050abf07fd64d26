"""Conformance reports: tables and lines for a terminal, a summary in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from orfit_bench.conformance.check import Check
from orfit_bench.conformance.export import RunInfo
from orfit_bench.conformance.failures import failures
from orfit_bench.conformance.result import (
    EXPECTED,
    FAILED,
    PASSED,
    SKIPPED,
    STATUSES,
    UNPROVEN,
    CheckResult,
    Report,
)
from orfit_bench.counts import describe_count
from orfit_bench.report.table import grid
from orfit_bench.spec.capability import MEANING

NOT_ALLOWED = "-"
"""Shown if a method does not allow a capability."""


@dataclass(frozen=True, slots=True)
class Count:
    """Number of results by status, and the largest ratio of deviation to bound."""

    counts: dict[str, int]
    ratio: float | None

    @classmethod
    def of(cls, results: Sequence[CheckResult]) -> Count:
        """Count the results."""
        ratios = [r.ratio for r in results if r.ratio is not None]
        worst = max((float("inf") if ratio != ratio else ratio for ratio in ratios), default=None)
        return cls({status: sum(r.status == status for r in results) for status in STATUSES}, worst)

    @property
    def shown(self) -> str:
        """The ratio as a string."""
        return "" if self.ratio is None else f"{self.ratio:.2g}"

    def __str__(self) -> str:
        text = ", ".join(f"{n} {status}" for status, n in self.counts.items() if n or status == PASSED)
        return f"{text}; {self.shown}" if self.shown else text


def results_table(report: Report) -> Table:
    """One row per method, backend and dtype."""
    table = grid("Conformance", "method", "backend", "device", "dtype")
    for heading in ("passed", "failed", "unproven", "expected", "skipped", "deviation/bound"):
        table.add_column(heading, justify="right")
    for column in table.columns:
        column.no_wrap = True
    for (method, backend, device, dtype), results in _by(report.results, "method", "backend", "device", "dtype"):
        count = Count.of(results)
        numbers = (str(count.counts[s]) for s in STATUSES)
        table.add_row(*map(Text, (method, backend, device, dtype, *numbers, count.shown)))
    return table


def checks_table(checks: Sequence[Check]) -> Table:
    """One row per check with what it tests; slow checks are marked."""
    table = grid("Checks", "check", "requirement")
    table.columns[0].no_wrap = True
    for one in checks:
        table.add_row(Text(one.name), Text(one.requirement + (" (slow)" if one.slow else "")))
    return table


def lines(report: Report, status: str) -> Iterator[tuple[str, str]]:
    """The results with a status and their reasons, each with the command that repeats it; equal skips are combined."""
    for text, same in _described(report, status):
        repeats = status == FAILED or len(same) == 1
        yield f"{status}: {text}", same[0].repeat if repeats else ""


def capabilities_table(report: Report) -> Table:
    """The capabilities that each kernel supports, out of those that its method allows."""
    table = grid("Declared capabilities (-: the method does not allow it)", "method", "backend", *MEANING)
    for column in table.columns:
        column.no_wrap = True
    for (backend, method), reasons in report.capabilities.items():
        table.add_row(*map(Text, (method, backend, *_support(reasons))))
    return table


def summary(report: Report, run: RunInfo) -> str:
    """The number of checks, the devices, the time and the verdict."""
    done = sum(r.status != SKIPPED for r in report.results)
    devices = ", ".join(_devices(report)) or "no device"
    counts = ", ".join(f"{n} {status}" for status, n in report.counts.items() if n) or "none"
    verdict = {"conforms": "Conforming", "fails": "Not conforming", "unproven": "Unproven"}[report.verdict]
    verdict += " (allowed)" if report.verdict == "unproven" and report.passed else ""
    only = " (selected checks only)" if report.partial and report.passed else ""
    matching = f"Streams, metrics, models and experiments that match their declarations: {report.n_declared}. "
    declared = matching if report.n_declared else ""
    if declared and not report.results:
        return f"{declared if report.passed else ''}{verdict}{only}."
    found = f"{describe_count(done, 'check')} ran on {devices} in {run.seconds:.1f} s: {counts}. "
    return f"{found}{declared if report.passed else ''}{verdict}{only}."


def markdown(report: Report, run: RunInfo) -> str:
    """A summary in Markdown, for example for the README of a plugin."""
    versions = ", ".join(f"{name} {version}" for name, version in run.provenance["versions"].items())
    parts = [
        ["# Conformance", "", summary(report, run), ""],
        [f"- date: {run.date}", f"- versions: {versions}", f"- CPU: {run.provenance['machine']['cpu']}"],
        [f"- command: `{run.command}`", "", "Checks by result; largest ratio of deviation to bound:", ""],
        _matrix(report),
        ["", "Declared capabilities (-: the method does not allow it):", ""],
        _table(
            ("method", "backend", *MEANING),
            ((m, b, *_support(reasons)) for (b, m), reasons in report.capabilities.items()),
        ),
        *(_listed(title, found) for title, found in _sections(report)),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _matrix(report: Report) -> list[str]:
    backends = list(dict.fromkeys(r.backend for r in report.results))
    found = dict(_by(report.results, "method", "backend"))
    methods = dict.fromkeys(r.method for r in report.results)

    def cell(method: str, backend: str) -> str:
        return str(Count.of(found[method, backend])) if (method, backend) in found else ""

    return _table(("method", *backends), ((m, *(cell(m, b) for b in backends)) for m in methods))


def _sections(report: Report) -> Iterator[tuple[str, list[str]]]:
    yield "Unsupported capabilities", list(report.unsupported())
    yield "Expected failures", _reasons(report, EXPECTED)
    yield "Failures", _reasons(report, FAILED)
    yield "Unproven", _reasons(report, UNPROVEN)
    yield "Skipped", _reasons(report, SKIPPED)
    yield "Problems", report.problems
    yield "Notes", list(report.notes())


def _reasons(report: Report, status: str) -> list[str]:
    return [text for text, _ in _described(report, status)]


def _described(report: Report, status: str) -> Iterator[tuple[str, list[CheckResult]]]:
    """The descriptions of the results with a status, each with its results; equal skips and causes are combined."""
    if status == FAILED:
        yield from ((str(failure), list(failure.results)) for failure in failures(report.results))
        return
    some = [r for r in report.results if r.status == status]
    for (backend, reason), same in _by(some, "backend", "reason"):
        if status == SKIPPED and len(same) > 1:
            yield f"{len(same)} checks on {backend}: {reason}", same
        else:
            yield from ((f"{r.label}: {reason}", [r]) for r in same)


def _listed(title: str, found: Sequence[str]) -> list[str]:
    return ["", f"## {title}", "", *(f"- {_escaped(line)}" for line in found)] if found else []


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [[_escaped(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (heading, ["---"] * len(heading), *body)]


def _escaped(text: str) -> str:
    """The text with the special characters of Markdown escaped."""
    one = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\|*_`<>[]" else c for c in one)


def _support(reasons: dict[str, str]) -> Iterator[str]:
    for name in MEANING:
        yield NOT_ALLOWED if name not in reasons else "no" if reasons[name] else "yes"


def _devices(report: Report) -> list[str]:
    return list(dict.fromkeys(r.device for r in report.results if r.status != SKIPPED and r.device))


def _by(results: Sequence[CheckResult], *names: str) -> Iterator[tuple[tuple[str, ...], list[CheckResult]]]:
    """The results grouped by these fields, in order of first occurrence."""
    found: dict[tuple[str, ...], list[CheckResult]] = {}
    for result in results:
        found.setdefault(tuple(getattr(result, name) for name in names), []).append(result)
    yield from found.items()

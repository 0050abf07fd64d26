"""The conformance kit in pytest: its options, its checks as tests, and totals that cannot pass silently.

pytest imports this module in every run of an environment that has orfit_bench, so it lies outside the package, whose
import takes NumPy's, and imports pytest alone.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from orfit_bench.conformance import Record, Report
    from orfit_bench.conformance.kit import Claims


UNHEARD = (
    "no suite here leaves its names open: say `pytest --pyargs orfit_bench.conformance --orfit NAME`, "
    "or have a test file with `test_conforms = suite()`"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of them with our prefix."""
    group = parser.getgroup("orfit", "conformance of streaming learners")
    group.addoption(
        "--orfit",
        action="append",
        default=[],
        metavar="NAME",
        help="a method, backend, plugin or distribution to check, where the suite names none (may be repeated)",
    )
    group.addoption(
        "--orfit-require",
        action="append",
        default=[],
        metavar="BACKEND",
        help="fail where no check ran on this backend, instead of skipping them (may be repeated)",
    )
    group.addoption("--orfit-seed", type=int, default=0, metavar="N", help="the seed of all rows and learners")
    group.addoption("--orfit-slow", action="store_true", help="with the checks that take long")
    group.addoption("--orfit-json", type=Path, metavar="PATH", help="write every check's record to this file")


def pytest_configure(config: pytest.Config) -> None:
    """The markers, and the totals of this run."""
    config.addinivalue_line("markers", "orfit(*names, backends): made by orfit_bench.conformance.suite")
    config.addinivalue_line("markers", "orfit_slow: a check of orfit_bench that takes long; run with --orfit-slow")
    if path := config.getoption("--orfit-json"):
        from orfit_bench.jobs.files import writable

        try:
            writable(path)  # before the work, not after it
        except OSError as error:
            raise pytest.UsageError(f"--orfit-json: {error}") from error
    config.pluginmanager.register(Totals(config), "orfit_bench_totals")


class Totals:
    """The checks that were planned, those chosen of them, and what became of these: here, or in xdist's workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.begun = config, time.perf_counter()
        self.planned: dict[tuple[Any, ...], None] = {}
        self.chosen: dict[tuple[Any, ...], None] = {}
        self.records: dict[tuple[Any, ...], Record] = {}
        self.heard = not config.getoption("--orfit")  # whether a suite took the names of the option
        self.claims: Claims | None = None
        self.report: Report | None = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A suite becomes one test a check, in a fixed order."""
        if not (mark := metafunc.definition.get_closest_marker("orfit")):
            return
        from orfit_bench.conformance.plan import planned

        option = self.config.getoption
        names = mark.args or option("--orfit")
        self.heard |= not mark.args
        try:
            items = planned(names, **mark.kwargs, seed=option("--orfit-seed"), slow=option("--orfit-slow"))
        except ValueError as error:
            raise pytest.Collector.CollectError(f"orfit_bench: {error}") from error
        if not items:
            asked = " on ".join(", ".join(part) for part in (names, mark.kwargs["backends"]) if part)
            raise pytest.Collector.CollectError(f"orfit_bench: no check speaks of {asked or 'what is installed'}")
        self.planned |= dict.fromkeys(map(astuple, items))
        metafunc.parametrize("orfit_item", list(_parameters(items)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What the user's own choice of tests left."""
        ours = (test for test in session.items if test.get_closest_marker("orfit"))
        self.chosen = dict.fromkeys(astuple(test.callspec.params["orfit_item"]) for test in ours)  # type: ignore[attr-defined]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The record that a test's report carries."""
        if report.when == "call" and "repeat" in (said := dict(report.user_properties)):
            from orfit_bench.conformance.suites import recorded

            if record := recorded(said):
                self.records[record.check, record.method, record.backend, record.dtype, record.seed] = record

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """What a worker of xdist planned and chose: all of them the same, unless it crashed."""
        if told := getattr(node, "workeroutput", {}).get("orfit"):
            planned, chosen, capabilities, strange, heard = told
            self.planned |= dict.fromkeys(map(tuple, planned))
            self.chosen |= dict.fromkeys(map(tuple, chosen))
            self.claims, self.heard = (dict(capabilities), strange), self.heard or heard

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge the run as a whole; where it is not enough to say that a learner conforms, the session fails."""
        path, required = self.config.getoption("--orfit-json"), self.config.getoption("--orfit-require")
        if self.config.option.collectonly or not (self.chosen or path or required or not self.heard):
            return
        from orfit_bench.conformance.kit import claims, report
        from orfit_bench.conformance.plan import Item

        items = [Item(*values) for values in self.chosen]
        if hasattr(self.config, "workeroutput"):
            capabilities, strange = claims(items)
            told = (
                [*self.planned],
                [*self.chosen],
                [*capabilities.items()],
                strange,
                self.heard,
            )  # plain values, as xdist needs
            self.config.workeroutput["orfit"] = told
            return
        records = [self.records[values] for values in self.chosen if values in self.records]
        self.report = report(items, records, len(self.chosen) < len(self.planned), self.claims)
        if not self.heard:
            self.report.problems.append(f"--orfit {', '.join(self.config.getoption('--orfit'))}: {UNHEARD}")
        self.report.problems.extend(_missing(required, records))
        if path:
            self._write(path, self.report)
        if self.report.problems and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self, path: Path, report: Report) -> None:
        from orfit_bench.conformance.export import Ran, as_json
        from orfit_bench.jobs.files import replace
        from orfit_bench.jobs.processes import threads

        command = shlex.join(["pytest", *self.config.invocation_params.args])
        text = as_json(report, Ran.now(command, time.perf_counter() - self.begun, threads()))
        replace(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The totals as a section of their own."""
        if self.report is None:
            return
        terminalreporter.section("conformance (orfit_bench)")
        if self.report.partial:
            terminalreporter.line(f"in part: {len(self.chosen)} of {len(self.planned)} planned checks were chosen")
        for line in _totals(self.report):
            terminalreporter.line(line)
        for problem in self.report.problems:
            terminalreporter.line(f"problem: {problem}", red=True)


def _missing(required: Iterable[str], records: Iterable[Record]) -> Iterator[str]:
    """The backends that had to run and did not, with the reason."""
    said = {r.backend: r.reason for r in records}
    ran = {r.backend for r in records if r.status != "skipped"}
    for name in dict.fromkeys(required):
        if name not in ran:
            yield f"--orfit-require {name}: no check ran on it: {said.get(name, 'none of those chosen speaks of it')}"


def _parameters(items: Iterable[Any]) -> Iterator[Any]:
    from orfit_bench.conformance.check import CHECKS

    slow = {check.name for check in CHECKS if check.slow}
    for item in items:
        marks = [pytest.mark.orfit_slow] if item.check in slow else []
        yield pytest.param(item, id=f"{item.backend}-{item.method}-{item.dtype}-{item.check}", marks=marks)


def _totals(report: Report) -> Iterator[str]:
    """How many checks ended how and where, the largest deviation over its bound, and what the kernels leave out."""
    from orfit_bench.conformance.record import where

    devices = ", ".join(sorted({r.device for r in report.records if r.status != "skipped"}))
    yield ", ".join(f"{n} {status}" for status, n in report.counts.items()) + f" (devices: {devices or 'none'})"
    if measured := [(r.ratio, r) for r in report.records if r.ratio is not None]:
        worst = max(measured, key=lambda pair: pair[0])[1]
        yield f"largest deviation over bound: {worst.deviation:.1e} / {worst.bound:.1e}, {where(worst)}"
    for (backend, method), capabilities in report.capabilities.items():
        for name, reason in capabilities.items():
            if reason:
                yield f"left out: {name} of {method} on {backend}: {reason}"

"""The pytest plugin: runs the conformance kit as tests, and fails the session if too little was checked.

pytest imports this module in every environment that contains orfit_bench. It therefore lies outside the package, whose
import would load NumPy, and imports pytest only.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from orfit_bench.conformance import CheckResult, Report
    from orfit_bench.conformance.result import PlannedCheck
    from orfit_bench.conformance.verdict import Declarations


UNUSED_NAMES = (
    "every suite names what it checks: run `pytest --pyargs orfit_bench.conformance --orfit NAME`, "
    "or add a test file with `test_conforms = suite()`"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("orfit", "conformance of streaming learners")
    group.addoption(
        "--orfit",
        action="append",
        default=[],
        metavar="NAME",
        help="method, backend, plugin or distribution to check, for suites without a name (may be repeated)",
    )
    group.addoption(
        "--orfit-require",
        action="append",
        default=[],
        metavar="BACKEND",
        help="fail if no check ran on this backend (may be repeated)",
    )
    group.addoption("--orfit-seed", type=int, default=0, metavar="N", help="seed of the data and the learners")
    group.addoption(
        "--orfit-allow-unproven",
        action="store_true",
        help="pass although no law and no batch solution would notice wrong numbers of a method",
    )
    group.addoption("--orfit-slow", action="store_true", help="also run the slow checks")
    group.addoption("--orfit-json", type=Path, metavar="PATH", help="write all results to this JSON file")


def pytest_configure(config: pytest.Config) -> None:
    """Add the markers, and the object that collects the results of this run."""
    config.addinivalue_line("markers", "orfit(*names, backends): used by orfit_bench.conformance.suite")
    config.addinivalue_line("markers", "orfit_slow: a slow check of orfit_bench; run with --orfit-slow")
    if path := config.getoption("--orfit-json"):
        from orfit_bench.jobs.files import ensure_writable

        try:
            ensure_writable(path)  # before the work, not after it
        except OSError as error:
            raise pytest.UsageError(f"--orfit-json: {error}") from error
    config.pluginmanager.register(Totals(config), "orfit_bench_totals")


class Totals:
    """The planned checks, those that were selected, and their results: from this process, or from workers of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.start = config, time.perf_counter()
        self.planned: dict[tuple[Any, ...], None] = {}
        self.selected: dict[tuple[Any, ...], None] = {}
        self.results: dict[tuple[Any, ...], CheckResult] = {}
        self.names_used = not config.getoption("--orfit")
        """Whether a suite uses the names of the option."""
        self.declared: Declarations | None = None
        self.report: Report | None = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test of every check of a suite, in a fixed order."""
        if not (mark := metafunc.definition.get_closest_marker("orfit")):
            return
        from orfit_bench.conformance.plan import plan_checks

        option = self.config.getoption
        names = mark.args or option("--orfit")
        self.names_used |= not mark.args
        try:
            plan = plan_checks(names, **mark.kwargs, seed=option("--orfit-seed"), slow=option("--orfit-slow"))
        except ValueError as error:
            raise pytest.Collector.CollectError(f"orfit_bench: {error}") from error
        if not plan:
            selection = " on ".join(", ".join(part) for part in (names, mark.kwargs["backends"]) if part)
            raise pytest.Collector.CollectError(f"orfit_bench: no checks apply to {selection or 'what is installed'}")
        self.planned |= dict.fromkeys(map(astuple, plan))
        metafunc.parametrize("orfit_item", list(_parameters(plan)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which checks the user selected."""
        ours = (t for t in session.items if t.get_closest_marker("orfit") and not t.get_closest_marker("skip"))
        self.selected = dict.fromkeys(astuple(test.callspec.params["orfit_item"]) for test in ours)  # type: ignore[attr-defined]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Read the result of a check from the report of its test."""
        if report.when == "call" and "repeat" in (properties := dict(report.user_properties)):
            from orfit_bench.conformance.result import CheckResult

            if r := CheckResult.from_dict(properties):
                self.results[r.check, r.method, r.backend, r.dtype, r.seed] = r

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of xdist planned: the same in all of them, unless one crashed."""
        if output := getattr(node, "workeroutput", {}).get("orfit"):
            from orfit_bench.conformance.verdict import Declarations

            planned, selected, capabilities, problems, names_used = output
            self.planned |= dict.fromkeys(map(tuple, planned))
            self.selected |= dict.fromkeys(map(tuple, selected))
            self.declared = Declarations(dict(capabilities), problems)
            self.names_used |= names_used

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Make the report; fail the session if the report has problems."""
        path, required = self.config.getoption("--orfit-json"), self.config.getoption("--orfit-require")
        if self.config.option.collectonly or not (self.selected or path or required or not self.names_used):
            return
        from orfit_bench.conformance.result import PlannedCheck
        from orfit_bench.conformance.verdict import declarations, make_report

        plan = [PlannedCheck(*values) for values in self.selected]
        if hasattr(self.config, "workeroutput"):
            capabilities, problems = declarations(plan)
            # plain values, as xdist requires
            output = [*self.planned], [*self.selected], [*capabilities.items()], problems, self.names_used
            self.config.workeroutput["orfit"] = output
            return
        results = [self.results[values] for values in self.selected if values in self.results]
        report = make_report(plan, results, len(self.selected) < len(self.planned), self.declared)
        self.report = replace(report, allow_unproven=self.config.getoption("--orfit-allow-unproven"))
        if not self.names_used:
            self.report.problems.append(f"--orfit {', '.join(self.config.getoption('--orfit'))}: {UNUSED_NAMES}")
        self.report.problems.extend(_missing_backends(required, results))
        if path:
            self._write(path, self.report)
        if self.report.problems and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self, path: Path, report: Report) -> None:
        from orfit_bench.conformance.export import RunInfo, as_json
        from orfit_bench.jobs.files import replace_text
        from orfit_bench.jobs.processes import threads

        command = shlex.join(["pytest", *self.config.invocation_params.args])
        text = as_json(report, RunInfo.now(command, time.perf_counter() - self.start, threads()))
        replace_text(path, text)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the totals."""
        if self.report is None:
            return
        terminalreporter.section("conformance (orfit_bench)")
        if self.report.partial:
            terminalreporter.line(f"{len(self.selected)} of {len(self.planned)} planned checks were selected")
        for line in _totals(self.report):
            terminalreporter.line(line)
        for problem in self.report.problems:
            terminalreporter.line(f"problem: {problem}", red=True)
        for cause in _common_causes(self.report):
            terminalreporter.line(f"cause: {cause}", red=True)
        for note in self.report.notes():
            terminalreporter.line(f"note: {note}", yellow=True)


def _missing_backends(required: Iterable[str], results: Iterable[CheckResult]) -> Iterator[str]:
    """The required backends on which no check ran, with the reason."""
    reasons = {r.backend: r.reason for r in results}
    ran = {r.backend for r in results if r.status != "skipped"}
    for name in dict.fromkeys(required):
        if name not in ran:
            yield f"--orfit-require {name}: no check ran on it: {reasons.get(name, 'none was selected')}"


def _common_causes(report: Report) -> Iterator[str]:
    """The errors by which several checks failed, those that explain others first."""
    from orfit_bench.conformance.failures import failures

    yield from (str(failure) for failure in failures(report.results) if len({r.check for r in failure.results}) > 1)


def _parameters(plan: Iterable[PlannedCheck]) -> Iterator[Any]:
    from orfit_bench.conformance.check import CHECKS

    slow = {check.name for check in CHECKS if check.slow}
    for item in plan:
        marks = [pytest.mark.orfit_slow] if item.check in slow else []
        yield pytest.param(item, id=f"{item.backend}-{item.method}-{item.dtype}-{item.check}", marks=marks)


def _totals(report: Report) -> Iterator[str]:
    """The counts and devices, the largest deviation relative to its bound, and unsupported capabilities."""
    devices = ", ".join(sorted({r.device for r in report.results if r.status != "skipped"}))
    yield ", ".join(f"{n} {status}" for status, n in report.counts.items()) + f" (devices: {devices or 'none'})"
    if measured := [(r.ratio, r) for r in report.results if r.ratio is not None]:
        worst = max(measured, key=lambda pair: pair[0])[1]
        yield f"largest deviation/bound: {worst.deviation:.1e} / {worst.bound:.1e}, {worst.label}"
    yield from (f"not supported: {line}" for line in report.unsupported())

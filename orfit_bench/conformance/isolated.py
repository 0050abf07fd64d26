"""Running the kit in worker processes: a kernel that crashes, exits or hangs fails only the check that runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from orfit_bench.conformance.causes import describe
from orfit_bench.conformance.check import CHECKS, SMOKE
from orfit_bench.conformance.declarations import Declared, check_declared, list_declared
from orfit_bench.conformance.plan import Pair, plan_pair, validate_selection
from orfit_bench.conformance.result import FAILED, CheckResult, PlannedCheck, Report
from orfit_bench.conformance.runner import KernelInfo, Progress, kernel_info, make_result, not_run, run_check
from orfit_bench.conformance.verdict import NO_CHECKS, make_report
from orfit_bench.jobs import timeouts
from orfit_bench.jobs.processes import START_SECONDS, Call, Process, cores, open_processes, spread
from orfit_bench.learners.arguments import DTYPES
from orfit_bench.plugins.registry import registry

SLOW_FACTOR = 10
"""Factor of the time limit for slow checks."""
MAX_TIMEOUTS = 5
"""Number of timeouts of a kernel after which its other checks fail without being run."""


def conform_isolated(
    *names: str,
    backends: Sequence[str] = (),
    dtypes: Sequence[str] = DTYPES,
    only: Sequence[str] = (),
    seed: int = 0,
    slow: bool = False,
    timeout: float = timeouts.OF_CHECK,
    workers: int | None = None,
    progress: Progress | None = None,
    allow_unproven: bool = False,
    exit_first: bool = False,
) -> Report:
    """Check methods, backends or plugins in worker processes.

    Each kernel learns its first rows before the other processes start; if it cannot, its other checks are not run.
    Kernels are not loaded in this process. A check fails if its process dies or exceeds the time limit. If a process
    dies while it loads a kernel, before any check, the report has a problem.

    Parameters
    ----------
    *names, backends, dtypes, only, seed, slow, progress, allow_unproven, exit_first
        As for `conform`.
    timeout : float
        Time limit of a check, in seconds; slow checks get ten times as long.
    workers : int, optional
        Number of processes. Default: the number of cores, at most 8.

    Returns
    -------
    Report
        As from `conform`.

    Raises
    ------
    ValueError
        If an argument is invalid, or if a plugin is only registered in this process: use `conform`.
    """
    if not timeout > 0:
        raise ValueError(f"timeout={timeout}: want a number of seconds > 0")
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers}: want an integer >= 1")
    pairs = validate_selection(names, backends, dtypes, only, seed)
    used = [part for backend, method in pairs for part in _parts(backend, method)]
    registry().require_installed(used, "call conform()")
    with open_processes(1) as processes:
        plan, kernels, problems = _plan(processes, pairs, (dtypes, only, seed, slow))
        run = Run(plan, kernels, timeout, progress or (lambda done, total, result: None), exit_first)
        run.run(processes, SMOKE)
        if rest := run.remaining():
            with open_processes(min(workers or cores(), rest) - 1) as more:
                run.run([*processes, *more])
        named, everything = [*names, *backends], not (names or backends or only)
        checked = _check_declared(processes, named, timeout) if named or everything else (0, [])
        make = partial(
            make_report, partial=bool(only), named=named, stopped=exit_first, everything=everything, checked=checked
        )
        report: Report = processes[0].call(Call(make, (plan, run.in_order()), START_SECONDS))
    if problems and not plan:  # the problems explain it
        report = replace(report, problems=[line for line in report.problems if not line.startswith(NO_CHECKS)])
    return replace(report, problems=[*report.problems, *problems], allow_unproven=allow_unproven)


def _check_declared(processes: Sequence[Process], named: Sequence[str], timeout: float) -> tuple[int, list[str]]:
    """The number of streams, metrics, models and experiments, and their defects, each with a time limit."""
    found: list[Declared] = processes[0].call(Call(list_declared, (named,), START_SECONDS))
    distinct, defects = list(dict.fromkeys(found)), list[str]()
    answers = dict(spread(processes, enumerate(Call(check_declared, (one,), timeout) for one in distinct)))
    for number, one in enumerate(distinct):
        answer = answers[number]
        defects += [f"{one.hook[:-1]} {one.name!r}: {answer}"] if isinstance(answer, Exception) else answer
    return len(found), defects


def _parts(backend: str, method: str) -> list[tuple[str, Any]]:
    """The declarations that a worker needs, by hook and name."""
    return [("backends", backend), ("methods", method), ("kernels", (backend, method))]


def _plan(
    processes: Sequence[Process], pairs: Sequence[Pair], selection: tuple[Any, ...]
) -> tuple[list[PlannedCheck], dict[Pair, KernelInfo], list[str]]:
    """The plan, information about each kernel, and the reasons why some kernels cannot be loaded."""
    calls = enumerate(Call(_load_and_plan, (*pair, *selection), START_SECONDS) for pair in pairs)
    answers = dict(spread(processes, calls))
    plan, kernels, problems = [], {}, []
    for number, pair in enumerate(pairs):
        if isinstance(answer := answers[number], tuple):
            plan += answer[0]
            kernels[pair] = answer[1]
        else:
            problems.append(f"{pair[1]} on {pair[0]} cannot be checked: {answer}")
    return plan, kernels, problems


def _load_and_plan(backend: str, method: str, *selection: Any) -> tuple[list[PlannedCheck], KernelInfo] | str:
    try:
        return plan_pair(backend, method, *selection), kernel_info(backend, method)
    except BaseException as error:  # third-party code, loaded for the first time
        return describe(error)


class Run:
    """The results of the checks of a plan that have run so far.

    Parameters
    ----------
    plan : sequence of PlannedCheck
        The checks to run.
    kernels : dict
        Information about each kernel.
    timeout : float
        Time limit of a check, in seconds.
    progress : callable
        Called after each check.
    exit_first : bool
        Whether to stop starting checks once one has failed.
    """

    def __init__(
        self,
        plan: Sequence[PlannedCheck],
        kernels: dict[Pair, KernelInfo],
        timeout: float,
        progress: Progress,
        exit_first: bool,
    ) -> None:
        self.plan, self.kernels, self.timeout, self.progress = plan, kernels, timeout, progress
        self.exit_first, self.has_failed = exit_first, False
        self.results: dict[int, CheckResult] = {}
        self.timeouts: Counter[Pair] = Counter()
        self.unable: dict[tuple[str, str, str], CheckResult] = {}
        """The failures of kernels that do not learn their first rows."""

    def run(self, processes: Sequence[Process], only: str = "") -> None:
        """Run the checks that have not run yet, or only those with one name."""
        for number, answer in spread(processes, self._calls(only)):
            item = self.plan[number]
            self.timeouts[item.backend, item.method] += isinstance(answer, TimeoutError)
            self._keep(number, self._fail(item, str(answer)) if isinstance(answer, Exception) else answer)

    def remaining(self) -> int:
        """The number of checks that remain to be run in a process."""
        if self.exit_first and self.has_failed:
            return 0
        return len(self.plan) - len(self.results)

    def in_order(self) -> list[CheckResult]:
        """The results, in the order of the plan."""
        return [self.results[number] for number in sorted(self.results)]

    def _calls(self, only: str) -> Iterator[tuple[int, Call]]:
        slow = {one.name for one in CHECKS if one.slow}
        for number, item in enumerate(self.plan):
            if number in self.results or only not in ("", item.check):
                continue
            if self.exit_first and self.has_failed:
                return
            if failed := self.unable.get(item.kernel):
                self._keep(number, not_run(item, failed, self.kernels[item.backend, item.method]))
            elif self.timeouts[item.backend, item.method] < MAX_TIMEOUTS:
                yield number, Call(_run, (item,), self.timeout * (SLOW_FACTOR if item.check in slow else 1))
            else:
                self._keep(number, self._fail(item, f"not run: {MAX_TIMEOUTS} other checks of this kernel timed out"))

    def _keep(self, number: int, result: CheckResult) -> None:
        self.results[number] = result
        if result.status == FAILED:
            self.has_failed = True
            if result.check == SMOKE:
                self.unable[result.kernel] = result
        self.progress(len(self.results), len(self.plan), result)

    def _fail(self, item: PlannedCheck, reason: str) -> CheckResult:
        return make_result(item, self.kernels[item.backend, item.method], FAILED, reason)


def _run(item: PlannedCheck) -> CheckResult:
    try:
        return run_check(item)
    except KeyboardInterrupt as error:  # raised by the plugin: the user's Ctrl-C does not reach a worker
        kernel = kernel_info(item.backend, item.method)
        return make_result(item, kernel, FAILED, f"raised KeyboardInterrupt {error}".strip())

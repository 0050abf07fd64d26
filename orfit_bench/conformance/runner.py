"""Running the kit in this process: every planned check gives a result, and the results form a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from orfit_bench.conformance.causes import describe
from orfit_bench.conformance.check import SMOKE, Deviation
from orfit_bench.conformance.checks.evidence import device_of
from orfit_bench.conformance.outcome import run_variants
from orfit_bench.conformance.plan import checks_of, plan_pair, validate_selection
from orfit_bench.conformance.result import (
    EXPECTED,
    FAILED,
    PASSED,
    SKIPPED,
    CheckResult,
    PlannedCheck,
    Report,
    Status,
)
from orfit_bench.conformance.verdict import expected_failures, make_report
from orfit_bench.learners.arguments import DTYPES
from orfit_bench.plugins.registry import registry

Progress = Callable[[int, int, CheckResult], None]
"""Called after each check with the number of finished checks, the number of all checks, and the result."""


def conform(
    *names: str,
    backends: Sequence[str] = (),
    dtypes: Sequence[str] = DTYPES,
    only: Sequence[str] = (),
    seed: int = 0,
    slow: bool = False,
    progress: Progress | None = None,
    allow_unproven: bool = False,
    exit_first: bool = False,
) -> Report:
    """Check methods, backends or plugins in this process.

    Parameters
    ----------
    *names : str
        Methods, backends, streams, metrics, experiments, plugins or distributions. Default: everything installed or
        registered.
    backends : sequence of str
        Check only on these backends.
    dtypes : sequence of {"float64", "float32", "complex128", "complex64"}
        Check only in these dtypes.
    only : sequence of str
        Run only the checks with these names, even slow ones.
    seed : int
        Seed of the data and of the learners.
    slow : bool
        Also run the slow checks.
    progress : callable, optional
        Called with (done, total, result) after each check.
    allow_unproven : bool
        Whether the report passes even if no law and no batch solution would notice wrong numbers of a method.
    exit_first : bool
        Whether to stop at the first check that fails.

    Returns
    -------
    Report
        The results, and whether they are sufficient.

    Raises
    ------
    ValueError
        If a name, dtype or seed is invalid.

    Examples
    --------
    >>> report = conform("lms", backends=["numpy"], dtypes=["float64"], only=["any_chunking", "one_row"])
    >>> report.passed, report.counts["passed"]
    (True, 2)
    """
    plan: list[PlannedCheck] = []
    problems: list[str] = []
    for pair in validate_selection(names, backends, dtypes, only, seed):
        try:
            plan += plan_pair(*pair, dtypes, only, seed, slow)
        except Exception as error:  # third-party code, loaded for the first time
            problems.append(f"{pair[1]} on {pair[0]} cannot be checked: {describe(error)}")
    results: list[CheckResult] = []
    for item in plan:
        failed = next((r for r in results if r.check == SMOKE and r.status == FAILED and r.kernel == item.kernel), None)
        results.append(not_run(item, failed, kernel_info(item.backend, item.method)) if failed else run_check(item))
        if progress:
            progress(len(results), len(plan), results[-1])
        if exit_first and results[-1].status == FAILED:
            break
    named = [*names, *backends]
    report = make_report(plan, results, bool(only), named=named, stopped=exit_first, everything=not (named or only))
    return replace(report, problems=[*report.problems, *problems], allow_unproven=allow_unproven)


def not_run(item: PlannedCheck, failed: CheckResult, kernel: KernelInfo) -> CheckResult:
    """The failure of a check that is not run because the kernel cannot learn its first rows."""
    cause = failed.cause or failed.reason
    return make_result(item, kernel, FAILED, f"not run, because {SMOKE} failed: {cause}", cause=cause)


def run_check(item: PlannedCheck) -> CheckResult:
    """Run one check. Any error of the code under test, except the user's Ctrl-C, is a failure of the check."""
    if reason := registry().absence(item.backend, item.method):
        return make_result(item, kernel_info(item.backend, item.method), SKIPPED, reason)
    (one,) = (c for c in checks_of(item.method) if c.name == item.check)
    outcome = run_variants(one, item)
    return make_result(item, kernel_info(item.backend, item.method), *outcome)


def make_result(
    item: PlannedCheck,
    kernel: KernelInfo,
    status: Status,
    reason: str,
    deviation: Deviation | None = None,
    cause: str = "",
) -> CheckResult:
    """The result of a check, given the failures that its kernel declares."""
    expected = kernel.expected.get(item.check) or kernel.expected.get(f"{item.check} {item.dtype}")
    if expected and status == FAILED:
        status, reason = EXPECTED, f"{expected} ({reason})"
    elif expected and status == PASSED:
        status, reason = FAILED, f"expected to fail ({expected}), but it passed: remove it from EXPECTED_FAILURES"
    return CheckResult(
        check=item.check,
        method=item.method,
        backend=item.backend,
        dtype=item.dtype,
        seed=item.seed,
        device=kernel.device,
        status=status,
        reason=reason,
        cause=cause if status in (FAILED, SKIPPED) else "",
        deviation=None if deviation is None else deviation.value,
        bound=None if deviation is None else deviation.bound,
    )


class KernelInfo(NamedTuple):
    """Information about a kernel without running it."""

    device: str
    expected: dict[str, str]
    """The checks that the kernel declares to fail, with reasons."""


def kernel_info(backend: str, method: str) -> KernelInfo:
    """The device of a kernel's arrays, and the failures that it declares."""
    return KernelInfo(_device(backend), expected_failures(backend, method))


def _device(backend: str) -> str:
    """The device of a new array of the backend; empty if the backend cannot compute on this machine."""
    found = registry().backends[backend]
    try:
        return device_of(found.asarray(np.zeros(1))) if found.available else ""
    except Exception:  # a check reports arrays without DLPack
        return "unknown"

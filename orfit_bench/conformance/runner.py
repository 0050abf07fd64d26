"""Running the kit in this process: every planned check becomes a result, and the results a report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from orfit_bench.conformance.causes import describe
from orfit_bench.conformance.check import (
    MAX_USEFUL_BOUND,
    SMOKE,
    Check,
    Deviation,
    NotApplicable,
    Note,
    Unproven,
    Violation,
)
from orfit_bench.conformance.checks.evidence import device_of
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.plan import checks_of, contexts, plan_checks
from orfit_bench.conformance.result import (
    EXPECTED,
    FAILED,
    LACKS,
    PASSED,
    SKIPPED,
    UNPROVEN,
    CheckResult,
    PlannedCheck,
    Report,
    Status,
)
from orfit_bench.conformance.tolerance import tolerance
from orfit_bench.conformance.verdict import expected_failures, make_report
from orfit_bench.errors import AccuracyWarning, DivergedError, LackingError
from orfit_bench.learners.arguments import DTYPES
from orfit_bench.plugins.registry import registry

Progress = Callable[[int, int, CheckResult], None]
"""Called after each check with the number of finished and of all checks, and the result."""


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
        Methods, backends, plugins or distributions. Default: everything that is installed or registered.
    backends : sequence of str
        Check on these backends only.
    dtypes : sequence of {"float64", "float32", "complex128", "complex64"}
        Check in these dtypes only.
    only : sequence of str
        Names of checks: run no others. Slow checks run if they are named.
    seed : int
        Seed of the data and of the learners.
    slow : bool
        Also run the slow checks.
    progress : callable, optional
        Called with (done, total, result) after each check.
    allow_unproven : bool
        Whether the report passes although no law and no batch solution would notice wrong numbers of a method.
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
    plan = plan_checks(names, backends=backends, dtypes=dtypes, only=only, seed=seed, slow=slow)
    results: list[CheckResult] = []
    for item in plan:
        failed = next((r for r in results if r.check == SMOKE and r.status == FAILED and r.kernel == item.kernel), None)
        results.append(not_run(item, failed, kernel_info(item.backend, item.method)) if failed else run_check(item))
        if progress:
            progress(len(results), len(plan), results[-1])
        if exit_first and results[-1].status == FAILED:
            break
    report = make_report(plan, results, bool(only), named=[*names, *backends], stopped=exit_first)
    return replace(report, allow_unproven=allow_unproven)


def not_run(item: PlannedCheck, failed: CheckResult, kernel: KernelInfo) -> CheckResult:
    """The failure of a check that is not run, because the kernel does not even learn its first rows."""
    cause = failed.cause or failed.reason
    return make_result(item, kernel, FAILED, f"not run, because {SMOKE} failed: {cause}", cause=cause)


def run_check(item: PlannedCheck) -> CheckResult:
    """Run one check. Whatever the code under test raises, except the user's Ctrl-C, is a failure of the check."""
    if reason := registry().absence(item.backend, item.method):
        return make_result(item, kernel_info(item.backend, item.method), SKIPPED, reason)
    (one,) = (c for c in checks_of(item.method) if c.name == item.check)
    outcome = _run_variants(one, item)
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
    """What is known of a kernel without running it."""

    device: str
    expected: dict[str, str]
    """The checks that it declares to fail, with reasons."""


def kernel_info(backend: str, method: str) -> KernelInfo:
    """The device of a kernel's arrays, and the failures that it declares."""
    return KernelInfo(_device(backend), expected_failures(backend, method))


def _device(backend: str) -> str:
    """The device of a new array of the backend; empty if the backend cannot compute on this machine."""
    found = registry().backends[backend]
    try:
        return device_of(found.asarray(np.zeros(1))) if found.available else ""
    except Exception:  # an array without DLPack, which a check reports
        return "unknown"


# ---------------------------------------------------------------------- one check with every variant


class Outcome(NamedTuple):
    """The result of a check with all variants: status, reason, largest deviation, and the error that ended it."""

    status: Status
    reason: str
    deviation: Deviation | None = None
    cause: str = ""


def _run_variants(one: Check, item: PlannedCheck) -> Outcome:
    """Run a check with each variant of the settings, up to the first that fails."""
    largest: Deviation | None = None
    skipped: list[str] = []
    ran = lacking = 0
    for context in contexts(item.backend, item.method, item.dtype, item.seed):
        try:
            if context.lacking:
                raise LackingError(context.lacking)
            deviation = _run_function(one, context)
        except NotApplicable as reason:
            skipped.append(f"{context.variant}: {reason}")
        except LackingError as reason:
            skipped.append(f"{context.variant}: {reason}")
            lacking += 1
        except Unproven as reason:
            return Outcome(UNPROVEN, str(reason), largest)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: the code under test is anybody's
            if isinstance(error, DivergedError) and _may_diverge(context):
                skipped.append(f"{context.variant}: a step was refused, and the problem is too ill-conditioned")
            else:
                return _failure(context, error, largest)
        else:
            if isinstance(deviation, Note):
                return Outcome(PASSED, str(deviation))
            if deviation and deviation.inconclusive:
                skipped.append(f"{context.variant}: {deviation.inconclusive}")
                continue
            ran += 1
            if deviation and not deviation.holds:
                return Outcome(FAILED, f"with {context.variant}: {_off_by(deviation)}", deviation)
            if deviation and (largest is None or deviation.ratio > largest.ratio):
                largest = deviation
        if not one.all_variants:
            break
    if not ran:
        return Outcome(SKIPPED, "; ".join(skipped), cause=LACKS if lacking else "")
    left_out = f"{ran} of {ran + len(skipped)} variants ran; skipped: {'; '.join(skipped)}" if skipped else ""
    return Outcome(PASSED, left_out, largest)


def _run_function(one: Check, context: CheckContext) -> Deviation | Note | None:
    """Run the check, with every unexpected warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AccuracyWarning)
        return one.function(context)


def _may_diverge(context: CheckContext) -> bool:
    """Whether a refused step is acceptable: nothing is guaranteed for the settings, and the rows decide nothing."""
    return not context.variant.guaranteed and tolerance(context, context.rows()) > MAX_USEFUL_BOUND


def _off_by(deviation: Deviation) -> str:
    numbers = f"off by {deviation.value:.1e}, allowed {deviation.bound:.1e}"
    if not np.isfinite(deviation.value):
        numbers += " (inf: a number is not finite, or the shape is not the expected one)"
    return f"{numbers} ({deviation.of})" if deviation.of else numbers


def _failure(context: CheckContext, error: BaseException, largest: Deviation | None) -> Outcome:
    """A violation in its own words; another error in one line, with the line of code that raised it."""
    if isinstance(error, Violation):
        return Outcome(FAILED, f"with {context.variant}: {error}", largest)
    cause = describe(error)
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))  # the data set of a law
    return Outcome(FAILED, f"with {context.variant}: raised {cause}{notes}", largest, cause)

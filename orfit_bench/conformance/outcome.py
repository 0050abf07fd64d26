"""The outcome of one check with every variant of the settings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orfit_bench.conformance.causes import describe
from orfit_bench.conformance.check import (
    MAX_USEFUL_BOUND,
    Check,
    Deviation,
    NotApplicable,
    Note,
    Unproven,
    Violation,
)
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.plan import contexts
from orfit_bench.conformance.result import FAILED, LACKS, PASSED, SKIPPED, UNPROVEN, PlannedCheck, Status
from orfit_bench.conformance.tolerance import tolerance
from orfit_bench.errors import AccuracyWarning, DivergedError, LackingError


class Outcome(NamedTuple):
    """The result of a check with all variants: status, reason, largest deviation, and the error that ended it."""

    status: Status
    reason: str
    deviation: Deviation | None = None
    cause: str = ""


def run_variants(one: Check, item: PlannedCheck) -> Outcome:
    """Run a check with each variant of the settings, up to the first that fails."""
    largest: Deviation | None = None
    skipped: list[tuple[str, str]] = []
    ran = lacking = 0
    for context in contexts(item.backend, item.method, item.dtype, item.seed):
        try:
            if context.lacking:
                raise LackingError(context.lacking)
            one.needs(context)  # raises LackingError if the kernel lacks it
            deviation = _run_function(one, context)
        except NotApplicable as reason:
            skipped.append((str(context.variant), str(reason)))
        except LackingError as reason:
            skipped.append((str(context.variant), str(reason)))
            lacking += 1
        except Unproven as reason:
            return Outcome(UNPROVEN, str(reason), largest)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: third-party code is under test
            if isinstance(error, DivergedError) and _may_diverge(context):
                skipped.append((str(context.variant), "a step was refused, and the problem is too ill-conditioned"))
            else:
                return _failure(one, context, error, largest)
        else:
            if isinstance(deviation, Note):
                return Outcome(PASSED, str(deviation))
            if deviation and deviation.inconclusive:
                skipped.append((str(context.variant), deviation.inconclusive))
                continue
            ran += 1
            if deviation and not deviation.holds:
                return Outcome(FAILED, _settings(one, context, deviation) + _off_by(deviation), deviation)
            if deviation and (largest is None or deviation.ratio > largest.ratio):
                largest = deviation
        if not one.all_variants:
            break
    if not ran:
        return Outcome(SKIPPED, _reasons(skipped), cause=LACKS if lacking else "")
    left_out = f"{ran} of {ran + len(skipped)} variants ran; skipped: {_each(skipped)}" if skipped else ""
    return Outcome(PASSED, left_out, largest)


def _reasons(skipped: Sequence[tuple[str, str]]) -> str:
    """The common reason of all variants, or the reason of each variant."""
    return skipped[0][1] if len({reason for _, reason in skipped}) == 1 else _each(skipped)


def _each(skipped: Sequence[tuple[str, str]]) -> str:
    """Each reason once, with the first variant for which it holds."""
    variants: dict[str, list[str]] = {}
    for variant, reason in skipped:
        variants.setdefault(reason, []).append(variant)
    more = {reason: f" and {len(found) - 1} more" if len(found) > 1 else "" for reason, found in variants.items()}
    return "; ".join(f"{found[0]}{more[reason]}: {reason}" for reason, found in variants.items())


def _run_function(one: Check, context: CheckContext) -> Deviation | Note | None:
    """Run the check, treating unexpected warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AccuracyWarning)
        return one.function(context)


def _may_diverge(context: CheckContext) -> bool:
    """Whether a refused step is acceptable: the settings guarantee nothing, and the problem is too ill-conditioned."""
    return not context.variant.guaranteed and tolerance(context, context.rows()) > MAX_USEFUL_BOUND


def _off_by(deviation: Deviation) -> str:
    numbers = f"off by {deviation.value:.1e}, allowed {deviation.bound:.1e}"
    if deviation.wrong:
        numbers = f"it does not hold in {deviation.wrong} of its cases"
    elif not np.isfinite(deviation.value):
        numbers += " (inf: a number is not finite, or the shape is not the expected one)"
    return f"{numbers} ({deviation.of})" if deviation.of else numbers


def _settings(one: Check, context: CheckContext, failure: Deviation | BaseException) -> str:
    """The beginning of the reason of a failure: the settings, if they are known."""
    settings = getattr(failure, "settings", "") or ("" if one.own_settings else str(context.variant))
    return f"with {settings}: " if settings else ""


def _failure(one: Check, context: CheckContext, error: BaseException, largest: Deviation | None) -> Outcome:
    """The outcome of a failure: the message of a violation, or another error in one line with its line of code."""
    settings = _settings(one, context, error)
    if isinstance(error, Violation):
        return Outcome(FAILED, f"{settings}{error}", largest)
    cause = describe(error)
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))  # the data set of a law
    return Outcome(FAILED, f"{settings}raised {cause}{notes}", largest, cause)

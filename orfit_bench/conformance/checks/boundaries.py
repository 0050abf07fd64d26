"""Boundaries: the ends of the ranges of settings, and calls that end when a batch or a memory is exactly full."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import assert_learns
from orfit_bench.conformance.check import Deviation, NotApplicable, check, ensure, skip_if, worst
from orfit_bench.conformance.checks.agreement import batch_solution_deviation, is_linear, needs_batch_solution
from orfit_bench.conformance.checks.settings import differ, outcome
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import layout_of
from orfit_bench.conformance.rows import FEATURES
from orfit_bench.conformance.variants import variants
from orfit_bench.spec import Integer, Number, NumberOrSchedule, Setting

MORE = 3
"""Number of rows after the last boundary."""


# ---------------------------------------------------------------------- settings


def closed_ends(setting: Setting) -> list[Any]:
    """The finite ends that belong to the range of a numeric setting."""
    interval: Any = setting.type
    if not isinstance(interval, Integer | Number | NumberOrSchedule):
        return []
    ends: tuple[Any, Any] = interval.low, interval.high
    return [end for end in ends if end is not None and np.isfinite(end) and end in interval]


def needs_ends(context: CheckContext) -> str:
    """The range of a setting must have a closed end that the kernel supports."""
    return "" if _at_ends(context) else "no setting has a closed end of its range that the kernel supports"


def _at_ends(context: CheckContext) -> list[CheckContext]:
    """Contexts with each setting at, or next to, each finite end of its range that the kernel supports."""
    found = [
        replace(context, variant=replace(context.variant, settings={setting.name: end}, guaranteed=guaranteed))
        for setting in context.method.settings
        for ends, guaranteed in ((closed_ends(setting), True), (_next_to_open_ends(setting), False))
        for end in ends
    ]
    return [one for one in found if not one.lacking]


def _next_to_open_ends(setting: Setting) -> list[Any]:
    """Numbers next to the open ends of a range with two finite ends."""
    return [end for end in _both_ends(setting) if end not in closed_ends(setting)]


@check(needs_ends, all_variants=False)
def ends_of_ranges_are_learned(context: CheckContext) -> Deviation:
    """With each setting at an end of its range, calls of any size agree with the reference and the batch solution."""
    found = [deviation for one in _at_ends(context) for deviation in _learned(one)]
    skip_if(not found, "such rows are refused")
    return worst(found)


def _learned(context: CheckContext) -> list[Deviation]:
    """The deviations after some rows; empty if refusing them is allowed, or if the settings need another start."""
    n, found = 3 * context.batch_size, list[Deviation]()
    try:
        found.append(assert_learns(context, context.rows(n=n)))
        if not needs_batch_solution(context) and is_linear(context):
            batch = batch_solution_deviation(context, n, FEATURES)
            found += [batch] if batch else []
    except (NotApplicable, ValueError):
        pass
    return found


@check(all_variants=False, once=True, own_settings=True)
def opposite_ends_of_ranges_differ(context: CheckContext) -> None:
    """A setting whose range has two ends gives different results at, or next to, these ends."""
    for setting in context.method.settings:
        ends = _both_ends(setting)
        found = [_equal_at(replace(context, variant=v), setting.name, ends) for v in variants(context.method) if ends]
        compared = [equal for equal in found if equal is not None]
        same = bool(compared) and all(compared)
        ensure(not same, f"{setting.name}={ends} give the same results: use it in the kernel, or remove it")


def _both_ends(setting: Setting) -> list[Any]:
    """Two numbers of the range of a setting, one at or near each of its ends; none if an end is infinite."""
    if (
        not isinstance(setting.type, Number | NumberOrSchedule)
        or not np.isfinite([setting.type.low, setting.type.high]).all()
    ):
        return []
    low, high = setting.type.low, setting.type.high
    near = (high - low) / 1024
    return [end if end in setting.type else inside for end, inside in ((low, low + near), (high, high - near))]


def _equal_at(context: CheckContext, name: str, ends: list[Any]) -> bool | None:
    """Whether two values of a setting give the same result; None if one of them is refused or lacking."""
    both = [context.with_settings(**{name: end}) for end in ends]
    return None if any(one.lacking for one in both) else not differ(*map(outcome, both))


# ---------------------------------------------------------------------- calls


@check(numbers="any")
def calls_end_at_boundaries(context: CheckContext) -> Deviation:
    """Calls that end just before, at and after a full batch or memory give the state of one call per row."""
    ends = sorted(_boundaries(context))
    chunk = context.rows(n=ends[-1] + MORE)
    X = chunk.X.copy()
    X[0] = 0
    chunk = chunk.with_rows(X)
    stepwise, pairs = context.initialize(chunk), []
    for i in range(ends[-1] + 1):
        if i in ends:
            learner = context.train(chunk.cut(0, i))
            _ensure_counted(learner, i, context.batch_size)
            pairs.append((learner, stepwise.copy()))
        context.learn(stepwise, chunk.cut(i, i + 1))
    return context.compare(chunk, *pairs, exact=context.is_exact)


def _boundaries(context: CheckContext) -> set[int]:
    """Numbers of rows around a full batch and a full memory."""
    B, growth = context.batch_size, context.method.state.growth
    ends = {0, 1, B - 1, B, B + 1}
    if growth:
        learner = context.initialize(context.rows())
        limit = growth.limit(learner.settings, layout_of(learner).sizes_of_first_layer)
        ends |= {limit - 1, limit, limit + 1} if limit else set()
    return ends


def _ensure_counted(learner: Any, n: int, batch_size: int) -> None:
    """Check the counts of a learner of n rows."""
    seen, pending = learner.n_samples_seen_, learner.pending
    ensure(seen == n, f"n_samples_seen_ is {seen} after {n} rows")
    ensure(pending == n % batch_size, f"{pending} rows are pending after {n} rows in batches of {batch_size}")


# ---------------------------------------------------------------------- the first step


@check(needs_batch_solution, all_variants=False, own_settings=True)
def first_step_equals_batch_solution(context: CheckContext) -> Deviation:
    """After the first step, on one feature and on several, the weights equal a batch solution that is not None."""
    found = []
    for variant in variants(context.method):
        one = replace(context, variant=variant)
        if is_linear(one) and not one.lacking:
            found += [batch_solution_deviation(one, one.batch_size, d) for d in (1, FEATURES)]
    known = [deviation for deviation in found if deviation]
    ensure(known, f"the batch solution of the first step is None for all {len(found)} settings and sizes")
    return worst(known)

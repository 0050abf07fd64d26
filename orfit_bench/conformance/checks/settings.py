"""Settings: each of them changes what a learner does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure, names_settings
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.conformance.rows import ROWS
from orfit_bench.conformance.variants import other_values, variants
from orfit_bench.errors import DivergedError
from orfit_bench.spec import Setting

Outcome = Mapping[str, Any] | None
"""The state and the predictions of a learner after a stream; None if it refuses the settings or a row."""
NUMBERS_OF_ROWS = (ROWS, 10 * ROWS)
"""Numbers of rows to try: some settings matter only for rare rows, such as those with an error within a margin."""


@check(all_variants=False, once=True, own_settings=True)
def settings_have_effect(context: CheckContext) -> None:
    """Every setting changes the state or the predictions, at least together with some other settings."""
    idle = [
        f"{setting.name} (tried {', '.join(map(repr, values))})"
        for setting in context.method.settings
        if (values := _offered(context, setting)) and not _has_effect(context, setting.name, values)
    ]
    ensure(not idle, f"nothing depends on {' and '.join(idle)}: use it in the kernel, or remove it")


def _has_effect(context: CheckContext, name: str, values: list[Any]) -> bool:
    """Whether some value of a setting changes the result with some variant that does not set it itself."""
    for variant in variants(context.method):
        one = replace(context, variant=variant)
        if name not in variant.settings and not one.lacking:
            changed = [other for value in values if not (other := one.with_settings(**{name: value})).lacking]
            for n in NUMBERS_OF_ROWS:
                before = outcome(one, n)
                if any(differ(outcome(other, n), before) for other in changed):
                    return True
    return False


def _offered(context: CheckContext, setting: Setting) -> list[Any]:
    """The other values of a setting that the kernel supports."""
    return [v for v in other_values(setting) if not context.with_settings(**{setting.name: v}).lacking]


@names_settings
def outcome(context: CheckContext, n: int = ROWS) -> Outcome:
    """The outcome of a learner after n rows."""
    try:
        chunk = context.rows(n=n)
        learner = context.create()
        predictions = context.learn(learner, chunk)
    except (ValueError, DivergedError):
        return None
    return {**host_arrays_of(learner), "predictions": predictions, "pending": learner.pending}


def differ(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes differ in any number."""
    if one is None or other is None:
        return (one is None) != (other is None)
    return one.keys() != other.keys() or not all(np.array_equal(one[name], other[name]) for name in one)

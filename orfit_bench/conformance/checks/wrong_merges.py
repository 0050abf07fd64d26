"""Merge rules with wrong return values: the host refuses them, and both learners stay unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure, ensure_raises, skip_if
from orfit_bench.conformance.checks.merging import merges_by_default, needs_merge, train_two
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import layout_of
from orfit_bench.learners.factory import learner_of
from orfit_bench.spec import Settings
from orfit_bench.spec.merge import Side

Fields = dict[str, Any]
Results = dict[str, tuple[Callable[[Fields], Any], str]]
"""The return value of a rule, from the fields of the first learner, and the error message about it."""


def _of_names(name: str) -> Results:
    """Return values that are not a dict of fields."""
    return {
        "nothing": (lambda fields: None, "returned None, want a dict"),
        "a list": (lambda fields: [fields[name]], "returned list, want a dict"),
        "an unknown field": (lambda fields: {"no_such_field": fields[name]}, "'no_such_field', which is no field of"),
    }


def _of_values(name: str) -> Results:
    """Return values that do not fit a field, or the set of fields."""
    return {
        "numbers that are not finite": (lambda fields: {name: np.full_like(fields[name], np.nan)}, ""),
        "an entry too many": (lambda fields: {name: np.append(fields[name], fields[name][:1], axis=0)}, name),
        "an entry too few": (lambda fields: {name: fields[name][:-1]}, name),
        "a dimension too few": (lambda fields: {name: fields[name][0]}, name),
        "pairs": (lambda fields: tuple(fields.items()), "tuple"),
        "a field too many": (lambda fields: fields | {"unknown": fields[name]}, "'unknown'"),
    }


@check(needs_merge, all_variants=False)
def merge_rules_return_fields(context: CheckContext) -> None:
    """A merge whose rule does not return a dict of known fields raises ValueError and changes neither learner."""
    _ensure_refused(context, _of_names)


@check(needs_merge, all_variants=False)
def merged_fields_fit(context: CheckContext) -> None:
    """A merge whose rule returns a field of another shape, or NaN, raises ValueError and changes neither learner."""
    _ensure_refused(context, _of_values)


def _ensure_refused(context: CheckContext, wrong: Callable[[str], Results]) -> None:
    one, other = train_two(context)
    skip_if(not merges_by_default(context, one), "it does not merge")
    fields = [f for f in layout_of(one).fields if f.dims and f.dims[0] != layout_of(one).grows]
    skip_if(not fields, "it has no array of a fixed size")
    combine = context.method.combine
    assert combine.merge
    for what, (result, reason) in wrong(fields[0].name).items():
        rule = replace(combine.merge, rule=partial(_result, result))
        method = replace(context.method, combine=replace(combine, merge=rule))
        pair = [learner_of(replace(a.rule, method=method), a.copy().live_state) for a in (one, other)]
        before = [learner.to_bytes() for learner in pair]
        for a, b in (pair, pair[::-1]):
            act, claim = partial(a.merge, b), f"a merge whose rule returns {what}"
            for words in ("cannot be merged here", reason):
                ensure_raises(act, ValueError, claim, words)
        same = before == [learner.to_bytes() for learner in pair]
        ensure(same, f"a merge whose rule returned {what} changed a learner")


def _result(result: Callable[[Fields], Any], a: Side, b: Side, settings: Settings) -> Any:
    return result(dict(a.fields))

"""Merging of two learners that saw different rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from orfit_bench.learners.rule import Rule
from orfit_bench.learners.targets import check_same_kind, has_movable_outputs, with_classes
from orfit_bench.state import merging
from orfit_bench.state.state import LearnerState


def merged(
    rule: Rule,
    a: LearnerState | None,
    other_rule: Rule,
    b: LearnerState | None,
    start: Callable[[merging.Fields], merging.Fields] | None = None,
) -> LearnerState | None:
    """The state of one learner for the rows of both; `a` if the other has seen no chunk.

    `start` turns the fields before the first row into those that b began with, if they differ.
    """
    merging.check_alike("merge", rule, other_rule)
    merging.check_states_alike("merge", a, b, rule.method.traits.labels)
    merging.check_has_merge(rule)
    if b is None:
        return a
    if a is None:
        a = rule.init(b.sizes, b.classes)
    if a.n_steps and b.n_steps:
        merging.check_mergeable(rule)
    first, second = (a, b) if a.n_steps or has_movable_outputs(rule) else (b, a)
    classes = tuple(dict.fromkeys([*first.classes, *second.classes]))
    check_same_kind([*a.classes, *b.classes], "merge")
    both = merging.merge(rule, with_classes(rule, a, classes), other_rule, with_classes(other_rule, b, classes), start)
    names = a.feature_names or b.feature_names, a.target_names or b.target_names
    return replace(both, feature_names=names[0], target_names=names[1])

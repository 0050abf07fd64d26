"""The parts in which the rows of a call are learned, and the arguments of each part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners import weighting
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.moves import Segment, segments
from orfit_bench.learners.pipelines.position import PRIOR_MOVES, SETTLED, Position
from orfit_bench.learners.pipelines.standardizer import RunningMoments, Standardizer
from orfit_bench.tables.row_selection import take_rows

Array = np.ndarray[Any, Any]


class Plan(NamedTuple):
    """How the rows of a call are learned."""

    parts: list[Segment]
    moments: RunningMoments
    counts: Array
    """Which rows count (n,)."""
    weights: Array | None
    given: dict[str, Any]
    """The arguments that come with the rows."""


def make_plan(
    learner: Learner,
    standardizer: Standardizer,
    position: Position,
    X: Array,
    targets: Sequence[Any],
    given: Mapping[str, Any],
) -> Plan:
    """The parts of the rows, and their moments; the learner is unchanged."""
    given = {name: value for name, value in given.items() if value is not None}
    weights = None
    if "sample_weight" in given:
        given["sample_weight"] = weights = weighting.validate(given["sample_weight"], learner.rule, (len(X),))
    moments = standardizer.moments(X, weights)
    counts = np.ones(len(X), bool) if weights is None else weights > 0
    parts = list(segments(moments, X, position.current, position.count, counts, standardizer.scale))
    if not all(has_length(value, len(X)) for value in (*targets, *given.values())):
        parts = [Segment(0, len(X), None, 0)]  # refused by the learner, which names what is wrong
    return Plan(parts, moments, counts, weights, given)


def small_parts(parts: Sequence[Segment], learner: Learner) -> Iterator[tuple[Segment, bool]]:
    """The parts, and whether the prior moves after each; if it might, the first row is a part of its own."""
    has_prior = has_exact_merge(learner)
    for part in parts:
        start, stop, move, number = part
        may_move_prior = number <= SETTLED and move is not None and has_prior
        moves_prior = number in PRIOR_MOVES and may_move_prior
        if may_move_prior and stop > start + 1:
            yield Segment(start, start + 1, move, number), moves_prior
            yield Segment(start + 1, stop, None, number), False
        else:
            yield part, moves_prior


def has_exact_merge(learner: Learner) -> bool:
    """Whether the rows and the prior of a learner can be separated."""
    how = learner.method.combine.merge
    return how is not None and how.kind == "exact"


def has_length(value: Any, rows: int) -> bool:
    """Whether a value has one entry for each row."""
    try:
        return len(value) == rows
    except TypeError:  # a number has no length
        return False


def cut_arguments(
    targets: Sequence[Any], given: Mapping[str, Any], start: int, stop: int
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The targets and arguments of some of the rows."""
    part = slice(start, stop)
    return [take_rows(value, part) for value in targets], {
        name: take_rows(value, part) for name, value in given.items()
    }
